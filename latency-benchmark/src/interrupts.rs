//! Ctrl-C and other signals that ask for an end, counted.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::{fs, thread};

use anyhow::Result;
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};

/// How often the user asked for an end so far.
pub(crate) struct Interrupts(Arc<AtomicUsize>);

impl Interrupts {
    /// Counts from now on; the signals end only child processes any more. Must be called before other threads
    /// exist, through which the signals would still end this process.
    pub(crate) fn count() -> Result<Interrupts> {
        let mut set = SigSet::from_iter([Signal::SIGINT, Signal::SIGTERM, Signal::SIGXFSZ]);
        // As nohup has it. A signal that is counted would come in spite of that.
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
        let bit = Signal::SIGHUP as u32 - 1;
        if mask.is_none_or(|mask| (mask >> bit) & 1 == 0) {
            set.add(Signal::SIGHUP);
        }
        set.thread_block()?;
        let descriptor = SignalFd::with_flags(&set, SfdFlags::SFD_CLOEXEC)?;
        let seen = Arc::new(AtomicUsize::new(0));
        let interrupts = Interrupts(Arc::clone(&seen));
        let count = move || {
            while let Ok(read) = descriptor.read_signal() {
                seen.fetch_add(usize::from(read.is_some()), Relaxed);
            }
        };
        let thread = thread::Builder::new().name("signals".to_owned());
        thread.spawn(count)?;
        Ok(interrupts)
    }

    pub(crate) fn seen(&self) -> usize {
        self.0.load(Relaxed)
    }
}
