//! The folder of results. A new sweep refuses a folder that exists, and a folder is locked while it is written.

use std::fs::{self, File, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use program::{Failure, bad_input, reject};

/// Refuses a folder that exists. `hint` says what else could be done.
pub(crate) fn refuse_existing(dir: &Path, hint: &str) -> Result<(), Failure> {
    if dir.exists() {
        let dir = dir.display();
        reject!("--name: {dir} exists already, and results are never overwritten{hint}");
    }
    Ok(())
}

pub(crate) fn create(dir: &Path) -> Result<(), Failure> {
    let parent = dir.parent().map_or(Ok(()), fs::create_dir_all);
    let created = parent.and_then(|()| fs::create_dir(dir));
    let created = created.with_context(|| format!("--out: cannot create {}", dir.display()));
    created.map_err(bad_input)
}

/// A locked folder of results. Two processes never write into the same one.
pub(crate) struct ResultsFolder {
    pub(crate) path: PathBuf,
    manifest: PathBuf,
    /// It stays open, so that no other file gets its inode number.
    lock: File,
}

impl ResultsFolder {
    /// Locks a folder that has the file `manifest`. With `waits`, as for a shard, the call waits for an earlier task that
    /// still writes there.
    pub(crate) fn lock(path: &Path, manifest: &str, waits: bool) -> Result<ResultsFolder, Failure> {
        let file = path.join(LOCK);
        let lock =
            File::create(&file).with_context(|| format!("cannot create {}", file.display()))?;
        if !waits && lock.try_lock().is_err() {
            reject!("{}: another sweep is writing there", path.display());
        }
        let wait = format!(
            "waiting for another sweep that is writing to {}",
            path.display()
        );
        program::lock(&lock, &wait).with_context(|| format!("cannot lock {}", file.display()))?;
        Ok(ResultsFolder {
            path: path.to_owned(),
            manifest: path.join(manifest),
            lock,
        })
    }

    /// Fails if the folder was deleted or replaced in the meantime.
    pub(crate) fn check(&self) -> Result<()> {
        let id = |about: Metadata| (about.dev(), about.ino());
        let now = fs::metadata(self.path.join(LOCK)).map(id).ok();
        let is_same = now == self.lock.metadata().map(id).ok() && self.manifest.is_file();
        let path = self.path.display();
        ensure!(
            is_same,
            "{path} was deleted or replaced while it was written, so measuring stopped"
        );
        Ok(())
    }

    /// Fails if the disk has no room for the files of a cell.
    pub(crate) fn check_room(&self) -> Result<()> {
        const ROOM: usize = 1 << 20;
        let trial = self.path.join(".room");
        let written = fs::write(&trial, vec![0; ROOM]);
        let _ = fs::remove_file(&trial);
        let path = self.path.display();
        written.with_context(|| format!("{path} has no room for more"))
    }
}

const LOCK: &str = ".lock";
