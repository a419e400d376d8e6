//! Finds and grafts crates in a source tree of the user's.

use std::path::{Component, Path, PathBuf};
use std::slice;

use anyhow::{Context, Result, bail};
use fs_err as fs;
use run_format::Budgets;
use toml_edit::{DocumentMut, value};
use walkdir::{DirEntry, WalkDir};

use crate::budget_patch::{self, MANIFEST};
use crate::crate_source::CrateSource;
use crate::diff;
use crate::graft::{GraftedFile, graft};
use crate::sites::SiteLevels;

/// The crates of these names in `dir`, which is a crate, a workspace, or a folder of crates.
pub fn find(dir: &Path, names: &[&str]) -> Result<Vec<CrateSource>> {
    /// How many folders down a crate may be: enough for one in a workspace in a folder.
    const MAX_DEPTH: usize = 4;
    let is_source = |entry: &DirEntry| {
        let name = entry.file_name().to_string_lossy();
        entry.depth() == 0 || name != "target" && !name.starts_with('.')
    };
    let folders = WalkDir::new(dir).max_depth(MAX_DEPTH).sort_by_file_name();
    let mut folders = folders.into_iter().filter_entry(is_source);
    let mut sources: Vec<CrateSource> = Vec::new();
    while let Some(entry) = folders.next() {
        let entry = entry?;
        let manifest = entry.path().join("Cargo.toml");
        if !entry.file_type().is_dir() || !manifest.is_file() {
            continue;
        }
        let manifest = read_toml(&manifest)?;
        let Some(name) = text(&manifest, &["package", "name"]).filter(|it| names.contains(it))
        else {
            continue;
        };
        let version = match text(&manifest, &["package", "version"]) {
            Some(version) => Some(version.to_owned()),
            None => workspace_version(dir, entry.path())?,
        };
        let version = version.unwrap_or_else(|| "of unknown version".to_owned());
        let source = CrateSource::new(name, &version, entry.path().to_owned())?;
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
fn workspace_version(top: &Path, of: &Path) -> Result<Option<String>> {
    for folder in of.ancestors().take_while(|folder| folder.starts_with(top)) {
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

pub(crate) fn read_toml(path: &Path) -> Result<DocumentMut> {
    parsed(path, &fs::read_to_string(path)?)
}

fn parsed(path: &Path, text: &str) -> Result<DocumentMut> {
    let document = text.parse();
    document.with_context(|| format!("cannot parse {}", path.display()))
}

fn text<'a>(manifest: &'a DocumentMut, path: &[&str]) -> Option<&'a str> {
    let mut item = manifest.as_item();
    for key in path {
        item = item.get(key)?;
    }
    item.as_str()
}

pub struct Edit {
    pub path: PathBuf,
    pub before: String,
    pub after: String,
}

impl Edit {
    fn of_file(source: &CrateSource, file: GraftedFile) -> Edit {
        Edit {
            path: source.dir.join(&file.file),
            after: file.grafted(),
            before: file.original,
        }
    }

    /// A change to a manifest or a lock file.
    pub(crate) fn of_toml(
        path: PathBuf,
        change: impl FnOnce(&mut DocumentMut) -> Result<()>,
    ) -> Result<Edit> {
        let before = fs::read_to_string(&path)?;
        let mut document = parsed(&path, &before)?;
        change(&mut document)?;
        let after = document.to_string();
        Ok(Edit {
            path,
            before,
            after,
        })
    }
}

/// Gives crates the patch of a budget, in place.
pub fn patch(sources: &[CrateSource], budgets: &Budgets) -> Result<Vec<Edit>> {
    let mut edits = Vec::new();
    for source in sources {
        for file in budget_patch::files(source, budgets, MANIFEST)? {
            let mut edit = Edit::of_file(source, file);
            if edit.path.ends_with(MANIFEST) {
                // No program that depends on libp2p alone can ask for this feature of yamux.
                let feature = "tokio = [\"dep:tokio\"]";
                let on = format!("default = [\"tokio\"]\n{feature}");
                edit.after = edit.after.replace(feature, &on);
            }
            edits.push(edit);
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
        let files = graft.files.into_iter();
        edits.extend(files.map(|file| Edit::of_file(source, file)));
        edits.push(dependency);
    }
    Ok((edits, levels))
}

fn dependency(source: &CrateSource, probe: &Path) -> Result<Edit> {
    let path = source.dir.join("Cargo.toml");
    let shown = path.display().to_string();
    Edit::of_toml(path, |manifest| {
        let table = manifest.get("dependencies");
        if table.is_some_and(|table| table.get("poll-probe").is_some()) {
            bail!("{shown}: applied already, since it depends on poll-probe");
        }
        manifest["dependencies"]["poll-probe"]["path"] = value(probe.display().to_string());
        Ok(())
    })
}

/// What a graft in place changed, and what it records.
pub struct Applied {
    pub files: Vec<PathBuf>,
    /// The sites of each crate, by its name and version.
    pub sites: Vec<(String, Vec<SiteLevels>)>,
}

/// Grafts crates in place, and makes them depend on the `poll-probe` at `probe` by a relative path. It writes
/// nothing unless all of them are as expected.
pub fn apply(sources: &[CrateSource], probe: &Path) -> Result<Applied> {
    let probe = fs::canonicalize(probe)?;
    let (mut all, mut sites) = (Vec::new(), Vec::new());
    for source in sources {
        let probe = relative(&source.dir, &probe);
        let (edits, levels) = edits(slice::from_ref(source), &probe)?;
        all.extend(edits);
        sites.push((source.id(), levels));
    }
    write(&all)?;
    let files = all.into_iter().map(|edit| edit.path).collect();
    Ok(Applied { files, sites })
}

/// The path that leads to `to` from the folder `from`. Both are absolute.
pub(crate) fn relative(from: &Path, to: &Path) -> PathBuf {
    let pairs = from.components().zip(to.components());
    let common = pairs.take_while(|(from, to)| from == to).count();
    let up = from.components().skip(common).map(|_| Component::ParentDir);
    up.chain(to.components().skip(common)).collect()
}

pub fn write(edits: &[Edit]) -> Result<()> {
    for Edit { path, after, .. } in edits {
        fs::write(path, after)?;
    }
    Ok(())
}
/// All changes as one diff, with paths relative to a folder, which is canonical.
pub fn diff(edits: &[Edit], folder: &Path) -> Result<String> {
    let mut text = String::new();
    for edit in edits {
        // A diff may have removed the file.
        let path = fs::canonicalize(&edit.path).unwrap_or_else(|_| edit.path.clone());
        let below = path.strip_prefix(folder)?.display().to_string();
        text += &diff::one(&below, &edit.before, &edit.after);
    }
    Ok(text)
}
