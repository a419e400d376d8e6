//! The buffers of one thread: filled by its invocations, emptied by a [`Recorder`](crate::Recorder).

use std::{
    cell::{Cell, RefCell},
    sync::{
        Arc, Mutex, PoisonError, Weak,
        atomic::{AtomicU64, Ordering},
    },
};

use rtrb::{Consumer, Producer, RingBuffer};

use crate::{
    Capacity, METERS, Meter, Outcome, Site, VariantId,
    meter::{self, FrameId, Metering},
    record::{NO_CHILD, OWN_CODE, RawReading, RawRecord, RawSpan},
};

/// Counts a site.
pub(crate) type PerSite = [AtomicU64; Site::ALL.len()];

pub(crate) const fn no_counts() -> PerSite {
    [const { AtomicU64::new(0) }; Site::ALL.len()]
}

/// The filling side.
pub(crate) struct Filling {
    records: Producer<RawRecord>,
    spans: Producer<RawSpan>,
    lost: Arc<PerSite>,
    pub(crate) metering: Option<Metering>,
}

/// The emptying side.
pub(crate) struct Emptying {
    pub(crate) thread: usize,
    pub(crate) records: Consumer<RawRecord>,
    pub(crate) spans: Consumer<RawSpan>,
    /// None without a meter.
    pub(crate) readings: Option<Consumer<RawReading>>,
    pub(crate) lost: Arc<PerSite>,
}

/// Where a thread that made its buffers leaves their emptying side.
pub(crate) type Arrivals = Mutex<Vec<Emptying>>;

/// What a thread needs to make its buffers once there is something to record.
pub(crate) struct Seat {
    pub(crate) thread: usize,
    pub(crate) capacity: Capacity,
    /// With room for so many readings.
    pub(crate) meter: Option<(Meter, usize)>,
    pub(crate) arrivals: Weak<Arrivals>,
}

thread_local! {
    static FILLING: RefCell<Option<Filling>> = const { RefCell::new(None) };
    static SEAT: RefCell<Option<Seat>> = const { RefCell::new(None) };
    /// Whether there is a seat: all that an invocation has to ask.
    static IS_SEATED: Cell<bool> = const { Cell::new(false) };
}

/// Invocations on threads that no recorder is attached to.
pub(crate) static UNATTACHED: PerSite = no_counts();

/// Has the current thread make buffers when it first needs them, in place of any it has.
pub(crate) fn attach(seat: Seat) {
    FILLING.with(|slot| slot.take());
    SEAT.with(|slot| slot.replace(Some(seat)));
    IS_SEATED.set(true);
}

/// Whether [`prepare`] has something to do before an invocation begins. One question, so that a meter
/// costs nothing where there is none.
#[inline]
pub(crate) fn is_to_prepare(is_metered: bool) -> bool {
    IS_SEATED.get() | is_metered
}

/// Makes the buffers of this thread if it has a seat and none yet, and reads the meter if it is wanted.
/// To be called before an invocation reads the clock for the first time, so that neither is part of
/// its record. Returns what is open then, and the frame in which the meter's readings are kept.
pub(crate) fn prepare(is_metered: bool) -> (u8, FrameId) {
    if IS_SEATED.get() {
        make_buffers();
    }
    match is_metered.then(meter::begin).flatten() {
        Some(frame) => (OWN_CODE, frame),
        None => (NO_CHILD, FrameId::NONE),
    }
}

#[cold]
fn make_buffers() {
    IS_SEATED.set(false);
    let seat = SEAT.try_with(|slot| slot.take()).ok().flatten();
    let Some(seat) = seat else { return };
    let Some(arrivals) = seat.arrivals.upgrade() else {
        return; // The recorder is gone, so nobody is attached to.
    };
    let (records, emptying_records) = resident(seat.capacity.records, BLANK_RECORD);
    let (spans, emptying_spans) = resident(seat.capacity.spans, BLANK_SPAN);
    let (metering, emptying_readings) = seat
        .meter
        .map(|(meter, capacity)| {
            let (readings, emptying) = resident(capacity, BLANK_READING);
            (Metering::new(meter, readings), emptying)
        })
        .unzip();
    let lost = Arc::new(no_counts());
    let filling = Filling {
        records,
        spans,
        lost: Arc::clone(&lost),
        metering,
    };
    if FILLING.try_with(|slot| slot.replace(Some(filling))).is_ok() {
        let mut arrivals = arrivals.lock().unwrap_or_else(PoisonError::into_inner);
        arrivals.push(Emptying {
            thread: seat.thread,
            records: emptying_records,
            spans: emptying_spans,
            readings: emptying_readings,
            lost,
        });
    }
}

/// A ring whose every page was written once, so that no invocation pays for a page fault.
fn resident<T: Copy>(capacity: usize, blank: T) -> (Producer<T>, Consumer<T>) {
    let (mut filling, mut emptying) = RingBuffer::new(capacity);
    while filling.push(blank).is_ok() {}
    while emptying.pop().is_ok() {}
    (filling, emptying)
}

const BLANK_RECORD: RawRecord = RawRecord {
    start: 0,
    ticks: 0,
    longest_iteration: 0,
    children: &[],
    iterations: 0,
    longest_child_ticks: 0,
    variant: VariantId(0),
    spans: 0,
    spans_lost: 0,
    longest_child: NO_CHILD,
    site: Site::Connection,
    outcome: Outcome::Ready,
};

const BLANK_SPAN: RawSpan = RawSpan {
    invocation: 0,
    offset: 0,
    ticks: 0,
    iteration: 0,
    site: Site::Connection,
    child: NO_CHILD,
};

const BLANK_READING: RawReading = RawReading {
    invocation: 0,
    at: 0,
    counts: [0; METERS],
    site: Site::Connection,
    child: NO_CHILD,
};

/// Stores a record, or counts it as lost.
#[inline]
pub(crate) fn store(record: RawRecord) {
    let attached = with_filling(|filling| {
        if filling.records.push(record).is_err() {
            count(&filling.lost, record.site);
        }
    });
    if attached.is_none() {
        count(&UNATTACHED, record.site);
    }
}

/// Counts an invocation of `site` as lost, though there may have been room for it.
#[cold]
pub(crate) fn lose(site: Site, frame: FrameId) {
    meter::give_up(frame);
    if with_filling(|filling| count(&filling.lost, site)).is_none() {
        count(&UNATTACHED, site);
    }
}

/// Stores a child's poll, or returns false.
#[inline]
pub(crate) fn store_span(span: RawSpan) -> bool {
    with_filling(|filling| filling.spans.push(span).is_ok()).unwrap_or(false)
}

#[inline]
pub(crate) fn with_filling<T>(f: impl FnOnce(&mut Filling) -> T) -> Option<T> {
    FILLING
        .try_with(|slot| slot.borrow_mut().as_mut().map(f))
        .ok()
        .flatten()
}

#[cold]
fn count(counts: &PerSite, site: Site) {
    counts[site as usize].fetch_add(1, Ordering::Relaxed);
}
