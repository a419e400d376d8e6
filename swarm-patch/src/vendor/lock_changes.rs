//! How an application's lock file changes once the application has the lines that `vendor` prints.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{io, iter};

use anyhow::{Context, Result, bail};
use fs_err as fs;
use tempfile::TempDir;
use toml_edit::{TableLike, value};

use super::application::{Application, entries};
use super::packages::{self, NODE_AB};
use crate::cargo_run;
use crate::edits::read_toml;
use crate::source_tree::Grafted;
use crate::subject::{compiler, ours};

/// A package or a version that comes into the lock file or leaves it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Change {
    /// The line of `cargo update` that says this.
    pub(super) line: String,
    name: String,
    /// The version that the lock file has, if another version replaces it.
    from: Option<String>,
}

impl Change {
    /// Reads a line such as "Adding rtrb v0.4.1" or "Updating serde v1.0.210 -> v1.0.229".
    fn read(line: &str) -> Option<Change> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (name, from) = match words[..] {
            ["Updating" | "Downgrading", name, from, "->", ..] => (name, from.strip_prefix('v')),
            ["Adding" | "Removing", name, version, ..] if version.starts_with('v') => (name, None),
            _ => return None,
        };
        Some(Change {
            line: line.to_owned(),
            name: name.to_owned(),
            from: from.map(str::to_owned),
        })
    }

    /// Whether a package that the application has gets another version.
    pub(super) fn replaces(&self) -> bool {
        self.from.is_some()
    }
}

/// A copy of an application's manifests and lock file with the printed lines, whose dependencies cargo resolves. The
/// application's own files are only read.
pub(super) struct Trial<'a> {
    app: &'a Application,
    grafted: &'a [Grafted],
    /// The folder of the grafted copies.
    copies: &'a Path,
    /// The folder of the copied manifests and lock file.
    dir: TempDir,
    /// The copied manifest of the package that gets the lines.
    manifest: PathBuf,
    /// The folder of the grafted copies as cargo shows it in its output.
    shown: PathBuf,
}

impl Trial<'_> {
    /// The grafted copies are in the folder `copies`, and will be at `out`.
    pub(super) fn new<'a>(
        app: &'a Application,
        grafted: &'a [Grafted],
        copies: &'a Path,
        out: &Path,
    ) -> Result<Trial<'a>> {
        let root = fs::canonicalize(app.root())?;
        let members = app.metadata.workspace_packages();
        let folders = members
            .iter()
            .map(|member| fs::canonicalize(ours::folder(member)))
            .collect::<io::Result<Vec<PathBuf>>>()?;
        let package = folders
            .iter()
            .find(|folder| **folder == app.dir)
            .or(folders.first())
            .context("it has no package")?;
        let dir = TempDir::with_prefix_in(".lines-", super::folder_around(copies)?)?;
        let copied_root = fs::canonicalize(dir.path())?;
        // If `out` is below the application's folder, cargo takes the copies for members of the application's workspace.
        let shown = match out.strip_prefix(&root) {
            Ok(below) => {
                let link = copied_root.join(below);
                make_folder_around(&link)?;
                symlink(copies, &link)?;
                link
            }
            Err(_) => copies.to_owned(),
        };
        let copied = |path: &Path| Some(copied_root.join(path.strip_prefix(&root).ok()?));
        let outside = "a package is outside of the workspace's folder";
        let other_folders = folders.iter().filter(|folder| **folder != root);
        for folder in iter::once(&root).chain(other_folders) {
            let mut manifest = read_toml(&folder.join("Cargo.toml"))?;
            make_outside_paths_absolute(manifest.as_table_mut(), folder, &folders);
            if *folder == root {
                for (key, entry) in entries(grafted, &shown) {
                    manifest["patch"]["crates-io"][&key] = entry;
                }
            }
            if folder == package {
                let node_ab = shown.join(NODE_AB).display().to_string();
                manifest["dependencies"][NODE_AB]["path"] = value(node_ab);
            }
            let copy = copied(folder).context(outside)?.join("Cargo.toml");
            make_folder_around(&copy)?;
            fs::write(copy, manifest.to_string())?;
        }
        let targets = members.iter().flat_map(|member| &member.targets);
        let sources = targets.filter_map(|target| fs::canonicalize(&target.src_path).ok());
        for source in sources.filter_map(|source| copied(&source)) {
            make_folder_around(&source)?;
            fs::write(source, "")?;
        }
        fs::copy(root.join("Cargo.lock"), copied_root.join("Cargo.lock"))?;
        Ok(Trial {
            app,
            grafted,
            copies,
            manifest: copied(package).context(outside)?.join("Cargo.toml"),
            dir,
            shown,
        })
    }

    /// The changes of the lock file, apart from the copies that take the place of the originals. If a package of the
    /// application would get another version, this edits the copies to keep the package's version, where that is possible. It
    /// fails if cargo would not use one of the copies.
    pub(super) fn changes(&self) -> Result<Vec<Change>> {
        let mut changes = self.resolve()?;
        for change in changes.clone() {
            let Some(from) = &change.from else { continue };
            let before = packages::manifests(self.copies)?;
            packages::limit(self.copies, &change.name, from)?;
            let is_same =
                |other: &Change| (&other.name, &other.from) == (&change.name, &change.from);
            match self.resolve() {
                Ok(others) if !others.iter().any(is_same) => changes = others,
                // The copies cannot do with the application's version.
                _ => before
                    .into_iter()
                    .try_for_each(|(path, text)| fs::write(path, text))?,
            }
        }
        Ok(changes)
    }

    fn resolve(&self) -> Result<Vec<Change>> {
        let output = Command::new(compiler::cargo_path())
            .args(["update", "--workspace", "--dry-run", "--color=never"])
            .args(["--config=term.quiet=false", "--manifest-path"])
            .arg(&self.manifest)
            // The application's settings of cargo are in force there.
            .current_dir(&self.app.dir)
            .output()
            .context("cannot run cargo")?;
        let said = String::from_utf8_lossy(&output.stderr);
        if !output.status.success() {
            bail!("{}", cargo_run::first_error(&said));
        }
        let lines = said.lines().map(str::trim);
        let mut changes: Vec<_> = lines.filter_map(Change::read).collect();
        for Grafted { source, .. } in self.grafted {
            let id = format!("{} v{}", source.name, source.version);
            let copy = self.shown.join(super::folder_name(source));
            let used = format!("Adding {id} ({})", copy.display());
            if !changes.iter().any(|change| change.line == used) {
                bail!("cargo would not use the copy of {id}");
            }
            changes.retain(|change| change.line != format!("Removing {id}"));
        }
        let copies = format!("({}/", self.shown.display());
        changes.retain(|change| !change.line.contains(&copies));
        let here = format!("({}", self.dir.path().display());
        changes.retain(|change| !change.line.contains(&here));
        Ok(changes)
    }
}

fn make_folder_around(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), fs::create_dir_all)
}

/// Packages outside the copy are found by absolute path. `from` is the folder of the original manifest.
fn make_outside_paths_absolute(table: &mut dyn TableLike, from: &Path, copied: &[PathBuf]) {
    for (key, item) in table.iter_mut() {
        let is_target = ["bin", "lib", "example", "test", "bench"].contains(&key.get());
        if is_target {
            continue;
        }
        if let Some(inner) = item.as_table_like_mut() {
            make_outside_paths_absolute(inner, from, copied);
        } else if key.get() == "path"
            && let Some(path) = item.as_str()
            && let Ok(to) = fs::canonicalize(from.join(path))
            && !copied.contains(&to)
        {
            *item = value(to.display().to_string());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_of_a_lock_file_is_read_as_cargo_prints_it() {
        let replaces =
            |line| Change::read(line).map(|change| (change.name.clone(), change.replaces()));
        let named = |name: &str, replaces| Some((name.to_owned(), replaces));
        assert_eq!(replaces("Adding rtrb v0.4.1"), named("rtrb", false));
        let line = "Updating serde v1.0.210 -> v1.0.229 (available: v1.1.0)";
        assert_eq!(replaces(line), named("serde", true));
        assert_eq!(
            replaces("Downgrading nix v0.30.1 -> v0.30.0"),
            named("nix", true)
        );
        assert_eq!(replaces("Updating crates.io index"), None);
        assert_eq!(replaces("Adding nothing"), None);
    }
}
