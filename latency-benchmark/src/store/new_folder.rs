//! The folder of results: new, since results are never overwritten.

use std::{fs, path::Path, time::SystemTime};

use anyhow::{Context, anyhow};

use super::manifest::utc_name;
use crate::failure::{Failure, bad_input};

/// The name that was given, if it is one, or date and time.
pub(crate) fn name(given: Option<String>) -> Result<String, Failure> {
    let Some(name) = given else {
        return Ok(utc_name(SystemTime::now()));
    };
    let is_plain = !name.is_empty() && !name.starts_with('.') && !name.contains('/');
    if !is_plain {
        return Err(bad_input(anyhow!(
            "--name {name:?}: it is no name for a folder (accepted: letters, digits, - and _)"
        )));
    }
    Ok(name)
}

/// An error if it is there; `hint` says what else could be done.
pub(crate) fn refuse(dir: &Path, hint: &str) -> Result<(), Failure> {
    if dir.exists() {
        return Err(is_there_already(dir, hint));
    }
    Ok(())
}

fn is_there_already(dir: &Path, hint: &str) -> Failure {
    bad_input(anyhow!(
        "--name: {} is there already, and results are never overwritten{hint}",
        dir.display()
    ))
}

/// Makes it, and what it is in.
pub(crate) fn create(dir: &Path, hint: &str) -> Result<(), Failure> {
    if let Some(parent) = dir.parent() {
        fs::create_dir_all(parent)
            .with_context(|| format!("--out {}", parent.display()))
            .map_err(bad_input)?;
    }
    match fs::create_dir(dir) {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            Err(is_there_already(dir, hint))
        }
        other => other
            .with_context(|| format!("--out: cannot create {}", dir.display()))
            .map_err(bad_input),
    }
}
