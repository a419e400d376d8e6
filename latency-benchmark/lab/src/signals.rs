//! The signals that a process with a child waits for.

use nix::errno::Errno;
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};

use crate::sys;

/// SIGCHLD, SIGINT and SIGTERM. They are blocked so that none is lost between two waits.
pub(crate) struct SupervisorSignals {
    fd: SignalFd,
    before: SigSet,
}

impl SupervisorSignals {
    /// Blocks the signals in the calling thread and in the threads that it starts.
    pub(crate) fn block() -> nix::Result<SupervisorSignals> {
        let signals = SigSet::from_iter([Signal::SIGCHLD, Signal::SIGINT, Signal::SIGTERM]);
        sys::default_sigchld()?;
        let before = SigSet::thread_get_mask()?;
        signals.thread_block()?;
        let fd = SignalFd::with_flags(&signals, SfdFlags::SFD_CLOEXEC)?;
        Ok(SupervisorSignals { fd, before })
    }

    /// Restores the signal mask from before [`block`](SupervisorSignals::block).
    pub(crate) fn restore(self) -> nix::Result<()> {
        self.before.thread_set_mask()
    }

    /// Waits for the next signal: SIGCHLD if children may have ended, or one that somebody sent to end the process.
    /// Ignores signals from a terminal: the terminal sends them to the whole process group, so the child gets them too.
    pub(crate) fn next(&self) -> nix::Result<Signal> {
        loop {
            let signal = match self.fd.read_signal() {
                Ok(Some(signal)) => signal,
                Ok(None) | Err(Errno::EINTR) => continue,
                Err(errno) => return Err(errno),
            };
            let number = i32::try_from(signal.ssi_signo).map_err(|_| Errno::EINVAL)?;
            let is_from_terminal = signal.ssi_code == libc::SI_KERNEL;
            match Signal::try_from(number)? {
                Signal::SIGINT | Signal::SIGTERM if is_from_terminal => {}
                signal => return Ok(signal),
            }
        }
    }
}
