//! Signals, as something to wait for.

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
