//! Determines the state of a checkout of the user's, and copies it. The checkout itself is only read.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use fs_err as fs;
use run_format::subject::{Commit, Difference, PatchRecord, SourceRecord};
use sha2::{Digest, Sha256};

use super::{
    builder::sha256,
    git::{self, Repository},
    spec::{CheckoutSpec, PatchSpec},
};
use crate::checkout::Edit;

/// A checkout and its state.
#[derive(Clone, Debug)]
pub struct Checkout {
    spec: CheckoutSpec,
    dir: PathBuf,
    repository: Option<Repository>,
    state: CheckoutState,
    /// What is applied to a copy.
    diff: Option<PatchRecord>,
}

/// Whether it holds a package, or a folder with one.
fn has_package(dir: &Path) -> Result<bool> {
    let mut folders = vec![dir.to_owned()];
    for entry in fs::read_dir(dir)? {
        folders.push(entry?.path());
    }
    Ok(folders.iter().any(|it| it.join("Cargo.toml").is_file()))
}

/// The contents of a checkout: a commit, the changes to it, or the hash of a folder without git.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct CheckoutState {
    commit: Option<Commit>,
    difference: Option<Difference>,
    tree_sha256: Option<String>,
}

impl Checkout {
    /// Finds the checkout and determines its state.
    pub fn resolve(spec: &CheckoutSpec) -> Result<Checkout> {
        let dir = fs::canonicalize(&spec.path)?;
        let repository = Repository::open(&dir)?;
        let is_bare = repository.as_ref().is_some_and(|it| !it.has_working_tree());
        if spec.revision.is_none() && !is_bare && !has_package(&dir)? {
            bail!(
                "{}: it is no checkout, since there is no Cargo.toml in it",
                dir.display()
            );
        }
        let state = match (&repository, &spec.revision) {
            (Some(repository), Some(revision)) => CheckoutState {
                commit: Some(commit(repository, &repository.commit(revision)?)?),
                ..CheckoutState::default()
            },
            (Some(repository), None) if repository.has_working_tree() => {
                working_tree(repository, &dir)?
            }
            (Some(_), None) => bail!(
                "{}: a bare repository has no files of its own (accepted: PATH@REV)",
                dir.display()
            ),
            (None, Some(revision)) => bail!(
                "{}: it is not the top folder of a git repository, so there is no revision {revision:?} of it",
                dir.display()
            ),
            (None, None) => CheckoutState {
                tree_sha256: Some(digest(&dir, &files_below(&dir)?)?),
                ..CheckoutState::default()
            },
        };
        let diff = match &spec.patch {
            Some(PatchSpec::File(file)) => Some(PatchRecord {
                patch: fs::canonicalize(file)?.display().to_string(),
                sha256: Some(sha256(file)?),
            }),
            _ => None,
        };
        Ok(Checkout {
            spec: spec.clone(),
            dir,
            repository,
            state,
            diff,
        })
    }

    /// Its name on the command line.
    pub fn spec(&self) -> &CheckoutSpec {
        &self.spec
    }

    /// Its description for files.
    pub fn record(&self) -> SourceRecord {
        let CheckoutState {
            commit,
            difference,
            tree_sha256,
        } = self.state.clone();
        SourceRecord::Checkout {
            path: self.dir.display().to_string(),
            revision: self.spec.revision.clone(),
            commit,
            difference,
            tree_sha256,
        }
    }

    /// The diff that is applied to copies.
    pub fn diff(&self) -> Option<PatchRecord> {
        self.diff.clone()
    }

    /// Copies it, in that state, to the new folder `to`, and applies the diff to the copy. Returns what that changed.
    pub fn export(&self, to: &Path) -> Result<Vec<Edit>> {
        self.export_as_it_is(to)?;
        match &self.diff {
            Some(diff) => git::apply(to, Path::new(&diff.patch)),
            None => Ok(Vec::new()),
        }
    }

    fn export_as_it_is(&self, to: &Path) -> Result<()> {
        fs::create_dir_all(to)?;
        match (&self.repository, &self.state) {
            (None, _) => self.copy(&files_below(&self.dir)?, to),
            (
                Some(repository),
                CheckoutState {
                    commit: Some(commit),
                    difference: None,
                    ..
                },
            ) => repository.export(&commit.id, to),
            (Some(repository), _) => self.copy(&repository.files()?, to),
        }
    }

    /// Copies files. Fails if somebody edits them meanwhile.
    fn copy(&self, files: &[PathBuf], to: &Path) -> Result<()> {
        for file in files {
            copy_file(&self.dir.join(file), &to.join(file))?;
        }
        if Checkout::resolve(&self.spec)?.state != self.state {
            bail!("{}: it was changed while it was copied", self.dir.display());
        }
        Ok(())
    }
}

fn commit(repository: &Repository, id: &str) -> Result<Commit> {
    let (subject_line, committed_unix_s) = repository.describe(id)?;
    Ok(Commit {
        id: id.to_owned(),
        subject_line,
        committed_unix_s,
    })
}

fn working_tree(repository: &Repository, dir: &Path) -> Result<CheckoutState> {
    let head = repository.head();
    let commit = head.map(|id| commit(repository, &id)).transpose()?;
    let changed = match &commit {
        Some(head) => repository.changed(&head.id)?,
        None => repository.files()?,
    };
    let is_changed = commit.is_none() || !changed.is_empty();
    Ok(CheckoutState {
        difference: is_changed.then(|| difference(dir, &changed)).transpose()?,
        commit,
        tree_sha256: None,
    })
}

fn difference(dir: &Path, files: &[PathBuf]) -> Result<Difference> {
    Ok(Difference {
        files: files.len(),
        sha256: digest(dir, files)?,
    })
}

/// The hash of names and contents, in order. It includes the names of deleted files.
fn digest(dir: &Path, files: &[PathBuf]) -> Result<String> {
    use std::os::unix::ffi::OsStrExt;
    let mut hash = Sha256::new();
    let mut part = |bytes: &[u8]| {
        hash.update((bytes.len() as u64).to_le_bytes());
        hash.update(bytes);
    };
    for file in files {
        part(file.as_os_str().as_bytes());
        let path = dir.join(file);
        match fs::symlink_metadata(&path) {
            Ok(about) if about.is_symlink() => part(fs::read_link(&path)?.as_os_str().as_bytes()),
            Ok(about) if about.is_file() => part(&fs::read(&path)?),
            Ok(_) => part(b"a folder of another repository"),
            Err(_) => part(b"gone"),
        }
    }
    Ok(format!("{:x}", hash.finalize()))
}

/// The files below a folder, in order, without the folders of cargo and git.
fn files_below(dir: &Path) -> Result<Vec<PathBuf>> {
    let (mut files, mut folders) = (Vec::new(), vec![PathBuf::new()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(dir.join(&folder))? {
            let entry = entry?;
            let name = entry.file_name();
            if name == ".git" || name == "target" && folder == Path::new("") {
                continue;
            }
            let kind = if entry.file_type()?.is_dir() {
                &mut folders
            } else {
                &mut files
            };
            kind.push(folder.join(name));
        }
    }
    files.sort();
    Ok(files)
}

/// Copies a file or a link. Does nothing for a deleted file or a folder of another repository.
fn copy_file(from: &Path, to: &Path) -> Result<()> {
    let Ok(about) = fs::symlink_metadata(from) else {
        return Ok(());
    };
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder)?;
    }
    if about.is_symlink() {
        fs::os::unix::fs::symlink(fs::read_link(from)?, to)?;
    } else if about.is_file() {
        fs::copy(from, to)?;
    }
    Ok(())
}
