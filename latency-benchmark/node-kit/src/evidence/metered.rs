//! Counts of polls and of their children: what they allocated, what the processor counted.

use std::collections::BTreeMap;

use anyhow::Result;
use poll_probe::{METERS, Site};
use run_format::{
    evidence::{AllocationRow, CounterRow, CounterScope},
    files::{ALLOCATIONS, COUNTERS},
    table::TableWriters,
};
use thread_scope::Counters;

use super::{
    add,
    meter::{BYTES, OBJECTS},
};
use crate::observe::whole_polls::{PollPlace, WholePolls};

pub(super) struct Metered {
    names: Vec<String>,
    process: Option<Counters>,
    before: Vec<u64>,
    /// Absent where the kernel failed to tell.
    during: Option<Vec<u64>>,
}

/// The polls of a place, and what was counted in them.
#[derive(Default)]
struct MeteredSum {
    polls: u64,
    counts: [u64; METERS],
}

impl Metered {
    pub(super) fn new(names: Vec<String>, process: Option<Counters>) -> Metered {
        Metered {
            names,
            process,
            before: Vec::new(),
            during: None,
        }
    }

    pub(super) fn begin(&mut self) {
        self.before = self.of_the_process().unwrap_or_default();
    }

    pub(super) fn end(&mut self) {
        let before = std::mem::take(&mut self.before);
        let now = self.of_the_process();
        self.during = now.filter(|now| now.len() == before.len()).map(|now| {
            let difference = |(now, before): (u64, u64)| now.saturating_sub(before);
            now.into_iter().zip(before).map(difference).collect()
        });
    }

    fn of_the_process(&self) -> Option<Vec<u64>> {
        let process = self.process.as_ref()?;
        let mut counts = vec![0; process.names().len()];
        process.read(&mut counts).then_some(counts)
    }

    pub(super) fn write_counters(
        &mut self,
        tables: &mut TableWriters,
        slice: u32,
        polls: &WholePolls,
    ) -> Result<()> {
        let mut write = |scope, place: PollPlace, name: &String, count| {
            let row = CounterRow {
                slice,
                scope,
                site: place.site,
                child: place.child.map(Into::into),
                from_ns: place.from_ns,
                counter: name.clone(),
                count,
            };
            tables.row(COUNTERS, &row)
        };
        for (place, sum) in sums(polls) {
            for (name, count) in self.names.iter().zip(sum.counts) {
                write(CounterScope::Poll, place, name, count)?;
            }
        }
        let names = self.process.iter().flat_map(Counters::names);
        for (name, count) in names.zip(self.during.take().unwrap_or_default()) {
            write(CounterScope::Process, PollPlace::default(), name, count)?;
        }
        Ok(())
    }
}

pub(super) fn write_allocations(
    tables: &mut TableWriters,
    slice: u32,
    polls: &WholePolls,
) -> Result<()> {
    for (place, sum) in sums(polls) {
        let row = AllocationRow {
            slice,
            site: place.site,
            child: place.child.map(Into::into),
            from_ns: place.from_ns,
            polls: Some(sum.polls),
            objects: sum.counts[OBJECTS],
            bytes: sum.counts[BYTES],
        };
        tables.row(ALLOCATIONS, &row)?;
    }
    Ok(())
}

/// By place. An invocation's own code has what its reading has beyond those of its children.
fn sums(polls: &WholePolls) -> BTreeMap<PollPlace, MeteredSum> {
    let mut sums: BTreeMap<PollPlace, MeteredSum> = BTreeMap::new();
    for poll in Site::ALL.iter().flat_map(|site| polls.of(*site)) {
        for reading in &poll.readings {
            let sum = sums.entry(poll.place(reading.child)).or_default();
            sum.polls += 1;
            add(&mut sum.counts, reading.counts);
        }
    }
    sums
}
