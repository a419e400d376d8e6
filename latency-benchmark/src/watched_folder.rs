//! The folder of results while it is written.

use std::{
    fs::{self, File, Metadata},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, ensure};

pub(crate) struct WatchedFolder {
    pub(crate) path: PathBuf,
    manifest: PathBuf,
    /// Open, so that no other folder gets its number.
    folder: File,
}

impl WatchedFolder {
    /// It has the file `manifest`.
    pub(crate) fn open(path: &Path, manifest: &str) -> Result<WatchedFolder> {
        Ok(WatchedFolder {
            path: path.to_owned(),
            manifest: path.join(manifest),
            folder: File::open(path).with_context(|| format!("cannot open {}", path.display()))?,
        })
    }

    /// An error if it is not what it was any more: what is written now belongs to nothing.
    pub(crate) fn check(&self) -> Result<()> {
        let id = |of: Metadata| (of.dev(), of.ino());
        let now = fs::metadata(&self.path).map(id).ok();
        let is_same = now == self.folder.metadata().map(id).ok() && self.manifest.is_file();
        let path = self.path.display();
        ensure!(
            is_same,
            "{path} was deleted or replaced while it was written, so measuring stopped"
        );
        Ok(())
    }

    /// An error if it has no room for what a cell writes.
    pub(crate) fn check_room(&self) -> Result<()> {
        const ROOM: usize = 1 << 20;
        let trial = self.path.join(".room");
        let written = fs::write(&trial, vec![0; ROOM]);
        let _ = fs::remove_file(&trial);
        let path = self.path.display();
        written.with_context(|| format!("{path} has no room for more"))
    }
}
