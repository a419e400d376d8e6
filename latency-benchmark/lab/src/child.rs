//! Child processes that do not outlive their owner.

use std::io;
use std::process::{Child, Command};

use nix::sched::sched_setaffinity;
use nix::sys::signal::{SigSet, Signal, kill};
use nix::unistd::Pid;

use crate::netns::Netns;
use crate::placement::affinity;
use crate::sys;
use run_format::Cores;

/// A child process. Dropping this value kills the process and waits for its end.
#[derive(Debug)]
pub struct KillOnDrop {
    pub child: Child,
}

impl KillOnDrop {
    /// Stops the process until it is [resumed](KillOnDrop::resume). This does nothing if the process has ended.
    pub fn pause(&self) {
        self.send(Signal::SIGSTOP);
    }

    pub fn resume(&self) {
        self.send(Signal::SIGCONT);
    }

    pub(crate) fn send(&self, signal: Signal) {
        // The id belongs to the process until somebody waits for it, which needs this value.
        if let Ok(id) = i32::try_from(self.child.id()) {
            let _ = kill(Pid::from_raw(id), signal);
        }
    }
}

impl Drop for KillOnDrop {
    fn drop(&mut self) {
        // Both fail only if the process has ended and was waited for.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Starts `command` on `cores`, and inside `namespace` if there is one. No signal is blocked in the new process,
/// although its parent may have blocked some in order to wait for them.
pub(crate) fn spawn(
    namespace: Option<&Netns>,
    cores: &Cores,
    mut command: Command,
) -> io::Result<KillOnDrop> {
    if let Some(namespace) = namespace {
        namespace.hold_command(&mut command);
    }
    let core_set = affinity(cores)?;
    sys::before_exec(&mut command, move || {
        SigSet::empty().thread_set_mask()?;
        Ok(sched_setaffinity(Pid::from_raw(0), &core_set)?)
    });
    let child = command.spawn()?;
    Ok(KillOnDrop { child })
}
