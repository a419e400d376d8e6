//! Marks. A mark says in eight bytes what an invocation began to do, and when.

use quanta::Clock;
use rtrb::Consumer;

use super::record::{ChildPoll, IterationEnd, NO_CHILD, OWN_CODE, RawRecord};

/// A mark gives the time from its offset up to the next mark, or up to the end of the invocation, to a child or to the poll
/// function itself ([`OWN_CODE`]). A mark with [`NO_CHILD`] is the end of an iteration.
#[derive(Clone, Copy, Default)]
pub(crate) struct Mark(u64);

impl Mark {
    const CHILD_BITS: u32 = u8::BITS;
    const ITERATION_BITS: u32 = 20;
    const OFFSET_SHIFT: u32 = Self::CHILD_BITS + Self::ITERATION_BITS;
    const LAST_ITERATION: u64 = (1 << Self::ITERATION_BITS) - 1;
    /// The largest offset: some 20 seconds in ticks of the time-stamp counter.
    const LAST_OFFSET: u64 = u64::MAX >> Self::OFFSET_SHIFT;

    /// The offset is counted in clock ticks from the start of the invocation.
    #[inline(always)]
    pub(crate) fn new(offset: u64, iteration: u32, child: u8) -> Mark {
        let offset_bits = offset.min(Self::LAST_OFFSET) << Self::OFFSET_SHIFT;
        let iteration_bits = u64::from(iteration).min(Self::LAST_ITERATION) << Self::CHILD_BITS;
        Mark(offset_bits | iteration_bits | u64::from(child))
    }

    pub(crate) fn offset(self) -> u64 {
        self.0 >> Self::OFFSET_SHIFT
    }

    fn iteration(self) -> u32 {
        (self.0 >> Self::CHILD_BITS & Self::LAST_ITERATION) as u32
    }

    #[inline(always)]
    fn child(self) -> u8 {
        self.0 as u8
    }

    /// Whether the mark is an entry of a record: the poll of a child, or the end of an iteration.
    #[inline(always)]
    pub(crate) fn is_entry(self) -> bool {
        self.child() != OWN_CODE
    }

    pub(crate) fn as_own_code(self) -> Mark {
        Mark::new(self.offset(), self.iteration(), OWN_CODE)
    }
}

/// Takes the marks of a record from the ring. Call this for every record, in order.
pub(crate) fn take(marks: &mut Consumer<Mark>, raw: &RawRecord) -> Vec<Mark> {
    let chunk = marks.read_chunk(raw.marks.into());
    chunk.into_iter().flatten().collect()
}

/// The polls of children and the ends of iterations that the marks stand for. `off_cpu_ns` returns how long the
/// thread was off the CPU between two times.
pub(crate) fn parts(
    marks: &[Mark],
    raw: &RawRecord,
    clock: &Clock,
    off_cpu_ns: impl Fn(u64, u64) -> u64,
) -> (Vec<ChildPoll>, Vec<IterationEnd>) {
    let (mut polls, mut ends) = (Vec::new(), Vec::new());
    let ns = |ticks| clock.delta_as_nanos(0, ticks);
    for (at, mark) in marks.iter().enumerate() {
        let (offset, iterations) = (mark.offset(), mark.iteration());
        let end = marks.get(at + 1).map_or(raw.ticks, |next| next.offset());
        match mark.child() {
            OWN_CODE => {}
            NO_CHILD => ends.push(IterationEnd {
                iterations,
                own_ns: ns(offset).saturating_sub(off_cpu_ns(raw.start, raw.start + offset)),
            }),
            child => polls.push(ChildPoll {
                child: raw.child(child),
                iteration: iterations,
                offset_ns: ns(offset),
                duration_ns: ns(end.saturating_sub(offset)),
                off_cpu_ns: off_cpu_ns(raw.start + offset, raw.start + end),
            }),
        }
    }
    (polls, ends)
}
