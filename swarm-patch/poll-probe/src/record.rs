use std::num::NonZeroU32;

use crate::{Site, VariantId};

/// The most counters that a meter has.
pub const METERS: usize = 10;

/// The counters of a meter.
pub type MeterCounts = [u64; METERS];

/// Writes counters of the current thread that never decrease, such as the bytes allocated so far. It
/// gets zeros, and a counter that it does not write stays zero.
///
/// The probe calls it in [`Mode::Metered`](crate::Mode::Metered), where an invocation and its children begin and end. That
/// is inside poll functions, so it must not enter one. Its own cost is part of the counts.
pub type Meter = fn(&mut MeterCounts);

/// How an invocation ended. An invocation that panicked has no record and counts as lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Outcome {
    /// It returned a value.
    #[default]
    Ready,
    /// It waits for something, perhaps for a site that it polled and that spent its budget: when a muxer
    /// yields, its record is `Yielded` and that of the connection is `Pending`.
    Pending,
    /// Its own budget was spent. It asked to be polled again.
    Yielded,
}

/// One finished invocation, in nanoseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Record<'a> {
    /// Which poll function.
    pub site: Site,
    /// The variant in force when the invocation began.
    pub variant: VariantId,
    /// The thread, numbered from 0 in the order in which threads were attached to the recorder.
    pub thread: usize,
    /// When it began, counted from the creation of the recorder.
    pub start_ns: u64,
    /// How long it took.
    pub duration_ns: u64,
    /// The part of it in which its thread did not run.
    pub lost_ns: u64,
    /// How often its loops were entered. None if they are not marked.
    pub iterations: Option<u32>,
    /// How long the longest iteration ran. None if they are not marked. If an invocation of several iterations lost time,
    /// this is an estimate: all of the loss is subtracted from the longest, but no more than down to the mean of all.
    pub longest_iteration_ns: Option<u64>,
    /// How it ended.
    pub outcome: Outcome,
    /// Every poll of a child in the order they began. Empty in other modes.
    pub children: &'a [ChildPoll],
    /// Where a budget could have ended it, and none did, in [`Mode::Children`](crate::Mode::Children).
    pub iteration_ends: &'a [IterationEnd],
    /// Number of entries that are missing in these two. Either the buffer was full, or the thread was
    /// attached during the invocation.
    pub children_lost: u16,
    /// The readings of the meter, if there is one, in [`Mode::Metered`](crate::Mode::Metered): one for
    /// each poll of a child, in order, and then one for the poll function's own code. Empty otherwise.
    pub readings: &'a [Reading],
    /// Number of readings that are missing there: all of them if the buffer was full, or if the invocation began without a
    /// meter.
    pub readings_lost: u32,
}

impl Record<'_> {
    /// How long it ran.
    pub fn own_ns(&self) -> u64 {
        self.duration_ns.saturating_sub(self.lost_ns)
    }
}

/// How much a meter's counts grew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// The child that was polled meanwhile; none for the rest of the invocation.
    pub child: Option<&'static str>,
    /// The growth, in the meter's order. If the child is a site itself, its work is included.
    pub counts: MeterCounts,
}

/// One poll of a child within an invocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChildPoll {
    /// The child's name.
    pub child: &'static str,
    /// The iteration of the loop that polled it, from 1.
    pub iteration: u32,
    /// When it began, counted from the start of the invocation.
    pub offset_ns: u64,
    /// How long it took.
    pub duration_ns: u64,
    /// The part of it in which its thread did not run.
    pub lost_ns: u64,
}

impl ChildPoll {
    /// How long it ran.
    pub fn own_ns(&self) -> u64 {
        self.duration_ns.saturating_sub(self.lost_ns)
    }
}

/// The end of an iteration after which the invocation went on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IterationEnd {
    /// How many iterations were over.
    pub iterations: u32,
    /// For how long the invocation had run.
    pub own_ns: u64,
}

/// Stands for no child where an index is expected.
pub(crate) const NO_CHILD: u8 = u8::MAX;

/// How often the loops of an invocation were entered, or how often they may be. The hot path compares the two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Iterations(u32);

impl Iterations {
    pub(crate) const ZERO: Iterations = Iterations(0);
    pub(crate) const ONE: Iterations = Iterations(1);
    /// Of a loop that may be entered as often as it likes.
    pub(crate) const NO_BOUND: Iterations = Iterations(u32::MAX - 1);
    /// Of an invocation without marks. It is above every bound, so that the hot path looks for it only where a bound is
    /// reached.
    pub(crate) const UNMARKED: Iterations = Iterations(u32::MAX);

    pub(crate) fn at_most(count: NonZeroU32) -> Iterations {
        Iterations(count.get()).min(Iterations::NO_BOUND)
    }

    /// With one more. It never becomes one of the two values with another meaning, and an unmarked invocation stays so.
    #[inline(always)]
    pub(crate) fn next(self) -> Iterations {
        Iterations(self.0 + u32::from(self.0 < Iterations::NO_BOUND.0 - 1))
    }

    /// None of an invocation without marks.
    pub(crate) fn number(self) -> Option<u32> {
        (self != Iterations::UNMARKED).then_some(self.0)
    }
}

/// Stands for the poll function's own code.
pub(crate) const OWN_CODE: u8 = NO_CHILD - 1;

/// One finished invocation as the hot path stores it, in clock ticks.
#[derive(Clone, Copy, Default)]
pub(crate) struct RawRecord {
    pub(crate) start: u64,
    pub(crate) ticks: u64,
    pub(crate) longest_iteration: u64,
    pub(crate) children: &'static [&'static str],
    pub(crate) iterations: Iterations,
    pub(crate) variant: VariantId,
    /// How many marks are stored for it.
    pub(crate) marks: u16,
    pub(crate) children_lost: u16,
    /// How many readings.
    pub(crate) readings: u16,
    pub(crate) site: Site,
    pub(crate) outcome: Outcome,
}

impl RawRecord {
    pub(crate) fn end(&self) -> u64 {
        self.start + self.ticks
    }
}

/// A reading of the meter as the hot path stores it.
#[derive(Clone, Copy, Default)]
pub(crate) struct RawReading {
    pub(crate) counts: MeterCounts,
    /// The child that ends with it. [`NO_CHILD`] is the last reading of an invocation. [`OWN_CODE`] is its first one, or one
    /// before a child.
    pub(crate) child: u8,
}
