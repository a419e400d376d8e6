//! Counts of polls and of their children: what they allocated, what the processor counted.

use std::collections::BTreeMap;

use anyhow::Result;
use poll_probe::METERS;
use run_format::Site;
use run_format::{
    evidence::{AllocationRow, CounterRow, CounterScope},
    files::{ALLOCATIONS, COUNTERS},
    table::TableWriters,
};
use thread_scope::Counters;

use super::{
    meter::{BYTES, OBJECTS},
    moments::add,
};
use crate::observe::{
    sums::Sums,
    whole_polls::{PollPlace, WholePolls},
};

pub(super) struct Metered {
    names: Vec<String>,
    process: Option<Counters>,
    /// The process's counters at the beginning of the slice. Absent where the kernel fails to tell, as is `during`.
    before: Option<Vec<u64>>,
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
            before: None,
            during: None,
        }
    }

    pub(super) fn begin(&mut self) {
        self.before = self.of_the_process();
    }

    pub(super) fn end(&mut self) {
        self.during = self.of_the_process().since(self.before.take());
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
        let row = |scope, place: PollPlace, (name, count): (&String, u64)| CounterRow {
            slice,
            scope,
            site: place.site,
            child: place.child.map(Into::into),
            from_ns: place.from_ns,
            counter: name.clone(),
            count,
        };
        for (place, sum) in sums(polls) {
            let counts = self.names.iter().zip(sum.counts);
            let rows = counts.map(|count| row(CounterScope::Poll, place, count));
            tables.rows(COUNTERS, rows)?;
        }
        let names = self.process.iter().flat_map(Counters::names);
        let counts = names.zip(self.during.take().unwrap_or_default());
        let of_the_process = |count| row(CounterScope::Process, PollPlace::default(), count);
        tables.rows(COUNTERS, counts.map(of_the_process))
    }
}

pub(super) fn write_allocations(
    tables: &mut TableWriters,
    slice: u32,
    polls: &WholePolls,
) -> Result<()> {
    let rows = sums(polls).into_iter().map(|(place, sum)| AllocationRow {
        slice,
        site: place.site,
        child: place.child.map(Into::into),
        from_ns: place.from_ns,
        polls: Some(sum.polls),
        objects: sum.counts[OBJECTS],
        bytes: sum.counts[BYTES],
    });
    tables.rows(ALLOCATIONS, rows)
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
