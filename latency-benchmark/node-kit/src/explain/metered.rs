//! Writes what polls and their children allocated, and what the processor counted in them.

use std::collections::BTreeMap;

use anyhow::Result;
use node_ab::slices::{PollPlace, PollsWithChildren};
use poll_probe::MAX_COUNTERS;
use run_format::files::{ALLOCATIONS, COUNTERS};
use run_format::{OBJECTS, POLLS, Site, TableWriters};

use super::instruments::Instruments;
use super::meter;

/// Writes the counts of polls, and those of the whole process during the slice, which belong to no poll.
pub(super) fn write_counters(
    tables: &mut TableWriters,
    slice: u32,
    polls: &PollsWithChildren,
    instruments: &Instruments,
    process_counts: Vec<u64>,
) -> Result<()> {
    for (place, (_, counts)) in sums(polls) {
        let counts = instruments.file.counters.iter().flatten().zip(counts);
        let rows = counts.map(|(name, count)| place.row(slice, name.clone(), count, None));
        tables.rows(COUNTERS, rows)?;
    }
    let counts = instruments
        .process_counters
        .names()
        .iter()
        .zip(process_counts);
    let nowhere = PollPlace::default();
    let rows = counts.map(|(name, count)| nowhere.row(slice, name.clone(), count, None));
    tables.rows(COUNTERS, rows)
}

pub(super) fn write_allocations(
    tables: &mut TableWriters,
    slice: u32,
    polls: &PollsWithChildren,
) -> Result<()> {
    for (place, (polls, counts)) in sums(polls) {
        let (objects, bytes) = (counts[meter::OBJECTS], counts[meter::BYTES]);
        let polls = place.row(slice, POLLS, polls, None);
        let objects = place.row(slice, OBJECTS, objects, Some(bytes));
        tables.rows(ALLOCATIONS, [polls, objects])?;
    }
    Ok(())
}

/// The number of polls of each place, and what was counted in them. A reading without a child is that of
/// the site's own code, and already excludes the children.
fn sums(polls: &PollsWithChildren) -> BTreeMap<PollPlace, (u64, [u64; MAX_COUNTERS])> {
    let mut sums = BTreeMap::new();
    for poll in Site::ALL.iter().flat_map(|site| polls.at_site(*site)) {
        for reading in &poll.readings {
            let place = poll.place(reading.child);
            let (polls, counts) = sums.entry(place).or_insert((0, [0; MAX_COUNTERS]));
            *polls += 1;
            for (sum, count) in counts.iter_mut().zip(reading.counts) {
                *sum += count;
            }
        }
    }
    sums
}
