//! The counters that every kernel provides.

use nix::{
    sys::resource::{UsageWho, getrusage},
    time::ClockId,
};

/// Whose counters to read.
pub(super) type Who = (UsageWho, ClockId);

pub(super) const THIS_THREAD: Who = (UsageWho::RUSAGE_THREAD, ClockId::CLOCK_THREAD_CPUTIME_ID);
pub(super) const PROCESS: Who = (UsageWho::RUSAGE_SELF, ClockId::CLOCK_PROCESS_CPUTIME_ID);

/// The names of the events that count the same.
pub(super) const NAMES: [&str; 4] = [
    "task_clock_ns",
    "context_switches",
    "page_faults_minor",
    "page_faults_major",
];

/// None if the kernel does not answer.
pub(super) fn read((usage, clock): Who) -> Option<[u64; NAMES.len()]> {
    let time = clock.now().ok()?;
    let usage = getrusage(usage).ok()?;
    let switches = usage.voluntary_context_switches() + usage.involuntary_context_switches();
    Some([
        time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64,
        switches as u64,
        usage.minor_page_faults() as u64,
        usage.major_page_faults() as u64,
    ])
}
