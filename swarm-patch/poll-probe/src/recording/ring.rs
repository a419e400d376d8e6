//! The buffers of one thread. Its invocations fill them, and a [`Recorder`](crate::Recorder) empties them.

use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak};

use rtrb::{Consumer, Producer};

use super::active::Active;
use super::lock::lock;
use super::marks::Mark;
use super::own_time::{OffCpuTime, OwnClock};
use super::record::{RawReading, RawRecord};
use super::under_way::{InvocationParts, UnderWay, resident};
use crate::{Meter, MeterCounts, SiteId};

/// How much a thread's buffers hold between two drains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capacity {
    /// The number of invocations, of 56 bytes each.
    pub records: usize,
    /// The number of marks, of 8 bytes each. The poll of a child has one or two, and the end of an iteration has one. A
    /// single invocation has at most 65,535.
    pub marks: usize,
}

impl Default for Capacity {
    /// A second of the busiest connection seen so far, in 31 MiB.
    fn default() -> Self {
        Capacity {
            records: 1 << 18,
            marks: 1 << 21,
        }
    }
}

/// A counter for each site.
pub(crate) type PerSite = [AtomicU64; SiteId::MOST];

/// The side of the buffers that their thread fills.
pub(crate) struct Filling {
    records: Producer<RawRecord>,
    own_clock: OwnClock,
    marks: UnderWay<Mark>,
    lost: Arc<PerSite>,
    meter: Option<(Meter, UnderWay<RawReading>)>,
}

/// The side of the buffers that the recorder empties.
pub(crate) struct Emptying {
    pub(crate) thread: usize,
    pub(crate) records: Consumer<RawRecord>,
    pub(crate) marks: Consumer<Mark>,
    /// There is none if the recorder has no meter.
    pub(crate) readings: Option<Consumer<RawReading>>,
    pub(crate) lost: Arc<PerSite>,
    pub(crate) off_cpu: OffCpuTime,
}

/// The part of a recorder that its threads share. A thread gets a number when it is attached, and makes its buffers when its
/// first recorded invocation begins.
pub(crate) struct Shared {
    pub(crate) capacity: Capacity,
    /// The meter, and the number of readings that the buffer of a thread holds.
    pub(crate) meter: Option<(Meter, usize)>,
    /// The number of threads that were attached.
    pub(crate) threads: AtomicUsize,
    /// A thread that made its buffers leaves their emptying side here.
    pub(crate) new_buffers: Mutex<Vec<Emptying>>,
}

/// The number of an attached thread, and the recorder that it makes its buffers for.
type Attached = (usize, Weak<Shared>);

impl Shared {
    fn next_thread(self: &Arc<Self>) -> Attached {
        let number = self.threads.fetch_add(1, Ordering::Relaxed);
        (number, Arc::downgrade(self))
    }
}

thread_local! {
    static FILLING: RefCell<Option<Filling>> = const { RefCell::new(None) };
    /// None if the thread was not attached, or has made its buffers.
    static ATTACHED: RefCell<Option<Attached>> = const { RefCell::new(None) };
    /// `make_buffers` has not run since this thread was attached.
    static NEEDS_BUFFERS: Cell<bool> = const { Cell::new(true) };
    /// An invocation that begins at this time or later first makes the buffers or reads the thread's own clock.
    static PREPARES_FROM: Cell<u64> = const { Cell::new(0) };
}

/// The recorder of each thread that was not attached when its first recorded invocation begins.
static FOR_ALL: Mutex<Weak<Shared>> = Mutex::new(Weak::new());

pub(crate) fn attach_all(shared: &Arc<Shared>) {
    *lock(&FOR_ALL) = Arc::downgrade(shared);
}

/// Lets the current thread make buffers when it first needs them, in place of any that it has.
pub(crate) fn attach(shared: &Arc<Shared>) {
    FILLING.with(|slot| slot.take());
    ATTACHED.with(|slot| slot.replace(Some(shared.next_thread())));
    NEEDS_BUFFERS.set(true);
    PREPARES_FROM.set(0);
}

/// Whether a recorder is attached to this thread.
pub(crate) fn is_attached() -> bool {
    let is_new = ATTACHED.try_with(|slot| slot.borrow().is_some());
    is_new.unwrap_or(false) || with_filling(|_| ()).is_some()
}

/// Whether an invocation has to do something before it begins: make buffers, read the thread's own clock, or read the meter.
/// One check covers all three.
#[inline]
pub(crate) fn is_to_prepare(now: u64, is_metered: bool) -> bool {
    (now >= PREPARES_FROM.get()) | is_metered
}

/// Makes the buffers of this thread if there is a recorder for it, unless they were made before.
pub(crate) fn make_buffers() {
    if !NEEDS_BUFFERS.replace(false) {
        return;
    }
    PREPARES_FROM.set(u64::MAX);
    let attached = ATTACHED.try_with(|slot| slot.take()).ok().flatten();
    let for_all = || Some(lock(&FOR_ALL).upgrade()?.next_thread());
    let Some((thread, recorder)) = attached.or_else(for_all) else {
        return;
    };
    let Some(shared) = recorder.upgrade() else {
        return; // The recorder was dropped.
    };
    let (records, emptying_records) = resident(shared.capacity.records);
    let (marks, emptying_marks) = UnderWay::new(shared.capacity.marks);
    let (meter, emptying_readings) = shared
        .meter
        .map(|(meter, capacity)| {
            let (readings, emptying) = UnderWay::new(capacity);
            ((meter, readings), emptying)
        })
        .unzip();
    let lost = Arc::<PerSite>::default();
    let (own_clock, off_cpu) = OwnClock::new();
    let filling = Filling {
        records,
        own_clock,
        marks,
        lost: Arc::clone(&lost),
        meter,
    };
    if FILLING.try_with(|slot| slot.replace(Some(filling))).is_ok() {
        PREPARES_FROM.set(0);
        lock(&shared.new_buffers).push(Emptying {
            thread,
            records: emptying_records,
            marks: emptying_marks,
            readings: emptying_readings,
            lost,
            off_cpu,
        });
    }
}

/// Reads the thread's own clock at the end of an invocation that took long.
#[cold]
pub(crate) fn read_own_clock(start: u64, end: u64, active: &Active) {
    with_filling(|filling| filling.own_clock.after_long(start, end, || active.ticks()));
}

/// Reads the thread's own clock before an invocation, if that is due.
pub(crate) fn read_own_clock_if_due(active: &Active) {
    let (due, now) = (PREPARES_FROM.get(), active.ticks());
    if now >= due {
        let next =
            with_filling(|filling| filling.own_clock.after_pause(due, now, || active.ticks()));
        PREPARES_FROM.set(next.unwrap_or(u64::MAX));
    }
}

/// Stores a record with its marks and readings, or counts it as lost. On a thread without a recorder it does nothing.
#[inline]
pub(crate) fn store(mut record: RawRecord, marks: InvocationParts, readings: InvocationParts) {
    with_filling(|filling| {
        PREPARES_FROM.set(filling.own_clock.due(record.end()));
        if filling.records.is_full() {
            return filling.lose(record.site, marks, readings);
        }
        if !marks.are_none() {
            (record.marks, record.entries_lost) = filling.marks.end(marks);
        }
        if !readings.are_none() {
            record.readings = filling.end_readings(readings);
        }
        let _ = filling.records.push(record); // There is room.
    });
}

impl Filling {
    #[cold]
    fn end_readings(&mut self, readings: InvocationParts) -> u16 {
        let meter = self.meter.as_mut();
        meter.map_or(0, |(_, all)| all.end(readings).0)
    }

    /// Counts an invocation of `site` as lost.
    #[cold]
    fn lose(&mut self, site: SiteId, marks: InvocationParts, readings: InvocationParts) {
        self.marks.forget(marks);
        if let Some((_, all)) = &mut self.meter {
            all.forget(readings);
        }
        self.lost[site.number()].fetch_add(1, Ordering::Relaxed);
    }
}

/// Counts an invocation of `site` as lost, even if the buffer has room.
#[cold]
pub(crate) fn lose(site: SiteId, marks: InvocationParts, readings: InvocationParts) {
    with_filling(|filling| filling.lose(site, marks, readings));
}

/// Adds a mark to those under way.
#[inline(always)]
pub(crate) fn mark(parts: &mut InvocationParts, mark: Mark) {
    if with_filling(|filling| filling.marks.push(parts, mark)).is_none() {
        parts.lose(mark);
    }
}

#[inline(always)]
fn with_filling<T>(f: impl FnOnce(&mut Filling) -> T) -> Option<T> {
    FILLING
        .try_with(|slot| slot.borrow_mut().as_mut().map(f))
        .ok()?
}

/// Reads the meter, and adds the reading to those of the invocation. If there is no meter or no room, the invocation has no
/// readings any more. The buffers are not borrowed while the meter runs.
pub(crate) fn read_meter(parts: InvocationParts, child: u8) -> Option<InvocationParts> {
    let meter = with_filling(|filling| Some(filling.meter.as_ref()?.0))??;
    let mut counts = MeterCounts::default();
    meter(&mut counts);
    let reading = RawReading { counts, child };
    with_filling(|filling| filling.meter.as_mut()?.1.push_or_forget(parts, reading))?
}
