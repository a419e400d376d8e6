//! The source tree of one crate.

use std::io;
use std::path::PathBuf;

use anyhow::Result;
use fs_err as fs;
use walkdir::WalkDir;

use crate::error::Refused;

/// A crate in a folder.
#[derive(Clone, Debug)]
pub struct CrateDir {
    /// The name of the package.
    pub name: String,
    /// The version, as its manifest has it.
    pub version: String,
    /// The folder of its manifest.
    pub dir: PathBuf,
    /// The checksum that the lock file has for the archive that the crate was unpacked from. A checkout has none.
    pub checksum: Option<String>,
}

impl CrateDir {
    /// The crate in `dir`, which was not unpacked from an archive.
    pub fn new(name: &str, version: &str, dir: PathBuf) -> Result<Self> {
        Ok(CrateDir {
            name: name.to_owned(),
            version: version.to_owned(),
            dir: fs::canonicalize(dir)?,
            checksum: None,
        })
    }

    pub(crate) fn from_package(package: &cargo_metadata::Package) -> Result<Self> {
        let dir = package.manifest_path.parent().map(Into::into);
        let version = package.version.to_string();
        CrateDir::new(&package.name, &version, dir.unwrap_or_default())
    }

    /// The name and version, for messages.
    pub fn id(&self) -> String {
        format!("{} {}", self.name, self.version)
    }

    pub(crate) fn rust_files(&self) -> Result<Vec<String>> {
        let mut files = Vec::new();
        for entry in WalkDir::new(self.dir.join("src")) {
            let path = entry?.into_path();
            if path.extension().is_some_and(|extension| extension == "rs") && path.is_file() {
                let file = path.strip_prefix(&self.dir)?.to_string_lossy();
                files.push(file.into_owned());
            }
        }
        files.sort();
        Ok(files)
    }

    /// Reads a file, whose path is relative to the crate.
    pub fn read(&self, file: &str) -> Result<String> {
        fs::read_to_string(self.dir.join(file)).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => {
                let place = format!("{}, {file}, -", self.id());
                Refused::new(&place, "the file", "none").into()
            }
            _ => error.into(),
        })
    }
}
