use std::num::NonZeroU32;

use crate::{SiteId, VariantId};

/// The most counters that a meter has.
pub const MAX_COUNTERS: usize = 10;

/// The counters of a meter.
pub type MeterCounts = [u64; MAX_COUNTERS];

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
    /// The poll function returned a value.
    #[default]
    Ready,
    /// The poll function waits for something, perhaps for a site that it polled and that spent its budget: when a muxer
    /// yields, the record of the muxer is `Yielded` and the record of its connection is `Pending`.
    Pending,
    /// The budget of the site was spent, and the poll function asked to be polled again.
    Yielded,
}

/// One finished invocation, in nanoseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Record<'a> {
    /// The poll function.
    pub site: SiteId,
    /// The variant in force when the invocation began.
    pub variant: VariantId,
    /// The thread, numbered from 0 in the order in which threads were attached to the recorder.
    pub thread: usize,
    /// When the invocation began, counted from the creation of the recorder.
    pub start_ns: u64,
    /// How long the invocation took.
    pub duration_ns: u64,
    /// The part of the duration in which the thread was off the CPU. It is 0 for an invocation of less than 100 µs.
    pub off_cpu_ns: u64,
    /// How many iterations the loops of the function began. None if the loops are not marked.
    pub iterations: Option<u32>,
    /// How long the longest iteration ran. None if the loops are not marked. If the thread did not run all the time in an
    /// invocation of several iterations, this is an estimate: the time off the CPU is subtracted from the longest iteration,
    /// but the result is at least the mean of all iterations.
    pub longest_iteration_ns: Option<u64>,
    /// How the invocation ended.
    pub outcome: Outcome,
    /// Every poll of a child, in the order in which they began, in [`Mode::Children`](crate::Mode::Children) and
    /// [`Mode::Metered`](crate::Mode::Metered). Empty in other modes.
    pub children: &'a [ChildPoll],
    /// The ends of iterations after which the invocation went on, in [`Mode::Children`](crate::Mode::Children). A budget
    /// could have ended the invocation at each of them.
    pub iteration_ends: &'a [IterationEnd],
    /// The number of entries that are missing in `children` and `iteration_ends`. Either the buffer was full, or the thread
    /// was attached during the invocation.
    pub entries_lost: u16,
    /// The readings of the meter, if there is one, in [`Mode::Metered`](crate::Mode::Metered): one for
    /// each poll of a child, in order, and then one for the poll function's own code. Empty in other modes.
    pub readings: &'a [Reading],
    /// The number of readings that are missing in `readings`: all of them if the buffer was full, or if the invocation began
    /// without a meter.
    pub readings_lost: u32,
}

impl Record<'_> {
    /// How long the invocation ran.
    pub fn own_ns(&self) -> u64 {
        self.duration_ns.saturating_sub(self.off_cpu_ns)
    }
}

/// How much a meter's counts grew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// The child that was polled. None stands for the rest of the invocation.
    pub child: Option<&'static str>,
    /// The growth of each counter, in the meter's order. If the child is a site itself, its work is included.
    pub counts: MeterCounts,
}

/// One poll of a child within an invocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChildPoll {
    /// The child's name.
    pub child: &'static str,
    /// The iteration of the loop that polled it, from 1.
    pub iteration: u32,
    /// When the poll began, counted from the start of the invocation.
    pub offset_ns: u64,
    /// How long the poll took.
    pub duration_ns: u64,
    /// The part of the duration in which the thread was off the CPU.
    pub off_cpu_ns: u64,
}

impl ChildPoll {
    /// How long the poll ran.
    pub fn own_ns(&self) -> u64 {
        self.duration_ns.saturating_sub(self.off_cpu_ns)
    }
}

/// The end of an iteration after which the invocation went on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IterationEnd {
    /// How many iterations had ended.
    pub iterations: u32,
    /// How long the invocation had run.
    pub own_ns: u64,
}

/// Stands for no child where an index is expected.
pub(crate) const NO_CHILD: u8 = u8::MAX;

/// How many iterations an invocation began, or how many it may begin. The hot path compares the two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Iterations(u32);

impl Iterations {
    pub(crate) const ZERO: Iterations = Iterations(0);
    pub(crate) const ONE: Iterations = Iterations(1);
    /// The bound of a loop without a bound.
    pub(crate) const NO_BOUND: Iterations = Iterations(u32::MAX - 1);
    /// The number of an invocation whose loops are not marked. It is above every bound, so the hot path looks for it only
    /// where a bound is reached.
    pub(crate) const UNMARKED: Iterations = Iterations(u32::MAX);

    pub(crate) fn at_most(count: NonZeroU32) -> Iterations {
        Iterations(count.get()).min(Iterations::NO_BOUND)
    }

    /// One iteration more. The result is neither [`NO_BOUND`](Self::NO_BOUND) nor [`UNMARKED`](Self::UNMARKED), but an
    /// unmarked invocation stays unmarked.
    #[inline(always)]
    pub(crate) fn next(self) -> Iterations {
        Iterations(self.0 + u32::from(self.0 < Iterations::NO_BOUND.0 - 1))
    }

    /// The number, which an unmarked invocation does not have.
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
    /// The number of marks that are stored for the invocation.
    pub(crate) marks: u16,
    pub(crate) entries_lost: u16,
    /// The number of readings that are stored for the invocation.
    pub(crate) readings: u16,
    pub(crate) site: SiteId,
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
    /// The child whose poll ends with this reading. [`NO_CHILD`] stands for the end of the invocation, and [`OWN_CODE`] for
    /// its beginning or the beginning of a child's poll.
    pub(crate) child: u8,
}
