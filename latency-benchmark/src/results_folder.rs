//! The folder of results: new, since results are never overwritten, and locked and watched while it is written.

use std::fs::{self, File, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use program::{Failure, bad_input, reject};

/// An error if it exists; `hint` says what else could be done.
pub(crate) fn refuse_existing(dir: &Path, hint: &str) -> Result<(), Failure> {
    if dir.exists() {
        let dir = dir.display();
        reject!("--name: {dir} exists already, and results are never overwritten{hint}");
    }
    Ok(())
}

pub(crate) fn create(dir: &Path) -> Result<(), Failure> {
    let parent = dir.parent().map_or(Ok(()), fs::create_dir_all);
    parent
        .and_then(|()| fs::create_dir(dir))
        .with_context(|| format!("--out: cannot create {}", dir.display()))
        .map_err(bad_input)
}

/// Two processes never write into the same one.
pub(crate) struct ResultsFolder {
    pub(crate) path: PathBuf,
    manifest: PathBuf,
    /// Open, so that no file of another folder gets its number.
    lock: File,
}

impl ResultsFolder {
    /// It has the file `manifest`. A shard `waits` for the task that had it before and has not ended yet.
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

    /// An error if it is not what it was any more: what is written now belongs to nothing.
    pub(crate) fn check(&self) -> Result<()> {
        let id = |of: Metadata| (of.dev(), of.ino());
        let now = fs::metadata(self.path.join(LOCK)).map(id).ok();
        let is_same = now == self.lock.metadata().map(id).ok() && self.manifest.is_file();
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

const LOCK: &str = ".lock";
