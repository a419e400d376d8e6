//! What was stored of an invocation apart from its record, and has to be found for it again.

use std::collections::HashMap;

use rtrb::Consumer;

use crate::{
    Site,
    record::{RawReading, RawSpan},
};

/// Names an invocation within a thread: its site and start.
pub(crate) type Key = (Site, u64);

pub(crate) trait Part: Copy {
    fn invocation(&self) -> Key;

    /// A time within the invocation.
    fn ticks(&self) -> u64;
}

impl Part for RawSpan {
    fn invocation(&self) -> Key {
        (self.site, self.invocation)
    }

    fn ticks(&self) -> u64 {
        self.invocation + self.offset
    }
}

impl Part for RawReading {
    fn invocation(&self) -> Key {
        (self.site, self.invocation)
    }

    fn ticks(&self) -> u64 {
        self.at
    }
}

/// The parts of one kind, of one thread.
pub(crate) struct Parts<T> {
    emptying: Consumer<T>,
    /// Read before the record that they belong to: those of an invocation around another one.
    early: HashMap<Key, Vec<T>>,
}

impl<T: Part> Parts<T> {
    pub(crate) fn new(emptying: Consumer<T>) -> Self {
        Parts {
            emptying,
            early: HashMap::new(),
        }
    }

    /// The parts of an invocation that ended then, all of which were stored before its record, until
    /// they are all. There are fewer if some were forgotten, or stored in other buffers before this
    /// recorder was attached.
    pub(crate) fn take(&mut self, key: Key, end: u64, are_all: impl Fn(&[T]) -> bool) -> Vec<T> {
        let mut own = self.early.remove(&key).unwrap_or_default();
        while !are_all(&own) {
            let Some(part) = self.stored_by(end) else {
                break;
            };
            match part.invocation() {
                of if of == key => own.push(part),
                of => self.early.entry(of).or_default().push(part),
            }
        }
        own
    }

    fn stored_by(&mut self, ticks: u64) -> Option<T> {
        if self.emptying.peek().ok()?.ticks() > ticks {
            return None;
        }
        self.emptying.pop().ok()
    }

    /// Makes room in the ring: what is still there of the time before this drain belongs to
    /// invocations under way, or to records that were lost, and nothing would ever ask for it. What
    /// is younger may belong to records that the next drain finds.
    pub(crate) fn set_aside(&mut self, began: u64) {
        while let Some(part) = self.stored_by(began) {
            self.early.entry(part.invocation()).or_default().push(part);
        }
    }

    /// Parts whose record was lost never find it. No more invocations than this nest. If one that is
    /// under way is taken for an orphan after all, because it is older than so many of those, its
    /// record counts what is missing.
    pub(crate) fn forget_orphans(&mut self) {
        const NESTED: usize = 64;
        if self.early.len() > NESTED {
            let mut starts: Vec<u64> = self.early.keys().map(|(_, start)| *start).collect();
            starts.sort_unstable();
            let oldest_kept = starts[starts.len() - NESTED];
            self.early.retain(|(_, start), _| *start >= oldest_kept);
        }
    }
}
