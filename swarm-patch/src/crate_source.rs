//! The source tree of one crate.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};

use crate::error::Place;

/// A crate, somewhere on disk.
#[derive(Clone, Debug)]
pub struct CrateSource {
    /// The package's name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Where its manifest is.
    pub dir: PathBuf,
    /// What the lock file demands of the archive it was unpacked from; absent for a checkout.
    pub checksum: Option<String>,
}

impl CrateSource {
    /// A crate in `dir`.
    pub fn new(name: &str, version: &str, dir: PathBuf, checksum: Option<String>) -> Result<Self> {
        let dir =
            fs::canonicalize(&dir).with_context(|| format!("cannot find {}", dir.display()))?;
        Ok(CrateSource {
            name: name.to_owned(),
            version: version.to_owned(),
            dir,
            checksum,
        })
    }

    /// Name and version.
    pub fn id(&self) -> String {
        format!("{} {}", self.name, self.version)
    }

    /// The text of one of its files.
    pub fn read(&self, file: &str) -> Result<String> {
        let path = self.dir.join(file);
        match fs::read_to_string(&path) {
            Ok(text) => Ok(text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let place = Place {
                    package: self.id(),
                    file: file.to_owned(),
                    function: "-".to_owned(),
                };
                Err(place.refused("the file", "none").into())
            }
            Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
        }
    }
}

/// Copies a folder with everything in it.
pub fn copy_tree(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to).with_context(|| format!("cannot create {}", to.display()))?;
    let entries = fs::read_dir(from).with_context(|| format!("cannot list {}", from.display()))?;
    for entry in entries {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_tree(&entry.path(), &target)?;
        } else {
            // Contents only: the registry's files are read-only on some systems.
            fs::write(&target, fs::read(entry.path())?)
                .with_context(|| format!("cannot write {}", target.display()))?;
        }
    }
    Ok(())
}
