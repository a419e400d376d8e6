//! Finds and grafts crates in a source tree of the user's.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use fs_err as fs;
use run_format::Budgets;
use toml_edit::{DocumentMut, value};

use crate::{
    budget_patch::{self, MANIFEST},
    crate_source::CrateSource,
    graft::graft,
    sites::SiteLevels,
};

/// The crates of these names in `dir`, which is a crate, a workspace, or a folder of crates.
pub fn find(dir: &Path, names: &[&str]) -> Result<Vec<CrateSource>> {
    let mut sources = Vec::new();
    search(dir, names, (None, 0), &mut sources)?;
    for package in names {
        let mut found = sources.iter().filter(|source| source.name == *package);
        if let (Some(first), Some(second)) = (found.next(), found.next()) {
            bail!(
                "{}: {package} is there twice, in {} and {}",
                dir.display(),
                first.dir.display(),
                second.dir.display()
            );
        }
    }
    Ok(sources)
}

/// How many folders down a crate may be: enough for one in a workspace in a folder.
const MAX_DEPTH: usize = 4;

fn search(
    dir: &Path,
    names: &[&str],
    (workspace_version, depth): (Option<&str>, usize),
    found: &mut Vec<CrateSource>,
) -> Result<()> {
    let manifest = dir.join("Cargo.toml");
    let mut workspace_version = workspace_version.map(str::to_owned);
    if manifest.is_file() {
        let manifest = read_toml(&manifest)?;
        if let Some(version) = text(&manifest, &["workspace", "package", "version"]) {
            workspace_version = Some(version.to_owned());
        }
        if let Some(name) = text(&manifest, &["package", "name"])
            && names.contains(&name)
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
    for entry in fs::read_dir(dir)? {
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
        let below = (workspace_version.as_deref(), depth + 1);
        search(&folder, names, below, found)?;
    }
    Ok(())
}

/// Reads a manifest or a lock file.
pub(crate) fn read_toml(path: &Path) -> Result<DocumentMut> {
    fs::read_to_string(path)?
        .parse()
        .with_context(|| format!("cannot parse {}", path.display()))
}

fn text<'a>(manifest: &'a DocumentMut, path: &[&str]) -> Option<&'a str> {
    let mut item = manifest.as_item();
    for key in path {
        item = item.get(key)?;
    }
    item.as_str()
}

/// A change to a file.
pub struct Edit {
    /// The file.
    pub path: PathBuf,
    /// Its text before the change.
    pub before: String,
    /// Its text after the change.
    pub after: String,
}

/// Gives crates the patch of a budget, in place.
pub fn patch(sources: &[CrateSource], budgets: &Budgets) -> Result<Vec<Edit>> {
    let mut edits = Vec::new();
    for source in sources {
        for file in budget_patch::files(source, budgets, MANIFEST)? {
            let mut after = file.grafted();
            if file.file == MANIFEST {
                // No program that depends on libp2p alone can ask for this feature of yamux.
                let feature = "tokio = [\"dep:tokio\"]";
                after = after.replace(feature, &format!("default = [\"tokio\"]\n{feature}"));
            }
            edits.push(Edit {
                path: source.dir.join(&file.file),
                after,
                before: file.original,
            });
        }
    }
    write(&edits)?;
    Ok(edits)
}

/// The changes that graft crates, and make them depend on the `poll-probe` at `probe`; and what that records.
pub fn edits(sources: &[CrateSource], probe: &Path) -> Result<(Vec<Edit>, Vec<SiteLevels>)> {
    let mut edits = Vec::new();
    let mut levels = Vec::new();
    for source in sources {
        if source.dir.join(".cargo-ok").exists() {
            bail!(
                "{}: this is cargo's own copy; apply to a copy of it",
                source.dir.display()
            );
        }
        let dependency = dependency(source, probe)?;
        let graft = graft(source)?;
        levels.extend(graft.sites);
        for file in graft.files {
            edits.push(Edit {
                path: source.dir.join(&file.file),
                after: file.grafted(),
                before: file.original,
            });
        }
        edits.push(dependency);
    }
    Ok((edits, levels))
}

fn dependency(source: &CrateSource, probe: &Path) -> Result<Edit> {
    let path = source.dir.join("Cargo.toml");
    let before = source.read("Cargo.toml")?;
    let mut manifest = read_toml(&path)?;
    let known = manifest
        .get("dependencies")
        .and_then(|table| table.get("poll-probe"));
    if known.is_some() {
        bail!(
            "{}: applied already, since it depends on poll-probe",
            path.display()
        );
    }
    manifest["dependencies"]["poll-probe"]["path"] = value(probe.display().to_string());
    let after = manifest.to_string();
    Ok(Edit {
        path,
        before,
        after,
    })
}

/// Grafts crates in place, and makes them depend on the `poll-probe` at `probe`. It writes nothing unless
/// all of them are as expected. Returns the changed files.
pub fn apply(sources: &[CrateSource], probe: &Path) -> Result<Vec<PathBuf>> {
    let (edits, _) = edits(sources, probe)?;
    write(&edits)?;
    Ok(edits.into_iter().map(|edit| edit.path).collect())
}

/// Writes the new texts.
pub fn write(edits: &[Edit]) -> Result<()> {
    for Edit { path, after, .. } in edits {
        fs::write(path, after)?;
    }
    Ok(())
}
