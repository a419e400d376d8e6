//! Writes the folders of verbs. A folder gets its place when it is complete, and no folder lies inside one that was read.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use program::{Failure, reject};
use tempfile::TempDir;

/// The file that marks a folder as a report, and from which the report can be verified.
pub(crate) const RECORD: &str = "report.json";

/// A file of a folder that is not written yet.
pub(crate) struct NewFile {
    /// The path inside the folder.
    pub(crate) name: String,
    pub(crate) content: Vec<u8>,
}

/// Refuses a folder for results that is inside one of the inputs, or that would replace one of them.
pub(crate) fn refuse_inside<'a>(
    out: &Path,
    inputs: impl IntoIterator<Item = &'a Path>,
) -> Result<(), Failure> {
    let target = resolved(out);
    // A folder that replaces an older report replaces everything in it.
    let replaces = target.join(RECORD).is_file();
    for input in inputs {
        let read = resolved(input);
        if target.starts_with(&read) || (replaces && read.starts_with(&target)) {
            let (out, input) = (out.display(), input.display());
            reject!(
                "--out {out}: {input} is read, and nothing is written there; choose a folder elsewhere"
            );
        }
    }
    Ok(())
}

/// The path without links. Its end need not exist.
pub(crate) fn resolved(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let real = path.ancestors().find_map(|ancestor| {
        let rest = path.strip_prefix(ancestor).ok()?;
        Some(ancestor.canonicalize().ok()?.join(rest))
    });
    real.unwrap_or(path)
}

pub(crate) fn parent(out: &Path) -> &Path {
    let parent = out.parent().filter(|parent| !parent.as_os_str().is_empty());
    parent.unwrap_or(Path::new("."))
}

/// Fills a new folder beside `out`, and then moves it to `out`. An older folder there is replaced.
pub(crate) fn write<T>(
    out: &Path,
    prefix: &str,
    fill: impl FnOnce(&Path) -> Result<T>,
) -> Result<T> {
    let parent = parent(out);
    let (partial, lock) =
        begin(parent, prefix).with_context(|| format!("cannot write in {}", parent.display()))?;
    let filled = fill(partial.path())?;
    if out.exists() {
        fs::remove_dir_all(out).with_context(|| format!("cannot replace {}", out.display()))?;
    }
    // Until now only the owner can read the folder, because it was temporary.
    fs::set_permissions(partial.path(), fs::Permissions::from_mode(0o755))
        .with_context(|| partial.path().display().to_string())?;
    fs::rename(partial.path(), out).with_context(|| format!("cannot write {}", out.display()))?;
    let _ = partial.keep();
    drop(lock);
    Ok(filled)
}

/// Makes a temporary folder that is locked while its writer lives. Folders that killed writers left are removed first.
fn begin(parent: &Path, prefix: &str) -> Result<(TempDir, File)> {
    // Until the new folder is locked, another process could take it for one that was left.
    let parent_lock = File::open(parent)?;
    parent_lock.lock()?;
    for entry in fs::read_dir(parent)?.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_random =
            |rest: &str| rest.len() == 6 && rest.bytes().all(|byte| byte.is_ascii_alphanumeric());
        let is_temporary = name.strip_prefix(prefix).is_some_and(is_random);
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        let is_left = || File::open(entry.path()).is_ok_and(|folder| folder.try_lock().is_ok());
        if is_temporary && is_folder && is_left() {
            // A folder that cannot be removed stays where it is.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
    let partial = tempfile::Builder::new().prefix(prefix).tempdir_in(parent)?;
    let lock = File::open(partial.path())?;
    lock.lock()?;
    Ok((partial, lock))
}
