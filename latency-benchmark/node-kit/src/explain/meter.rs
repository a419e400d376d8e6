//! The meter of the recorder. In slices that count allocations or read counters, the probe calls [`read`] where poll functions
//! and their children begin and end. A slice does only one of these.

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use node_ab::slices::ns;
use poll_probe::MAX_COUNTERS;

use crate::observe::median::median;
use crate::profiler::{Counters, allocations};

/// Whether counters are read. If not, allocations are.
static READS_COUNTERS: AtomicBool = AtomicBool::new(false);

thread_local! {
    static COUNTERS: RefCell<Option<Counters>> = const { RefCell::new(None) };
}

/// Changes what is read. A poll that is under way gets readings of both kinds, so its readings mean nothing.
pub(super) fn read_counters(counters: bool) {
    READS_COUNTERS.store(counters, Ordering::Relaxed);
}

/// The median time that reading the counters takes.
pub(super) fn reading_ns(counters: &Counters) -> u64 {
    const READINGS: usize = 101;
    let mut into = [0; MAX_COUNTERS];
    let mut reading = || {
        let began = Instant::now();
        counters.read(&mut into);
        ns(began.elapsed())
    };
    median((0..READINGS).map(|_| reading()).collect())
}

/// Gives the calling thread the counters that it reads from now on.
pub(super) fn read_by_this_thread(counters: Counters) {
    COUNTERS.with(|slot| slot.replace(Some(counters)));
}

/// Reads allocated objects and bytes, or the counters in the order of their names. The other slots of `into` stay as they
/// are.
pub(super) fn read(into: &mut [u64; MAX_COUNTERS]) {
    if !READS_COUNTERS.load(Ordering::Relaxed) {
        let allocated = allocations::thread_totals();
        into[OBJECTS] = allocated.objects;
        into[BYTES] = allocated.bytes;
        return;
    }
    COUNTERS.with(|slot| {
        if let Some(counters) = slot.borrow().as_ref() {
            counters.read(into);
        }
    });
}

pub(super) const OBJECTS: usize = 0;
pub(super) const BYTES: usize = 1;
