//! Measures the cost of recording.
#![allow(unsafe_code, reason = "a system call")]

use std::time::Instant;

/// The time of one call of `getppid`, a cheap system call: the median of many batches of a few calls.
pub(super) fn cheap_call_ns() -> u64 {
    const BATCHES: usize = 101;
    const CALLS: u32 = 10;
    let mut batches_ns: Vec<u64> = (0..BATCHES)
        .map(|_| {
            let start = Instant::now();
            for _ in 0..CALLS {
                // SAFETY: the call has no preconditions.
                unsafe { libc::getppid() };
            }
            (start.elapsed() / CALLS).as_nanos() as u64
        })
        .collect();
    batches_ns.sort_unstable();
    batches_ns[BATCHES / 2]
}
