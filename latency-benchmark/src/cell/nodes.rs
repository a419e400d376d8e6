//! Starts the processes of nodes, and handles their logs.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use lab::{KillOnDrop, Lab, NodePlace, spawn};
use nix::sys::memfd::{MFdFlags, memfd_create};
use run_format::Cores;

/// Starts a node program with its standard error in a log.
pub(super) fn start(
    lab: Option<&Lab>,
    place: NodePlace,
    cores: &Cores,
    mut command: Command,
    log: &Path,
) -> Result<KillOnDrop> {
    // A restarted peer continues its log.
    let open = File::options().create(true).append(true).open(log);
    let log = open.with_context(|| format!("cannot create {}", log.display()))?;
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(log);
    spawn(lab, place, cores, command)
}

/// Makes the page of memory that tells peers on this machine which variant is in force. All processes that are started
/// from now on inherit it.
pub(super) fn shared_page() -> Result<File> {
    const PAGE: u64 = 4096;
    let page = memfd_create(c"variants", MFdFlags::empty());
    let page = File::from(page.context("cannot make the shared page")?);
    page.set_len(PAGE)?;
    Ok(page)
}

pub(super) fn errors_in(log: &Path) -> String {
    File::open(log).map(program::tail).unwrap_or_default()
}

pub(super) fn remove_empty_logs(dir: &Path) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        let is_log = path.extension().is_some_and(|extension| extension == "log");
        if is_log && entry.metadata().is_ok_and(|metadata| metadata.len() == 0) {
            // An empty log that stays does no harm.
            let _ = fs::remove_file(path);
        }
    }
}
