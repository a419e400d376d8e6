//! Finds and grafts crates in a source tree of the user's.

use std::path::{Component, Path, PathBuf};

use anyhow::{Result, bail};
use run_format::Budgets;
use toml_edit::{DocumentMut, value};
use walkdir::{DirEntry, WalkDir};

use crate::budget_patch::{self, MANIFEST};
use crate::crate_dir::CrateDir;
use crate::early_return;
use crate::edits::{Edits, read_toml};
use crate::graft::{Graft, graft};
use crate::sites::SiteLevels;

/// Finds the crates with these names in `dir`, which is a crate, a workspace, or a folder of crates.
pub fn find(dir: &Path, names: &[&str]) -> Result<Vec<CrateDir>> {
    /// A crate may be this many folders below `dir`, which is enough for a crate of a workspace in a folder.
    const MAX_DEPTH: usize = 4;
    let is_source = |entry: &DirEntry| {
        let name = entry.file_name().to_string_lossy();
        entry.depth() == 0 || name != "target" && !name.starts_with('.')
    };
    let mut folders = WalkDir::new(dir)
        .max_depth(MAX_DEPTH)
        .sort_by_file_name()
        .into_iter()
        .filter_entry(is_source);
    let mut sources: Vec<CrateDir> = Vec::new();
    while let Some(entry) = folders.next().transpose()? {
        let manifest = entry.path().join("Cargo.toml");
        if !entry.file_type().is_dir() || !manifest.is_file() {
            continue;
        }
        let manifest = read_toml(&manifest)?;
        let Some(name) = text(&manifest, &["package", "name"]).filter(|name| names.contains(name))
        else {
            continue;
        };
        let declared = match text(&manifest, &["package", "version"]) {
            Some(version) => Some(version.to_owned()),
            None => workspace_version(dir, entry.path())?,
        };
        let version = declared.unwrap_or_else(|| "of unknown version".to_owned());
        let source = CrateDir::new(name, &version, entry.path().to_owned())?;
        if let Some(first) = sources.iter().find(|first| first.name == name) {
            bail!(
                "{}: {name} is there twice, in {} and {}",
                dir.display(),
                first.dir.display(),
                source.dir.display()
            );
        }
        sources.push(source);
        folders.skip_current_dir();
    }
    Ok(sources)
}

/// The version that the nearest workspace around a crate gives its members.
fn workspace_version(top: &Path, crate_dir: &Path) -> Result<Option<String>> {
    let around = crate_dir.ancestors();
    for folder in around.take_while(|folder| folder.starts_with(top)) {
        let manifest = folder.join("Cargo.toml");
        if manifest.is_file()
            && let Some(version) =
                text(&read_toml(&manifest)?, &["workspace", "package", "version"])
        {
            return Ok(Some(version.to_owned()));
        }
    }
    Ok(None)
}

fn text<'a>(manifest: &'a DocumentMut, path: &[&str]) -> Option<&'a str> {
    let mut item = manifest.as_item();
    for key in path {
        item = item.get(key)?;
    }
    item.as_str()
}

/// Applies the patch of a budget to crates, in place.
pub fn patch(sources: &[CrateDir], budgets: &Budgets, edits: &mut Edits) -> Result<()> {
    for source in sources {
        // The graft, which follows, recognises the variables of the budgets by their names.
        for file in budget_patch::files(source, budgets, MANIFEST, early_return::INSERTED)? {
            let mut text = file.grafted();
            if file.path == MANIFEST {
                // A program that uses yamux only through libp2p cannot turn on this feature, so it is on by default.
                let feature = "tokio = [\"dep:tokio\"]";
                text = text.replace(feature, &format!("default = [\"tokio\"]\n{feature}"));
            }
            edits.write(source.dir.join(&file.path), &text)?;
        }
    }
    Ok(())
}

/// A grafted crate that is not written yet.
pub struct Grafted {
    /// The crate.
    pub source: CrateDir,
    /// The changed files with their new texts.
    pub files: Vec<(PathBuf, String)>,
    /// The levels of its sites.
    pub sites: Vec<SiteLevels>,
}

/// Grafts a crate, and makes it depend on the `poll-probe` at `probe` by a relative path. Nothing is written yet.
pub fn grafted(source: &CrateDir, probe: &Path) -> Result<Grafted> {
    if source.dir.join(".cargo-ok").exists() {
        bail!(
            "{}: this is cargo's own copy; apply to a copy of it",
            source.dir.display()
        );
    }
    let path = source.dir.join(MANIFEST);
    let mut manifest = read_toml(&path)?;
    let table = manifest.get("dependencies");
    if table.is_some_and(|table| table.get("poll-probe").is_some()) {
        bail!(
            "{}: applied already, since it depends on poll-probe",
            path.display()
        );
    }
    let probe_path = relative(&source.dir, probe).display().to_string();
    manifest["dependencies"]["poll-probe"]["path"] = value(probe_path);
    let Graft { files, sites } = graft(source)?;
    let changed = files
        .iter()
        .map(|file| (source.dir.join(&file.path), file.grafted()));
    Ok(Grafted {
        source: source.clone(),
        files: changed.chain([(path, manifest.to_string())]).collect(),
        sites,
    })
}

/// The path that leads to `to` from the folder `from`. Both are absolute.
pub(crate) fn relative(from: &Path, to: &Path) -> PathBuf {
    let pairs = from.components().zip(to.components());
    let common = pairs.take_while(|(from, to)| from == to).count();
    let up = from.components().skip(common).map(|_| Component::ParentDir);
    up.chain(to.components().skip(common)).collect()
}
