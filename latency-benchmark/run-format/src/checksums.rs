//! Checksums of the files of a run. They reveal a file that was cut, edited, or copied from another run.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::files::{RUN, read};

/// SHA-256 by file name, in hexadecimal.
pub type Checksums = BTreeMap<String, String>;

/// The checksums of all files in the folder of a run. The one of `run.json` is left empty, and [`sealed`] fills it in.
pub fn checksums_of_folder(dir: &Path) -> Result<Checksums> {
    let others = names(dir)?.into_iter().filter(|name| name != RUN);
    let sums = others.map(|name| Ok((name.clone(), sha256_of_file(&dir.join(name))?)));
    let empty = Ok((RUN.to_owned(), String::new()));
    sums.chain([empty]).collect()
}

/// The text of `run.json` with its own checksum. The checksum is computed while its place is empty.
pub fn sealed(row: &impl Serialize) -> Result<String> {
    let text = serde_json::to_string_pretty(row)? + "\n";
    let entry = |sum: &str| format!("\"{RUN}\": \"{sum}\"");
    Ok(text.replacen(&entry(""), &entry(&of_bytes(text.as_bytes())), 1))
}

/// Refuses a folder if a file has another checksum. Returns the names of files that have none.
pub fn check(dir: &Path, checksums: &Checksums) -> Result<Vec<String>> {
    for (name, expected) in checksums {
        let path = dir.join(name);
        let is_same = if name == RUN {
            let text = String::from_utf8(read(&path)?)?;
            of_bytes(text.replacen(expected, "", 1).as_bytes()) == *expected
        } else {
            sha256_of_file(&path)? == *expected
        };
        if !is_same {
            bail!(
                "{}: its checksum is not that in run.json, so it was changed, or is of another run",
                path.display()
            );
        }
    }
    let is_stray = |name: &String| name != RUN && !checksums.contains_key(name);
    Ok(names(dir)?.into_iter().filter(is_stray).collect())
}

/// The checksum of a program, which may be longer than any file of a run.
pub fn sha256_of_program(path: &Path) -> Result<String> {
    let bytes = fs::read(path).with_context(|| path.display().to_string())?;
    Ok(of_bytes(&bytes))
}

pub fn sha256_of_file(path: &Path) -> Result<String> {
    Ok(of_bytes(&read(path)?))
}

fn of_bytes(bytes: &[u8]) -> String {
    format!("{:x}", Sha256::digest(bytes))
}

fn names(dir: &Path) -> Result<Vec<String>> {
    let entries = fs::read_dir(dir).with_context(|| dir.display().to_string())?;
    let name = |entry: std::io::Result<fs::DirEntry>| {
        Ok(entry?.file_name().to_string_lossy().into_owned())
    };
    entries.map(name).collect()
}
