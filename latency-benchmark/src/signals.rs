//! Signals, as something to wait for.

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

/// SIGINT and SIGTERM, which end nothing by themselves any more.
pub(crate) struct Signals(SignalFd);

impl Signals {
    /// To be called before other threads exist, which would be ended otherwise.
    pub(crate) fn block() -> Result<Signals> {
        let signals = SigSet::from_iter([Signal::SIGINT, Signal::SIGTERM]);
        signals.thread_block()?;
        Ok(Signals(SignalFd::with_flags(
            &signals,
            SfdFlags::SFD_CLOEXEC,
        )?))
    }

    /// Waits for the next one.
    pub(crate) fn wait(&self) -> Result<()> {
        loop {
            if self.0.read_signal()?.is_some() {
                return Ok(());
            }
        }
    }
}

/// How often the user wanted an end so far.
pub(crate) struct Interrupts {
    told: Receiver<()>,
    seen: Cell<usize>,
}

impl Interrupts {
    /// Counts, on a thread of its own.
    pub(crate) fn count(signals: Signals) -> Result<Interrupts> {
        let (tell, told) = channel();
        let count = move || while signals.wait().is_ok() && tell.send(()).is_ok() {};
        thread::Builder::new()
            .name("signals".to_owned())
            .spawn(count)?;
        Ok(Interrupts {
            told,
            seen: Cell::new(0),
        })
    }

    pub(crate) fn seen(&self) -> usize {
        self.seen
            .set(self.seen.get() + self.told.try_iter().count());
        self.seen.get()
    }
}
