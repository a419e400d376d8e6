//! What an invocation did when, in eight bytes each.
//!
//! Invocations of a thread nest. So the marks of those under way are a stack: those of the innermost one are its end. They
//! are moved to the ring together when it ends, just before its record.

use quanta::Clock;
use rtrb::{Consumer, Producer};

use crate::record::{ChildPoll, IterationEnd, NO_CHILD, OWN_CODE, RawRecord};

/// From some time on, and up to the next mark or the end of the invocation, the time is a child's or the poll function's own
/// ([`OWN_CODE`]). [`NO_CHILD`] is that after the end of an iteration.
#[derive(Clone, Copy, Default)]
pub(crate) struct Mark(u64);

impl Mark {
    const CHILD_BITS: u32 = u8::BITS;
    const ITERATION_BITS: u32 = 20;
    const OFFSET_SHIFT: u32 = Self::CHILD_BITS + Self::ITERATION_BITS;
    const LAST_ITERATION: u64 = (1 << Self::ITERATION_BITS) - 1;
    /// Some 20 seconds.
    const LAST_OFFSET: u64 = u64::MAX >> Self::OFFSET_SHIFT;

    /// The offset is counted in clock ticks from the start of the invocation.
    #[inline(always)]
    pub(crate) fn new(offset: u64, iteration: u32, child: u8) -> Mark {
        let offset = offset.min(Self::LAST_OFFSET) << Self::OFFSET_SHIFT;
        let iteration = u64::from(iteration).min(Self::LAST_ITERATION) << Self::CHILD_BITS;
        Mark(offset | iteration | u64::from(child))
    }

    fn offset(self) -> u64 {
        self.0 >> Self::OFFSET_SHIFT
    }

    fn iteration(self) -> u32 {
        (self.0 >> Self::CHILD_BITS & Self::LAST_ITERATION) as u32
    }

    #[inline(always)]
    fn child(self) -> u8 {
        self.0 as u8
    }

    /// Whether it is the poll of a child or the end of an iteration.
    #[inline(always)]
    fn is_entry(self) -> bool {
        self.child() != OWN_CODE
    }

    fn as_own(self) -> Mark {
        Mark::new(self.offset(), self.iteration(), OWN_CODE)
    }
}

/// Which of the marks under way are those of an invocation, in four numbers of 16 bits: the index of the first, how many there
/// are, how many of them are entries, and how many entries are missing.
#[derive(Clone, Copy)]
pub(crate) struct OwnMarks(u64);

impl OwnMarks {
    pub(crate) const NONE: OwnMarks = OwnMarks(0);
    const COUNT: u32 = 16;
    const ENTRIES: u32 = 32;
    const LOST: u32 = 48;

    fn number(self, at: u32) -> u16 {
        (self.0 >> at) as u16
    }

    /// There is no room for this one.
    #[cold]
    pub(crate) fn lose(&mut self, mark: Mark) {
        if self.number(Self::LOST) < u16::MAX {
            self.0 += u64::from(mark.is_entry()) << Self::LOST;
        }
    }

    #[inline(always)]
    pub(crate) fn are_none(self) -> bool {
        self.0 == 0
    }
}

/// The marks of invocations under way on a thread. It never grows.
pub(crate) struct UnderWay(Vec<Mark>);

impl UnderWay {
    /// Every page is written once, so that no invocation causes a page fault.
    pub(crate) fn new(capacity: usize) -> UnderWay {
        let mut marks = vec![Mark::new(0, 1, OWN_CODE); capacity.min(u16::MAX.into())];
        marks.clear();
        UnderWay(marks)
    }

    #[inline(always)]
    pub(crate) fn push(&mut self, own: &mut OwnMarks, mark: Mark) {
        if own.0 == 0 {
            own.0 = self.0.len() as u64;
        }
        // One place is kept for the end of the last child that has a place.
        if self.0.len() + 1 >= self.0.capacity() {
            return self.cut(own, mark);
        }
        self.0.push(mark);
        own.0 += 1 << OwnMarks::COUNT | u64::from(mark.is_entry()) << OwnMarks::ENTRIES;
    }

    #[cold]
    fn cut(&mut self, own: &mut OwnMarks, mark: Mark) {
        if self.0.len() < self.0.capacity() && own.number(OwnMarks::COUNT) > 0 {
            self.0.push(mark.as_own());
            own.0 += 1 << OwnMarks::COUNT;
        }
        own.lose(mark);
    }

    pub(crate) fn forget(&mut self, own: OwnMarks) {
        if own.number(OwnMarks::COUNT) > 0 {
            self.0.truncate(own.number(0).into());
        }
    }

    /// Moves the marks of an invocation that ends to the ring. They are lost if the ring is full, if `has_room` says that
    /// there is none for the record, or if they are not the end of those under way: then the invocation does not nest, or a
    /// recorder was attached meanwhile. Returns how many are stored, and how many entries are lost.
    #[inline(never)]
    pub(crate) fn end(
        &mut self,
        own: OwnMarks,
        ring: &mut Producer<Mark>,
        has_room: bool,
    ) -> (u16, u16) {
        let count = own.number(OwnMarks::COUNT);
        let marks = self.0.get(own.number(0).into()..).unwrap_or_default();
        let is_last = marks.len() == count.into();
        let is_stored = is_last && has_room && ring.push_entire_slice(marks).is_ok();
        self.forget(own);
        let lost = own.number(OwnMarks::LOST);
        match is_stored {
            true => (count, lost),
            false => (0, lost.saturating_add(own.number(OwnMarks::ENTRIES))),
        }
    }
}

/// What the marks of a record say. It has to be called for every record, in order.
pub(crate) fn take(
    marks: &mut Consumer<Mark>,
    raw: &RawRecord,
    clock: &Clock,
) -> (Vec<ChildPoll>, Vec<IterationEnd>) {
    let (mut polls, mut ends) = (Vec::new(), Vec::new());
    let own = marks.read_chunk(raw.marks.into());
    let mut own = own.into_iter().flatten().peekable();
    while let Some(mark) = own.next() {
        let (offset, iterations) = (mark.offset(), mark.iteration());
        let offset_ns = clock.delta_as_nanos(0, offset);
        let end = own.peek().map_or(raw.ticks, |next| next.offset());
        match mark.child() {
            OWN_CODE => {}
            NO_CHILD => ends.push(IterationEnd {
                iterations,
                offset_ns,
            }),
            child => polls.push(ChildPoll {
                child: raw.child(child),
                iteration: iterations,
                offset_ns,
                duration_ns: clock.delta_as_nanos(0, end.saturating_sub(offset)),
            }),
        }
    }
    (polls, ends)
}
