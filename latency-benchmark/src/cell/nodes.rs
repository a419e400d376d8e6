//! What the processes of central and of the peers have in common.

use std::{
    fs::{self, File},
    io,
    path::Path,
    process::{Command, Stdio},
};

use anyhow::{Context, Result};
use lab::Reaped;

use crate::failure;

/// This program again, with a log for what it says on standard error.
pub(super) fn node(verb: &str, log: &Path) -> Result<Command> {
    let mut command = Command::new("/proc/self/exe");
    // One that is started again goes on with the log that there is.
    let open = File::options().create(true).append(true).open(log);
    let log = open.with_context(|| format!("cannot create {}", log.display()))?;
    command.arg(verb).stdout(Stdio::piped()).stderr(log);
    Ok(command)
}

/// Of a node, from its log.
pub(super) fn last_words(log: &Path) -> String {
    failure::last_words(&fs::read_to_string(log).unwrap_or_default())
}

pub(super) fn forget_empty_logs(dir: &Path) {
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
            // A log more does no harm.
            let _ = fs::remove_file(entry.path());
        }
    }
}

pub(super) fn pid(child: &Reaped) -> i32 {
    i32::try_from(child.id()).expect("a process id is an int")
}
