use crate::{Counts, Site, VariantId};

/// How an invocation ended. One that a panic went through ended in none of these ways and has no
/// record; it counts as lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Outcome {
    /// It returned a value.
    Ready,
    /// It waits for something. That may be a site below it whose budget was spent: a connection
    /// whose muxer yielded is `Pending`, and the muxer's record is `Yielded`.
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
    /// How often its loop was entered.
    pub iterations: u32,
    /// How long the longest iteration took.
    pub longest_iteration_ns: u64,
    /// How it ended.
    pub outcome: Outcome,
    /// The child whose poll took longest, in [`Mode::Children`](crate::Mode::Children) and if any
    /// child was polled.
    pub longest_child: Option<LongestChild>,
    /// Every poll of a child in the order they began. Empty in other modes.
    pub children: &'a [ChildPoll],
    /// Polls of children that are not among them: they found the buffer full, the thread was
    /// attached amid the invocation, or the records of too many invocations inside it were lost.
    pub children_lost: u16,
    /// What a meter counted, in [`Mode::Metered`](crate::Mode::Metered) if there is one: a reading for
    /// each poll of a child, in order, and at last one for the poll function's own code. Empty
    /// otherwise.
    pub readings: &'a [Reading],
    /// Readings that are not among them: they found the buffer full, or the invocation began without
    /// a meter.
    pub readings_lost: u32,
}

/// How much a meter's counts grew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// During which child's poll; none: during everything else of the invocation.
    pub child: Option<&'static str>,
    /// By how much, in the meter's order. A site below counts for the child that it was polled in.
    pub counts: Counts,
}

/// The longest poll of a child within an invocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LongestChild {
    /// The child's name.
    pub child: &'static str,
    /// How long the poll took.
    pub duration_ns: u64,
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
}

/// No child, where an index is expected.
pub(crate) const NO_CHILD: u8 = u8::MAX;

/// No child either, and a meter is read.
pub(crate) const OWN_CODE: u8 = NO_CHILD - 1;

/// One finished invocation as the hot path stores it, in clock ticks.
#[derive(Clone, Copy)]
pub(crate) struct RawRecord {
    pub(crate) start: u64,
    pub(crate) ticks: u64,
    pub(crate) longest_iteration: u64,
    pub(crate) children: &'static [&'static str],
    pub(crate) iterations: u32,
    /// Saturates after more than a second.
    pub(crate) longest_child_ticks: u32,
    pub(crate) variant: VariantId,
    pub(crate) spans: u16,
    pub(crate) spans_lost: u16,
    pub(crate) longest_child: u8,
    pub(crate) site: Site,
    pub(crate) outcome: Outcome,
}

/// One poll of a child as the hot path stores it. `invocation` is the start of the invocation that
/// it belongs to, which within a thread and a site names it.
#[derive(Clone, Copy)]
pub(crate) struct RawSpan {
    pub(crate) invocation: u64,
    pub(crate) offset: u64,
    /// Saturates after more than a second.
    pub(crate) ticks: u32,
    pub(crate) iteration: u32,
    pub(crate) site: Site,
    pub(crate) child: u8,
}

/// What a meter counted, as the hot path stores it. The invocation is named as in a span.
#[derive(Clone, Copy)]
pub(crate) struct RawReading {
    pub(crate) invocation: u64,
    /// When what was metered ended, on the clock.
    pub(crate) at: u64,
    pub(crate) counts: Counts,
    pub(crate) site: Site,
    /// [`NO_CHILD`] for the last reading of an invocation.
    pub(crate) child: u8,
}
