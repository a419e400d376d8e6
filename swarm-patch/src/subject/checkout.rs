//! A checkout of the user's: what state it is in, and a copy of it. The checkout itself is only read.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use sha2::{Digest, Sha256};

use super::{
    git::Repository,
    record::{Commit, Difference, SourceRecord},
    spec::CheckoutSpec,
};

/// A checkout in a certain state.
#[derive(Clone, Debug)]
pub struct Checkout {
    spec: CheckoutSpec,
    dir: PathBuf,
    repository: Option<Repository>,
    state: State,
}

/// What is in it.
#[derive(Clone, Debug, PartialEq, Eq)]
enum State {
    /// What a commit has.
    Commit(Commit),
    /// What a commit has, and changes.
    Changed(Option<Commit>, Difference),
    /// A folder of which git knows nothing.
    Folder { sha256: String },
}

impl Checkout {
    /// Looks at it.
    pub fn resolve(spec: &CheckoutSpec) -> Result<Checkout> {
        let dir = fs::canonicalize(&spec.path)
            .with_context(|| format!("cannot find {}", spec.path.display()))?;
        let repository = Repository::open(&dir)?;
        let state = match (&repository, &spec.revision) {
            (Some(repository), Some(revision)) => {
                State::Commit(commit(repository, &repository.commit(revision)?)?)
            }
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
            (None, None) => State::Folder {
                sha256: digest(&dir, &files_below(&dir)?)?,
            },
        };
        Ok(Checkout {
            spec: spec.clone(),
            dir,
            repository,
            state,
        })
    }

    /// What it was named.
    pub fn spec(&self) -> &CheckoutSpec {
        &self.spec
    }

    /// Its state, for files.
    pub fn record(&self) -> SourceRecord {
        let (commit, difference, tree_sha256) = match self.state.clone() {
            State::Commit(commit) => (Some(commit), None, None),
            State::Changed(commit, difference) => (commit, Some(difference), None),
            State::Folder { sha256 } => (None, None, Some(sha256)),
        };
        SourceRecord::Checkout {
            path: self.dir.display().to_string(),
            revision: self.spec.revision.clone(),
            commit,
            difference,
            tree_sha256,
        }
    }

    /// Copies it, in that state, to the new folder `to`.
    pub fn export(&self, to: &Path) -> Result<()> {
        fs::create_dir_all(to).with_context(|| format!("cannot create {}", to.display()))?;
        match (&self.state, &self.repository) {
            (State::Commit(commit), Some(repository)) => repository.export(&commit.id, to),
            (State::Changed(..), Some(repository)) => self.copy(&repository.files()?, to),
            _ => self.copy(&files_below(&self.dir)?, to),
        }
    }

    /// Copies files, unless somebody edits them meanwhile.
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

fn working_tree(repository: &Repository, dir: &Path) -> Result<State> {
    let Some(head) = repository.head() else {
        return difference(dir, &repository.files()?).map(|all| State::Changed(None, all));
    };
    let head = commit(repository, &head)?;
    let changed = repository.changed(&head.id)?;
    if changed.is_empty() {
        return Ok(State::Commit(head));
    }
    Ok(State::Changed(Some(head), difference(dir, &changed)?))
}

fn difference(dir: &Path, files: &[PathBuf]) -> Result<Difference> {
    Ok(Difference {
        files: files.len(),
        sha256: digest(dir, files)?,
    })
}

/// Of names and contents, in order. A file that is gone is part of it.
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
            Ok(about) if about.is_file() => {
                part(&fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?);
            }
            Ok(_) => part(b"a folder of another repository"),
            Err(_) => part(b"gone"),
        }
    }
    Ok(format!("{:x}", hash.finalize()))
}

/// The files below a folder, in order, but not what cargo or git keep there.
fn files_below(dir: &Path) -> Result<Vec<PathBuf>> {
    fn walk(dir: &Path, below: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
        let here = dir.join(below);
        for entry in
            fs::read_dir(&here).with_context(|| format!("cannot list {}", here.display()))?
        {
            let entry = entry?;
            let name = entry.file_name();
            if name == ".git" || name == "target" && below == Path::new("") {
                continue;
            }
            let path = below.join(name);
            if entry.file_type()?.is_dir() {
                walk(dir, &path, files)?;
            } else {
                files.push(path);
            }
        }
        Ok(())
    }
    let mut files = Vec::new();
    walk(dir, Path::new(""), &mut files)?;
    files.sort();
    Ok(files)
}

/// A file that is gone, or a folder of another repository, is left out.
fn copy_file(from: &Path, to: &Path) -> Result<()> {
    let Ok(about) = fs::symlink_metadata(from) else {
        return Ok(());
    };
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder)?;
    }
    let copied = if about.is_symlink() {
        fs::read_link(from).and_then(|target| std::os::unix::fs::symlink(target, to))
    } else if about.is_file() {
        fs::copy(from, to).map(drop)
    } else {
        Ok(())
    };
    copied.with_context(|| format!("cannot copy {}", from.display()))
}
