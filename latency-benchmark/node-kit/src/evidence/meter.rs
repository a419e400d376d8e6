//! The poll functions call [`read`] where they and their children begin and end, in slices that count allocations or read
//! counters. A slice does one of these.

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use crate::scope::{Counters, allocations};
use poll_probe::METERS;

/// Whether counters are read. If not, allocations are.
static READS_COUNTERS: AtomicBool = AtomicBool::new(false);

thread_local! {
    static COUNTERS: RefCell<Option<Counters>> = const { RefCell::new(None) };
}

/// Changes what is read. A poll that is under way gets readings of both kinds, so its readings mean nothing.
pub(super) fn read_counters(counters: bool) {
    READS_COUNTERS.store(counters, Ordering::Relaxed);
}

/// The median time that reading the counters takes. Returns None if there are no counters.
pub(super) fn reading_ns(counters: &Counters) -> Option<u64> {
    const READINGS: usize = 101;
    let mut into = [0; METERS];
    let names = counters.names().len().min(METERS);
    let mut reading = || {
        let began = Instant::now();
        counters.read(&mut into[..names]);
        u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX)
    };
    if names == 0 {
        return None;
    }
    let mut times: Vec<u64> = (0..READINGS).map(|_| reading()).collect();
    times.sort_unstable();
    Some(times[READINGS / 2])
}

/// Gives the calling thread the counters that it reads from now on.
pub(super) fn read_by_this_thread(counters: Counters) {
    COUNTERS.with(|slot| slot.replace(Some(counters)));
}

/// Reads allocated objects and bytes, or the counters in the order of their names. The other slots of `into` stay as they
/// are.
pub(super) fn read(into: &mut [u64; METERS]) {
    if !READS_COUNTERS.load(Ordering::Relaxed) {
        let allocated = allocations::of_this_thread();
        into[OBJECTS] = allocated.objects;
        into[BYTES] = allocated.bytes;
        return;
    }
    COUNTERS.with(|slot| {
        if let Some(counters) = slot.borrow().as_ref() {
            let names = counters.names().len().min(METERS);
            counters.read(&mut into[..names]);
        }
    });
}

pub(super) const OBJECTS: usize = 0;
pub(super) const BYTES: usize = 1;
