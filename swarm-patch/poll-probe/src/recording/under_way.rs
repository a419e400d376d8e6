//! The marks and readings of the invocations that are under way. The invocations of a thread nest, so marks and readings are
//! stacks, and those of the innermost invocation are last. When an invocation ends, its marks and readings are moved to a
//! ring together, just before its record.

use rtrb::{Consumer, Producer, RingBuffer};

use super::marks::Mark;

/// The parts of a stack that belong to one invocation, as four numbers of 16 bits: the index of the first part, the number of
/// parts, how many of them are entries, and how many entries are missing. With four fields, polls of children were 6 % more
/// expensive.
#[derive(Clone, Copy, Default)]
pub(crate) struct InvocationParts(u64);

impl InvocationParts {
    const FIRST: u32 = 0;
    const COUNT: u32 = 16;
    const ENTRIES: u32 = 32;
    const LOST: u32 = 48;

    fn number(self, at: u32) -> u16 {
        (self.0 >> at) as u16
    }

    fn first(self) -> u16 {
        self.number(Self::FIRST)
    }

    pub(crate) fn count(self) -> u16 {
        self.number(Self::COUNT)
    }

    /// The number of missing entries. If the parts were not stored, all entries are missing.
    pub(crate) fn lost(self, is_stored: bool) -> u16 {
        let stored = u16::from(!is_stored) * self.number(Self::ENTRIES);
        self.number(Self::LOST).saturating_add(stored)
    }

    /// Counts a mark that found no room.
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

/// A stack, whose capacity never grows, and the ring.
pub(crate) struct UnderWay<T> {
    stack: Vec<T>,
    ring: Producer<T>,
}

impl<T: Copy + Default> UnderWay<T> {
    pub(crate) fn new(capacity: usize) -> (UnderWay<T>, Consumer<T>) {
        let (ring, emptying) = resident(capacity);
        let mut stack = Vec::with_capacity(capacity.min(u16::MAX.into()));
        stack.resize(stack.capacity(), T::default());
        stack.clear();
        (UnderWay { stack, ring }, emptying)
    }

    #[inline(always)]
    fn add(&mut self, parts: &mut InvocationParts, part: T, is_entry: bool) {
        if parts.0 == 0 {
            parts.0 = self.stack.len() as u64;
        }
        self.stack.push(part);
        parts.0 += 1 << InvocationParts::COUNT | u64::from(is_entry) << InvocationParts::ENTRIES;
    }

    /// Adds a part. If there is no room, forgets all parts of the invocation.
    pub(crate) fn push_or_forget(
        &mut self,
        mut parts: InvocationParts,
        part: T,
    ) -> Option<InvocationParts> {
        if self.stack.len() == self.stack.capacity() {
            self.forget(parts);
            return None;
        }
        self.add(&mut parts, part, true);
        Some(parts)
    }

    pub(crate) fn forget(&mut self, parts: InvocationParts) {
        if parts.count() > 0 {
            self.stack.truncate(parts.first().into());
        }
    }

    /// Moves the parts of an invocation that ends to the ring. Returns how many parts were moved, and how many entries are
    /// lost. No part is moved if the ring is full, or if the parts are not the last ones: then the invocation does not nest,
    /// or a recorder was attached meanwhile.
    #[inline]
    pub(crate) fn end(&mut self, parts: InvocationParts) -> (u16, u16) {
        let first = usize::from(parts.first());
        let is_last = first + usize::from(parts.count()) == self.stack.len();
        let is_stored = is_last && self.ring.push_entire_slice(&self.stack[first..]).is_ok();
        self.forget(parts);
        (u16::from(is_stored) * parts.count(), parts.lost(is_stored))
    }
}

impl UnderWay<Mark> {
    #[inline(always)]
    pub(crate) fn push(&mut self, parts: &mut InvocationParts, mark: Mark) {
        // One place is kept for the end of the last child that found room.
        if self.stack.len() + 1 >= self.stack.capacity() {
            return self.cut(parts, mark);
        }
        self.add(parts, mark, mark.is_entry());
    }

    #[cold]
    fn cut(&mut self, parts: &mut InvocationParts, mark: Mark) {
        if parts.count() > 0 && self.stack.len() < self.stack.capacity() {
            self.add(parts, mark.as_own_code(), false);
        }
        parts.lose(mark);
    }
}

/// A ring whose pages were all written once, so that no invocation causes a page fault.
pub(crate) fn resident<T: Default>(capacity: usize) -> (Producer<T>, Consumer<T>) {
    let (mut filling, emptying) = RingBuffer::new(capacity);
    drop(filling.write_chunk(capacity)); // This writes all places, and leaves none to read.
    (filling, emptying)
}
