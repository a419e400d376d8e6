//! Readings of the meter are stored apart from the record of their invocation. This module finds the ones that belong to a
//! record.

use std::collections::HashMap;

use rtrb::Consumer;

use crate::Site;
use crate::record::RawReading;

/// Identifies an invocation within a thread: its site and start.
pub(crate) type Key = (Site, u64);

impl RawReading {
    fn key(&self) -> Key {
        (self.site, self.invocation)
    }
}

/// The readings that one thread stored.
pub(crate) struct Readings {
    emptying: Consumer<RawReading>,
    /// Those that were found before their record: of an invocation around another one.
    early: HashMap<Key, Vec<RawReading>>,
}

impl Readings {
    pub(crate) fn new(emptying: Consumer<RawReading>) -> Self {
        Readings {
            emptying,
            early: HashMap::new(),
        }
    }

    /// The readings of the invocation `key`, which ended at `end`. All of them were stored before its
    /// record, and reading stops when `are_all` says so. Some are missing if they were forgotten, or
    /// if they went to the buffers of another recorder before this one was attached.
    pub(crate) fn take(
        &mut self,
        key: Key,
        end: u64,
        are_all: impl Fn(&[RawReading]) -> bool,
    ) -> Vec<RawReading> {
        let mut own = self.early.remove(&key).unwrap_or_default();
        while !are_all(&own) {
            let Some(reading) = self.stored_by(end) else {
                break;
            };
            match reading.key() == key {
                true => own.push(reading),
                false => self.early.entry(reading.key()).or_default().push(reading),
            }
        }
        own
    }

    fn stored_by(&mut self, ticks: u64) -> Option<RawReading> {
        if self.emptying.peek().ok()?.at > ticks {
            return None;
        }
        self.emptying.pop().ok()
    }

    /// Makes room in the ring. Readings older than this drain belong to invocations that still run or to
    /// lost records, so no record of this drain takes them. Younger ones may belong to records that
    /// the next drain finds.
    ///
    /// Forgets those whose record was lost, which are all but the youngest invocations. If a
    /// running invocation is among the forgotten ones, its record counts what is missing.
    pub(crate) fn tidy(&mut self, began: u64) {
        /// The most invocations that nest.
        const NESTED: usize = 64;
        while let Some(reading) = self.stored_by(began) {
            self.early.entry(reading.key()).or_default().push(reading);
        }
        if self.early.len() > NESTED {
            let mut starts: Vec<u64> = self.early.keys().map(|(_, start)| *start).collect();
            starts.sort_unstable();
            let oldest_kept = starts[starts.len() - NESTED];
            self.early.retain(|(_, start), _| *start >= oldest_kept);
        }
    }
}
