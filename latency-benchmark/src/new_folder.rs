//! The folder of results. It must be new, since results are never overwritten.

use std::{fs, path::Path, time::SystemTime};

use anyhow::{Context, anyhow};

use program::{Failure, bad_input, reject};

/// The given name if it can name a folder, else date and time: `2026-11-20T15-04-05Z`.
pub(crate) fn name(given: Option<String>) -> Result<String, Failure> {
    let Some(name) = given else {
        let now = humantime::format_rfc3339_seconds(SystemTime::now());
        return Ok(now.to_string().replace(':', "-"));
    };
    const LONGEST: usize = 100;
    let is_plain = (1..=LONGEST).contains(&name.len())
        && !name.starts_with(['.', '-'])
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
    if !is_plain {
        reject!(
            "--name {name:?}: it cannot name a folder (accepted: at most 100 letters, digits, -, _ and .)"
        );
    }
    Ok(name)
}

/// An error if it exists; `hint` says what else could be done.
pub(crate) fn refuse(dir: &Path, hint: &str) -> Result<(), Failure> {
    if dir.exists() {
        return Err(exists_already(dir, hint));
    }
    Ok(())
}

fn exists_already(dir: &Path, hint: &str) -> Failure {
    bad_input(anyhow!(
        "--name: {} exists already, and results are never overwritten{hint}",
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
            Err(exists_already(dir, hint))
        }
        other => other
            .with_context(|| format!("--out: cannot create {}", dir.display()))
            .map_err(bad_input),
    }
}
