//! Ctrl-C and SIGTERM, counted.

use std::{
    cell::Cell,
    sync::mpsc::{Receiver, channel},
    thread,
};

use anyhow::Result;
use nix::sys::{
    signal::{SigSet, Signal},
    signalfd::{SfdFlags, SignalFd},
};

/// How often the user asked for an end so far.
pub(crate) struct Interrupts {
    signals: Receiver<()>,
    seen: Cell<usize>,
}

impl Interrupts {
    /// Counts from now on; the signals end only child processes any more. Must be called before other threads
    /// exist, through which the signals would still end this process.
    pub(crate) fn count() -> Result<Interrupts> {
        let set = SigSet::from_iter([Signal::SIGINT, Signal::SIGTERM]);
        set.thread_block()?;
        let descriptor = SignalFd::with_flags(&set, SfdFlags::SFD_CLOEXEC)?;
        let (sender, signals) = channel();
        let count = move || {
            while let Ok(read) = descriptor.read_signal() {
                if read.is_some() && sender.send(()).is_err() {
                    return;
                }
            }
        };
        thread::Builder::new()
            .name("signals".to_owned())
            .spawn(count)?;
        Ok(Interrupts {
            signals,
            seen: Cell::new(0),
        })
    }

    pub(crate) fn seen(&self) -> usize {
        self.seen
            .set(self.seen.get() + self.signals.try_iter().count());
        self.seen.get()
    }
}
