//! Determines the state of a user's checkout, and copies the checkout, which is only read.

use std::path::Path;

use anyhow::{Result, bail};
use fs_err as fs;
use run_format::SourceRecord;

use super::git::Repository;

/// A checkout, at one of its revisions or as its folder is.
#[derive(Clone, Debug)]
pub struct Checkout {
    /// The checkout and its revision as files have them.
    pub record: SourceRecord,
    repository: Repository,
    /// The commit or the tree that has its files.
    files: String,
}

/// Whether the folder or one of its folders is a package.
fn has_package(dir: &Path) -> Result<bool> {
    let mut folders = vec![dir.to_owned()];
    for entry in fs::read_dir(dir)? {
        folders.push(entry?.path());
    }
    Ok(folders
        .iter()
        .any(|folder| folder.join("Cargo.toml").is_file()))
}

impl Checkout {
    /// Finds a checkout, and one of its revisions if it is named.
    pub fn resolve(path: &Path, revision: Option<&str>) -> Result<Checkout> {
        let dir = fs::canonicalize(path)?;
        let shown = dir.display();
        let known = Repository::open(&dir)?;
        let is_bare = known
            .as_ref()
            .is_some_and(|repository| !repository.has_working_tree);
        if revision.is_none() && !is_bare && !has_package(&dir)? {
            bail!("{shown}: it is no checkout, since there is no Cargo.toml in it");
        }
        let (mut commit, mut difference, mut tree_sha256) = (None, None, None);
        let (repository, files) = match (known, revision) {
            (Some(repository), Some(revision)) => {
                let found = repository.commit(revision)?;
                let id = found.id.clone();
                commit = Some(found);
                (repository, id)
            }
            (Some(_), None) if is_bare => {
                bail!("{shown}: a bare repository has no working tree (accepted: PATH@REV)")
            }
            (Some(repository), None) => {
                let tree = repository.snapshot(true)?;
                commit = repository.commit("HEAD").ok();
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
        Ok(Checkout {
            record: SourceRecord::Checkout {
                path: dir.display().to_string(),
                revision: revision.map(str::to_owned),
                commit,
                difference,
                tree_sha256,
            },
            repository,
            files,
        })
    }

    /// Copies the checkout, in this state, to the new folder `to`.
    pub fn export(&self, to: &Path) -> Result<()> {
        fs::create_dir_all(to)?;
        self.repository.export(&self.files, to)
    }
}
