//! Crates in a source tree of the user's.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use toml_edit::{DocumentMut, InlineTable, Item, Value};

use crate::{crate_source::CrateSource, graft::graft, sites::PACKAGES};

/// The crates with sites in `dir`, which may be a crate itself, a workspace, or a folder of crates.
pub fn find(dir: &Path) -> Result<Vec<CrateSource>> {
    let mut sources = Vec::new();
    search(dir, None, 0, &mut sources)?;
    for package in PACKAGES {
        let found: Vec<&CrateSource> = sources
            .iter()
            .filter(|source: &&CrateSource| source.name == package)
            .collect();
        if let [first, second, ..] = found.as_slice() {
            bail!(
                "{}: {package} is there twice, as {} and {}",
                dir.display(),
                first.dir.display(),
                second.dir.display()
            );
        }
    }
    if sources.is_empty() {
        bail!(
            "{}: no package {} in it",
            dir.display(),
            PACKAGES.join(" or ")
        );
    }
    Ok(sources)
}

/// Deep enough for a crate in a workspace in a folder.
const MAX_DEPTH: usize = 4;

fn search(
    dir: &Path,
    workspace_version: Option<&str>,
    depth: usize,
    found: &mut Vec<CrateSource>,
) -> Result<()> {
    let manifest = dir.join("Cargo.toml");
    let mut workspace_version = workspace_version.map(str::to_owned);
    if manifest.is_file() {
        let manifest = read_manifest(&manifest)?;
        if let Some(version) = text(&manifest, &["workspace", "package", "version"]) {
            workspace_version = Some(version.to_owned());
        }
        if let Some(name) = text(&manifest, &["package", "name"])
            && PACKAGES.contains(&name)
        {
            let version = text(&manifest, &["package", "version"]).or(workspace_version.as_deref());
            found.push(CrateSource::new(
                name,
                version.unwrap_or("of unknown version"),
                dir.to_owned(),
                None,
            )?);
            return Ok(());
        }
    }
    if depth == MAX_DEPTH {
        return Ok(());
    }
    let mut folders: Vec<PathBuf> = Vec::new();
    for entry in fs::read_dir(dir).with_context(|| format!("cannot list {}", dir.display()))? {
        let entry = entry?;
        let name = entry.file_name();
        if entry.file_type()?.is_dir()
            && name != "target"
            && !name.to_string_lossy().starts_with('.')
        {
            folders.push(entry.path());
        }
    }
    folders.sort();
    for folder in folders {
        search(&folder, workspace_version.as_deref(), depth + 1, found)?;
    }
    Ok(())
}

fn read_manifest(path: &Path) -> Result<DocumentMut> {
    let text =
        fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    text.parse()
        .with_context(|| format!("cannot parse {}", path.display()))
}

fn text<'a>(manifest: &'a DocumentMut, path: &[&str]) -> Option<&'a str> {
    let mut item = manifest.as_item();
    for key in path {
        item = item.get(key)?;
    }
    item.as_str()
}

/// A file, and its text without and with what is inserted.
pub struct Edit {
    /// The file.
    pub path: PathBuf,
    /// Its text as it is.
    pub before: String,
    /// Its text to be.
    pub after: String,
}

/// What has crates grafted, and depend on the `poll-probe` at `probe`.
pub fn edits(sources: &[CrateSource], probe: &Path) -> Result<Vec<Edit>> {
    let mut edits = Vec::new();
    for source in sources {
        if source.dir.join(".cargo-ok").exists() {
            bail!(
                "{}: this is cargo's own copy; apply to a copy of it",
                source.dir.display()
            );
        }
        let dependency = dependency(source, probe)?;
        for file in graft(source)? {
            edits.push(Edit {
                path: source.dir.join(&file.file),
                after: file.grafted(),
                before: file.original,
            });
        }
        edits.push(dependency);
    }
    Ok(edits)
}

fn dependency(source: &CrateSource, probe: &Path) -> Result<Edit> {
    let path = source.dir.join("Cargo.toml");
    let before = source.read("Cargo.toml")?;
    let mut manifest = read_manifest(&path)?;
    let known = manifest
        .get("dependencies")
        .and_then(|table| table.get("poll-probe"));
    if known.is_some() {
        bail!(
            "{}: applied already, it depends on poll-probe",
            path.display()
        );
    }
    manifest["dependencies"]["poll-probe"] = path_dependency(probe);
    let after = manifest.to_string();
    Ok(Edit {
        path,
        before,
        after,
    })
}

/// Grafts crates where they lie, and has them depend on the `poll-probe` at `probe`. Nothing is
/// written unless all of them are as expected. Returns the files.
pub fn apply(sources: &[CrateSource], probe: &Path) -> Result<Vec<PathBuf>> {
    let edits = edits(sources, probe)?;
    write(&edits)?;
    Ok(edits.into_iter().map(|edit| edit.path).collect())
}

/// Writes what the edits say.
pub fn write(edits: &[Edit]) -> Result<()> {
    for Edit { path, after, .. } in edits {
        fs::write(path, after).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

fn path_dependency(path: &Path) -> Item {
    let mut table = InlineTable::new();
    table.insert("path", Value::from(path.display().to_string()));
    Item::Value(Value::InlineTable(table))
}
