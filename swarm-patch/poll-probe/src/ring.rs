//! The buffers of one thread. Its invocations fill them, and a [`Recorder`](crate::Recorder) empties
//! them.

use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};

use rtrb::{Consumer, Producer, RingBuffer};

use crate::lock::lock;
use crate::parts::Parts;
use crate::record::{Part, RawRecord, Span};
use crate::{Meter, MeterCounts, Site};

/// How much a thread's buffers hold between two drains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capacity {
    /// Invocations; 56 bytes each.
    pub records: usize,
    /// Polls of children; 32 bytes each.
    pub spans: usize,
}

impl Default for Capacity {
    /// A second of the busiest connection seen so far, in 46 MiB.
    fn default() -> Self {
        Capacity {
            records: 1 << 18,
            spans: 1 << 20,
        }
    }
}

/// A counter for each site.
pub(crate) type PerSite = [AtomicU64; Site::MOST];

/// The filling side.
pub(crate) struct Filling {
    records: Producer<RawRecord>,
    spans: Producer<Part<Span>>,
    lost: Arc<PerSite>,
    meter: Option<(Meter, Producer<Part<MeterCounts>>)>,
}

/// The emptying side.
pub(crate) struct Emptying {
    pub(crate) thread: usize,
    pub(crate) records: Consumer<RawRecord>,
    pub(crate) spans: Parts<Span>,
    /// None without a meter.
    pub(crate) readings: Option<Parts<MeterCounts>>,
    pub(crate) lost: Arc<PerSite>,
}

/// A thread that made its buffers leaves their emptying side here.
pub(crate) type Arrivals = Mutex<Vec<Emptying>>;

/// A thread makes its buffers from this when its first recorded invocation begins.
pub(crate) struct Seat {
    pub(crate) thread: usize,
    pub(crate) capacity: Capacity,
    /// The meter, and the number of readings that the buffer holds.
    pub(crate) meter: Option<(Meter, usize)>,
    pub(crate) arrivals: Weak<Arrivals>,
}

thread_local! {
    static FILLING: RefCell<Option<Filling>> = const { RefCell::new(None) };
    static SEAT: RefCell<Option<Seat>> = const { RefCell::new(None) };
    /// Whether a seat is to be looked for: there is one, or the thread has not looked yet. An invocation checks nothing
    /// else.
    static IS_TO_SEAT: Cell<bool> = const { Cell::new(true) };
}

/// Makes the seat of a thread that was not attached.
type MakeSeat = Box<dyn Fn() -> Option<Seat> + Send>;

static FOR_ALL: Mutex<Option<MakeSeat>> = Mutex::new(None);

/// Gives a seat to each thread that has none when its first recorded invocation begins.
pub(crate) fn attach_all(seat: MakeSeat) {
    *lock(&FOR_ALL) = Some(seat);
}

fn seat_for_all() -> Option<Seat> {
    lock(&FOR_ALL).as_ref()?()
}

/// Lets the current thread make buffers when it first needs them, in place of any that it has.
pub(crate) fn attach(seat: Seat) {
    FILLING.with(|slot| slot.take());
    SEAT.with(|slot| slot.replace(Some(seat)));
    IS_TO_SEAT.set(true);
}

/// Whether a recorder is attached to this thread.
pub(crate) fn is_attached() -> bool {
    let has_seat = SEAT.try_with(|slot| slot.borrow().is_some());
    has_seat.unwrap_or(false) || with_filling(|_| ()).is_some()
}

/// Whether there is something to do before an invocation begins: to make buffers, or to read the meter. One check covers
/// both reasons, so that an invocation without a meter does not pay for a second one.
#[inline]
pub(crate) fn is_to_prepare(is_metered: bool) -> bool {
    IS_TO_SEAT.get() | is_metered
}

/// Makes the buffers of this thread if there is a seat for it.
pub(crate) fn make_buffers() {
    if !IS_TO_SEAT.replace(false) {
        return;
    }
    let seat = SEAT.try_with(|slot| slot.take()).ok().flatten();
    let Some(seat) = seat.or_else(seat_for_all) else {
        return;
    };
    let Some(arrivals) = seat.arrivals.upgrade() else {
        return; // The recorder was dropped.
    };
    let (records, emptying_records) = resident(seat.capacity.records);
    let (spans, emptying_spans) = resident(seat.capacity.spans);
    let (meter, emptying_readings) = seat
        .meter
        .map(|(meter, capacity)| {
            let (readings, emptying) = resident(capacity);
            ((meter, readings), emptying)
        })
        .unzip();
    let lost = Arc::<PerSite>::default();
    let filling = Filling {
        records,
        spans,
        lost: Arc::clone(&lost),
        meter,
    };
    if FILLING.try_with(|slot| slot.replace(Some(filling))).is_ok() {
        lock(&arrivals).push(Emptying {
            thread: seat.thread,
            records: emptying_records,
            spans: Parts::new(emptying_spans),
            readings: emptying_readings.map(Parts::new),
            lost,
        });
    }
}

/// A ring with every page written once, so that no invocation causes a page fault.
fn resident<T: Default>(capacity: usize) -> (Producer<T>, Consumer<T>) {
    let (mut filling, mut emptying) = RingBuffer::new(capacity);
    while filling.push(T::default()).is_ok() {}
    while emptying.pop().is_ok() {}
    (filling, emptying)
}

/// Stores a record, or counts it as lost. On a thread without a recorder it does nothing.
#[inline]
pub(crate) fn store(record: RawRecord) {
    with_filling(|filling| {
        if filling.records.push(record).is_err() {
            count(&filling.lost, record.site);
        }
    });
}

/// Counts an invocation of `site` as lost, even if the buffer has room.
#[cold]
pub(crate) fn lose(site: Site) {
    with_filling(|filling| count(&filling.lost, site));
}

/// Stores a child's poll, or returns false. It is made after the buffers are found, so that less has to be kept meanwhile.
#[inline]
pub(crate) fn store_span(span: impl FnOnce() -> Part<Span>) -> bool {
    with_filling(|filling| filling.spans.push(span()).is_ok()).unwrap_or(false)
}

#[inline]
fn with_filling<T>(f: impl FnOnce(&mut Filling) -> T) -> Option<T> {
    FILLING
        .try_with(|slot| slot.borrow_mut().as_mut().map(f))
        .ok()?
}

/// Reads the meter and stores what `reading` makes of that. False without a meter or without room. The buffers are not
/// borrowed while the meter runs.
pub(crate) fn read_meter(reading: impl FnOnce(MeterCounts) -> Part<MeterCounts>) -> bool {
    let meter = with_filling(|filling| filling.meter.as_ref().map(|(meter, _)| *meter));
    let Some(meter) = meter.flatten() else {
        return false;
    };
    let mut now = MeterCounts::default();
    meter(&mut now);
    let reading = reading(now);
    with_filling(|filling| {
        let readings = filling.meter.as_mut().map(|(_, readings)| readings);
        readings.is_some_and(|readings| readings.push(reading).is_ok())
    })
    .unwrap_or(false)
}

#[cold]
fn count(counts: &PerSite, site: Site) {
    counts[site.number()].fetch_add(1, Ordering::Relaxed);
}
