//! What the poll functions read where they and their children begin and end, in slices that count
//! something. One function serves both kinds of counts, of which one is wanted at a time.

use std::{
    cell::RefCell,
    sync::atomic::{AtomicU8, Ordering},
    time::Instant,
};

use poll_probe::METERS;
use thread_scope::{Counters, allocations};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum MeterKind {
    Nothing,
    Allocations,
    Counters,
}

static METER_KIND: AtomicU8 = AtomicU8::new(MeterKind::Nothing as u8);

thread_local! {
    static COUNTERS: RefCell<Option<Counters>> = const { RefCell::new(None) };
}

/// To be called where no poll is under way whose readings are wanted.
pub(super) fn switch(to: MeterKind) {
    METER_KIND.store(to as u8, Ordering::Relaxed);
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

/// Allocated objects and bytes, or the counters in the order of their names. What there is nothing for
/// stays as it is.
pub(super) fn read(into: &mut [u64; METERS]) {
    match METER_KIND.load(Ordering::Relaxed) {
        of if of == MeterKind::Allocations as u8 => {
            let allocated = allocations::of_this_thread();
            into[OBJECTS] = allocated.objects;
            into[BYTES] = allocated.bytes;
        }
        of if of == MeterKind::Counters as u8 => COUNTERS.with(|slot| {
            if let Some(counters) = slot.borrow().as_ref() {
                let names = counters.names().len().min(METERS);
                counters.read(&mut into[..names]);
            }
        }),
        _ => {}
    }
}

pub(super) const OBJECTS: usize = 0;
pub(super) const BYTES: usize = 1;
