//! Child processes that do not outlive their owner.

use std::{
    io,
    ops::{Deref, DerefMut},
    process::{Child, Command, ExitStatus},
};

use nix::{
    sched::sched_setaffinity,
    sys::{
        prctl,
        signal::{SigSet, Signal},
    },
    unistd::Pid,
};

use crate::{Cores, netns::Netns, sys};

/// A child process that is killed and waited for when this is dropped.
#[derive(Debug)]
pub struct Reaped(Child);

impl Reaped {
    /// Takes over a child.
    pub fn new(child: Child) -> Reaped {
        Reaped(child)
    }

    /// Kills it, if it still runs, and waits for its end.
    pub fn kill_and_wait(mut self) -> io::Result<ExitStatus> {
        self.0.kill()?;
        self.0.wait()
    }
}

impl Deref for Reaped {
    type Target = Child;

    fn deref(&self) -> &Child {
        &self.0
    }
}

impl DerefMut for Reaped {
    fn deref_mut(&mut self) -> &mut Child {
        &mut self.0
    }
}

impl Drop for Reaped {
    fn drop(&mut self) {
        // Neither fails but for a child that is gone and waited for.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts `command` inside `namespace`, on `cores`, with no signal blocked, whatever its parent has
/// blocked in order to wait for it.
pub(crate) fn spawn(namespace: &Netns, cores: &Cores, mut command: Command) -> io::Result<Reaped> {
    namespace.hold_command(&mut command);
    let affinity = cores.affinity()?;
    sys::before_exec(&mut command, move || {
        SigSet::empty().thread_set_mask()?;
        Ok(sched_setaffinity(Pid::from_raw(0), &affinity)?)
    });
    command.spawn().map(Reaped)
}

/// Has `command` killed when the thread that starts it ends.
pub(crate) fn die_with_thread(command: &mut Command) {
    // A parent that died before this call needs no care: it was in a pid namespace that goes with
    // its first process.
    sys::before_exec(command, || Ok(prctl::set_pdeathsig(Signal::SIGKILL)?));
}

/// Puts `command` behind ordinary processes on its core.
pub(crate) fn be_nice(command: &mut Command) {
    /// About a tenth of an ordinary process's share.
    const NICENESS: libc::c_int = 10;
    sys::before_exec(command, || Ok(sys::be_nice(NICENESS)?));
}
