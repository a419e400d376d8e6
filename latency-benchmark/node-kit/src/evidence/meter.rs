//! What the poll functions read where they and their children begin and end, in slices that count
//! something. One function serves both kinds of counts, of which one is wanted at a time.

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use crate::scope::{Counters, allocations};
use poll_probe::METERS;

/// Else allocations are.
static READS_COUNTERS: AtomicBool = AtomicBool::new(false);

thread_local! {
    static COUNTERS: RefCell<Option<Counters>> = const { RefCell::new(None) };
}

/// To be called where no poll is under way whose readings are wanted.
pub(super) fn read_counters(counters: bool) {
    READS_COUNTERS.store(counters, Ordering::Relaxed);
}

/// The median time that reading the counters takes. None without any.
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

/// The counters that the calling thread reads from now on.
pub(super) fn read_by_this_thread(counters: Counters) {
    COUNTERS.with(|slot| slot.replace(Some(counters)));
}

/// Allocated objects and bytes, or the counters in the order of their names. What there is nothing for stays as it is.
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
