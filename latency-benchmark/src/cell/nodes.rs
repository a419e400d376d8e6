//! What the processes of central and of the peers have in common.

use std::{
    fs::{self, File},
    io,
    path::Path,
    process::{Command, Stdio},
};

use anyhow::{Context, Result};
use lab::Reaped;

/// A node program, whose standard error goes to a log.
pub(super) fn node(program: &Path, verb: &str, log: &Path) -> Result<Command> {
    let mut command = Command::new(program);
    // A peer that is started again continues its log.
    let open = File::options().create(true).append(true).open(log);
    let log = open.with_context(|| format!("cannot create {}", log.display()))?;
    command
        .arg(verb)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(log);
    Ok(command)
}

/// What a node wrote to its log.
pub(super) fn errors_in(log: &Path) -> String {
    fs::read_to_string(log).unwrap_or_default()
}

pub(super) fn remove_empty_logs(dir: &Path) {
    let entries = fs::read_dir(dir)
        .into_iter()
        .flatten()
        .filter_map(io::Result::ok);
    for entry in entries {
        let is_log = entry
            .path()
            .extension()
            .is_some_and(|extension| extension == "log");
        if is_log && entry.metadata().is_ok_and(|metadata| metadata.len() == 0) {
            // One log too many does no harm.
            let _ = fs::remove_file(entry.path());
        }
    }
}

pub(super) fn pid(child: &Reaped) -> i32 {
    i32::try_from(child.id()).expect("a process id is an int")
}
