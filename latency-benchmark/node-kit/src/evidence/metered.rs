//! Counts of polls and of their children: what they allocated, what the processor counted.

use std::collections::BTreeMap;

use anyhow::Result;
use poll_probe::METERS;
use run_format::files::{ALLOCATIONS, COUNTERS};
use run_format::{AllocationRow, CounterRow, CounterScope, Site, TableWriters};
use slices::{PollPlace, WholePolls};

use super::meter::{BYTES, OBJECTS};
use super::moments::add;
use super::watch::Watch;

/// With what the counters of the process counted meanwhile.
pub(super) fn write_counters(
    tables: &mut TableWriters,
    slice: u32,
    polls: &WholePolls,
    watch: &Watch,
    of_process: Vec<u64>,
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
    for (place, (_, counts)) in sums(polls) {
        let counts = watch.counter_names.iter().zip(counts);
        let rows = counts.map(|count| row(CounterScope::Poll, place, count));
        tables.rows(COUNTERS, rows)?;
    }
    let counts = watch.process_counters.names().iter().zip(of_process);
    let of_process = |count| row(CounterScope::Process, PollPlace::default(), count);
    tables.rows(COUNTERS, counts.map(of_process))
}

pub(super) fn write_allocations(
    tables: &mut TableWriters,
    slice: u32,
    polls: &WholePolls,
) -> Result<()> {
    let sums = sums(polls).into_iter();
    let rows = sums.map(|(place, (polls, counts))| AllocationRow {
        slice,
        site: place.site,
        child: place.child.map(Into::into),
        from_ns: place.from_ns,
        polls: Some(polls),
        objects: counts[OBJECTS],
        bytes: counts[BYTES],
    });
    tables.rows(ALLOCATIONS, rows)
}

/// The number of polls of each place, and what was counted in them. An invocation's own code has what its reading has
/// beyond those of its children.
fn sums(polls: &WholePolls) -> BTreeMap<PollPlace, (u64, [u64; METERS])> {
    let mut sums = BTreeMap::new();
    for poll in Site::ALL.iter().flat_map(|site| polls.of(*site)) {
        for reading in &poll.readings {
            let place = poll.place(reading.child);
            let (polls, counts) = sums.entry(place).or_insert((0, [0; METERS]));
            *polls += 1;
            add(counts, reading.counts);
        }
    }
    sums
}
