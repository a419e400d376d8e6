//! Counts Ctrl-C and other signals that ask for an end.
//!
//! The signals are handled rather than blocked, because child processes inherit blocked signals, but no handlers. A signal
//! that is ignored when this process starts stays ignored, here and in its children.
#![allow(
    unsafe_code,
    reason = "installs a handler, which only adds to an atomic number"
)]

use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

use anyhow::Result;
use nix::libc::c_int;
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};

use crate::ulimit::fail_on_large_files;

static SEEN: AtomicUsize = AtomicUsize::new(0);

/// The number of times that the user has asked for an end. It stays 0 in a process that does not count.
pub fn interrupts_seen() -> usize {
    SEEN.load(Relaxed)
}

/// From now on these signals are counted, and no longer end this process.
pub fn count_interrupts() -> Result<()> {
    fail_on_large_files();
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
        let count = SigHandler::Handler(count);
        let action = SigAction::new(count, SaFlags::SA_RESTART, SigSet::empty());
        // SAFETY: the handler may be called at any time, in any thread.
        let before = unsafe { sigaction(signal, &action) }?;
        if before.handler() == SigHandler::SigIgn {
            // SAFETY: this installs no handler.
            unsafe { sigaction(signal, &before) }?;
        }
    }
    Ok(())
}

extern "C" fn count(_: c_int) {
    SEEN.fetch_add(1, Relaxed);
}
