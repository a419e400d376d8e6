//! What the processor and the kernel count of a thread, or of the process: those counts that this
//! machine has and this user may read, under names; the others are named with their reasons.
//!
//! The kernel's own counts (CPU time, context switches, page faults) are always there: from
//! `perf_event_open` where it is permitted, and else from `getrusage`. Migrations are counted by the
//! former only.

mod events;
mod group;
mod process;
mod single;
mod thread;
mod usage;

pub use process::ProcessCounters;
pub use thread::Counters;

/// The part of the time in which the processor did count. Less than 1 where others count, too, and it
/// has too few counters for all, so that the kernel takes turns: counts are too small by that factor.
fn share(enabled_ns: u64, running_ns: u64) -> f64 {
    if enabled_ns == 0 {
        1.0
    } else {
        running_ns as f64 / enabled_ns as f64
    }
}

/// As many of the counts as there is room for.
fn fill(into: &mut [u64], counts: impl IntoIterator<Item = u64>) {
    for (slot, count) in into.iter_mut().zip(counts) {
        *slot = count;
    }
}
