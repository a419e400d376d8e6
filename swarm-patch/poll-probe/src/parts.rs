//! Child polls and meter readings are stored apart from the record of their invocation. This module
//! finds the ones that belong to a record.

use std::collections::HashMap;

use rtrb::Consumer;

use crate::Site;
use crate::record::Part;

/// Identifies an invocation within a thread: its site and start.
pub(crate) type Key = (Site, u64);

impl<T> Part<T> {
    fn key(&self) -> Key {
        (self.site, self.invocation)
    }
}

/// The parts of one kind that one thread stored.
pub(crate) struct Parts<T> {
    emptying: Consumer<Part<T>>,
    /// Parts that were read before their record: those of an invocation around another one.
    early: HashMap<Key, Vec<Part<T>>>,
}

impl<T: Copy> Parts<T> {
    pub(crate) fn new(emptying: Consumer<Part<T>>) -> Self {
        Parts {
            emptying,
            early: HashMap::new(),
        }
    }

    /// The parts of the invocation `key`, which ended at `end`. All of them were stored before its
    /// record, and reading stops when `are_all` says so. Some are missing if they were forgotten, or
    /// if they went to the buffers of another recorder before this one was attached.
    pub(crate) fn take(
        &mut self,
        key: Key,
        end: u64,
        are_all: impl Fn(&[Part<T>]) -> bool,
    ) -> Vec<Part<T>> {
        let mut own = self.early.remove(&key).unwrap_or_default();
        while !are_all(&own) {
            let Some(part) = self.stored_by(end) else {
                break;
            };
            match part.key() == key {
                true => own.push(part),
                false => self.early.entry(part.key()).or_default().push(part),
            }
        }
        own
    }

    fn stored_by(&mut self, ticks: u64) -> Option<Part<T>> {
        if self.emptying.peek().ok()?.at > ticks {
            return None;
        }
        self.emptying.pop().ok()
    }

    /// Makes room in the ring. Parts older than this drain belong to invocations that still run or to
    /// lost records, so no record of this drain takes them. Younger parts may belong to records that
    /// the next drain finds.
    ///
    /// Forgets parts whose record was lost, which are those of all but the youngest invocations. If a
    /// running invocation is among the forgotten ones, its record counts the missing parts.
    pub(crate) fn tidy(&mut self, began: u64) {
        /// The most invocations that nest.
        const NESTED: usize = 64;
        while let Some(part) = self.stored_by(began) {
            self.early.entry(part.key()).or_default().push(part);
        }
        if self.early.len() > NESTED {
            let mut starts: Vec<u64> = self.early.keys().map(|(_, start)| *start).collect();
            starts.sort_unstable();
            let oldest_kept = starts[starts.len() - NESTED];
            self.early.retain(|(_, start), _| *start >= oldest_kept);
        }
    }
}
