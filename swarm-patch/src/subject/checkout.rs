//! Determines the state of a checkout of the user's, and copies it. The checkout itself is only read.

use std::path::Path;

use anyhow::{Result, bail};
use fs_err as fs;
use run_format::checksums::of_program;
use run_format::subject::{PatchRecord, SourceRecord};

use super::git::{self, Repository};
use super::spec::{CheckoutSpec, PatchSpec};
use crate::checkout::Edit;

/// A checkout and its state.
#[derive(Clone, Debug)]
pub struct Checkout {
    /// Its name on the command line.
    pub(super) spec: CheckoutSpec,
    /// Its description for files.
    pub record: SourceRecord,
    repository: Repository,
    /// The commit or the tree that has its files.
    files: String,
    /// The diff that is applied to copies.
    pub(super) diff: Option<PatchRecord>,
}

/// Whether it holds a package, or a folder with one.
fn has_package(dir: &Path) -> Result<bool> {
    let mut folders = vec![dir.to_owned()];
    for entry in fs::read_dir(dir)? {
        folders.push(entry?.path());
    }
    Ok(folders.iter().any(|it| it.join("Cargo.toml").is_file()))
}

impl Checkout {
    /// Finds the checkout and determines its state.
    pub fn resolve(spec: &CheckoutSpec) -> Result<Checkout> {
        let dir = fs::canonicalize(&spec.path)?;
        let shown = dir.display();
        let known = Repository::open(&dir)?;
        let is_bare = known.as_ref().is_some_and(|it| !it.has_working_tree);
        if spec.revision.is_none() && !is_bare && !has_package(&dir)? {
            bail!("{shown}: it is no checkout, since there is no Cargo.toml in it");
        }
        let (mut commit, mut difference, mut tree_sha256) = (None, None, None);
        let (repository, files) = match (known, &spec.revision) {
            (Some(repository), Some(revision)) => {
                let id = repository.commit(revision)?;
                commit = Some(repository.describe(&id)?);
                (repository, id)
            }
            (Some(_), None) if is_bare => {
                bail!("{shown}: a bare repository has no files of its own (accepted: PATH@REV)")
            }
            (Some(repository), None) => {
                let (head, tree) = (repository.commit("HEAD").ok(), repository.snapshot(true)?);
                commit = head.map(|id| repository.describe(&id)).transpose()?;
                difference = repository.difference(commit.as_ref(), &tree)?;
                (repository, tree)
            }
            (None, Some(revision)) => bail!(
                "{shown}: it is not the top folder of a git repository, so there is no revision {revision:?} of it"
            ),
            (None, None) => {
                let repository = Repository::around(&dir)?;
                let tree = repository.snapshot(false)?;
                tree_sha256 = Some(repository.tree_sha256(&tree)?);
                (repository, tree)
            }
        };
        let diff = match &spec.patch {
            Some(PatchSpec::File(file)) => Some(PatchRecord {
                patch: fs::canonicalize(file)?.display().to_string(),
                sha256: Some(of_program(file)?),
            }),
            _ => None,
        };
        Ok(Checkout {
            spec: spec.clone(),
            record: SourceRecord::Checkout {
                path: dir.display().to_string(),
                revision: spec.revision.clone(),
                commit,
                difference,
                tree_sha256,
            },
            repository,
            files,
            diff,
        })
    }

    /// Copies it, in that state, to the new folder `to`, and applies the diff to the copy. Returns what that changed.
    pub fn export(&self, to: &Path) -> Result<Vec<Edit>> {
        fs::create_dir_all(to)?;
        self.repository.export(&self.files, to)?;
        match &self.diff {
            Some(diff) => git::apply(to, Path::new(&diff.patch)),
            None => Ok(Vec::new()),
        }
    }
}
