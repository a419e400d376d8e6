//! The lock of a sweep's folder.

use std::{fs, path::Path};

use anyhow::Context;
use program::{Failure, reject, say};

/// Two sweeps must not write into the same folder. A shard waits for the task that had it before and has not ended yet.
pub(crate) fn lock(dir: &Path, waits: bool) -> Result<fs::File, Failure> {
    let path = dir.join(".lock");
    let file =
        fs::File::create(&path).with_context(|| format!("cannot create {}", path.display()))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(_) if waits => {
            say(format!(
                "waiting for another sweep that is writing to {}",
                dir.display()
            ));
            file.lock()
                .with_context(|| format!("cannot lock {}", path.display()))?;
            Ok(file)
        }
        Err(_) => reject!("{}: another sweep is writing there", dir.display()),
    }
}
