//! The signals that a process with a child waits for.

use nix::{
    errno::Errno,
    sys::{
        signal::{SigSet, Signal},
        signalfd::{SfdFlags, SignalFd},
    },
};

use crate::sys;

/// What a signal means to a process with a child.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Event {
    /// A child may have ended, or several.
    Child,
    /// Someone wants this process to end, by this signal.
    End(Signal),
}

/// SIGCHLD, SIGINT and SIGTERM, blocked so that none is lost between two waits.
pub(crate) struct Signals {
    fd: SignalFd,
    before: SigSet,
}

impl Signals {
    /// Blocks them in the calling thread, and in those that it starts.
    pub(crate) fn block() -> nix::Result<Signals> {
        let signals = SigSet::from_iter([Signal::SIGCHLD, Signal::SIGINT, Signal::SIGTERM]);
        sys::default_sigchld()?;
        let before = SigSet::thread_get_mask()?;
        signals.thread_block()?;
        let fd = SignalFd::with_flags(&signals, SfdFlags::SFD_CLOEXEC)?;
        Ok(Signals { fd, before })
    }

    /// Blocks what was blocked before.
    pub(crate) fn restore(self) -> nix::Result<()> {
        self.before.thread_set_mask()
    }

    /// The next event. A terminal sends its signals to the whole group of processes, the child
    /// included, so they are none.
    pub(crate) fn next(&self) -> nix::Result<Event> {
        loop {
            let signal = match self.fd.read_signal() {
                Ok(Some(signal)) => signal,
                Ok(None) | Err(Errno::EINTR) => continue,
                Err(errno) => return Err(errno),
            };
            let number = i32::try_from(signal.ssi_signo).map_err(|_| Errno::EINVAL)?;
            match Signal::try_from(number)? {
                Signal::SIGCHLD => return Ok(Event::Child),
                _ if signal.ssi_code == libc::SI_KERNEL => {}
                signal => return Ok(Event::End(signal)),
            }
        }
    }
}
