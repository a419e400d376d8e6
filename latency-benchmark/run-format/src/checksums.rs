//! Checksums hold the files of a run together: a file that was cut, edited, or copied from another run is found.

use std::{collections::BTreeMap, fs, path::Path};

use anyhow::{Context, Result, bail};
use sha2::{Digest, Sha256};

use crate::files::{RUN, read};

/// SHA-256 by file name, in hexadecimal.
pub type Checksums = BTreeMap<String, String>;

/// Those of all files in the folder of a run but `run.json`, which is to hold them.
pub fn of_folder(dir: &Path) -> Result<Checksums> {
    let names = names(dir)?.into_iter().filter(|name| name != RUN);
    names
        .map(|name| Ok((name.clone(), of_file(&dir.join(name))?)))
        .collect()
}

/// Refuses a folder whose files are not those. Returns the names of files that are there beside them.
pub fn check(dir: &Path, checksums: &Checksums) -> Result<Vec<String>> {
    for (name, expected) in checksums {
        let path = dir.join(name);
        if of_file(&path)? != *expected {
            bail!(
                "{}: its checksum is not that in run.json, so it was changed, or is of another run",
                path.display()
            );
        }
    }
    let is_stray = |name: &String| name != RUN && !checksums.contains_key(name);
    Ok(names(dir)?.into_iter().filter(is_stray).collect())
}

fn of_file(path: &Path) -> Result<String> {
    Ok(format!("{:x}", Sha256::digest(read(path)?)))
}

fn names(dir: &Path) -> Result<Vec<String>> {
    let entries = fs::read_dir(dir).with_context(|| dir.display().to_string())?;
    let name = |entry: std::io::Result<fs::DirEntry>| {
        Ok(entry?.file_name().to_string_lossy().into_owned())
    };
    entries.map(name).collect()
}
