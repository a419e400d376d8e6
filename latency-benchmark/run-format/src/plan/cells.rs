//! The cells and launches of a sweep.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::{Cell, JobsConfig, Placement, SweepConfig};
use sha2::{Digest, Sha256};

use super::run::{launches_of_cell, measuring_ms};

/// The cells of the grid, or those of the shard. Cells are dealt out, the longest first, each to the shard that has least to
/// do. The seed decides the order of equally long cells, so that no shard has all cells of one kind.
pub fn cells(sweep: &SweepConfig) -> Vec<Cell> {
    let cells = sweep.axes.cells();
    let Some(shard) = sweep.shard else {
        return cells;
    };
    let by_chance = |cell: &Cell| Sha256::digest(format!("{} {}", sweep.seed, cell.id()));
    let mut longest_first: Vec<usize> = (0..cells.len()).collect();
    longest_first.sort_by_cached_key(|&number| {
        let cell = &cells[number];
        (Reverse(takes_ms(sweep, *cell)), by_chance(cell))
    });
    // With more shards than cells, the last shards have no cell.
    let shards = cells.len().min(shard.of as usize);
    let mut loads: BinaryHeap<_> = (1..=shards).map(|index| Reverse((0, index))).collect();
    let mut ours = Vec::new();
    for number in longest_first {
        let Some(mut least) = loads.peek_mut() else {
            break;
        };
        let Reverse((load, index)) = &mut *least;
        *load += takes_ms(sweep, cells[number]);
        if *index == shard.index as usize {
            ours.push(number);
        }
    }
    ours.sort_unstable();
    ours.into_iter().map(|number| cells[number]).collect()
}

/// About how long the runs of the cell take. The scale of a sweep's time is left out, so that fitting a sweep into a time does
/// not deal its cells anew.
fn takes_ms(sweep: &SweepConfig, cell: Cell) -> u64 {
    const AROUND_MS: u64 = 1000;
    let rtt_ms = cell.rtt_ms.ms();
    let longest_ms = sweep.max_cell_ms.unwrap_or(measuring_ms(rtt_ms) as u64);
    // Connecting and warming up take about ten round trips.
    let run_ms = AROUND_MS + (10.0 * rtt_ms) as u64 + longest_ms;
    run_ms * u64::from(launches_of_cell(sweep, cell))
}

/// The number of launches of a sweep, or of one of its shards. All shards count the same, because they have one plan.
fn launch_count(sweep: &SweepConfig) -> usize {
    let cells = sweep.axes.cells().into_iter();
    let launches: u64 = cells
        .map(|cell| u64::from(launches_of_cell(sweep, cell)))
        .sum();
    let shards = sweep.shard.map_or(1, |shard| shard.of as usize);
    (launches as usize * sweep.subjects.len().max(1)).div_ceil(shards)
}

/// The jobs of the sweep in these places. The launches that are also measured alone take about a tenth of the time.
pub fn jobs_in(places: Vec<Placement>, sweep: &SweepConfig) -> JobsConfig {
    let launches = launch_count(sweep);
    let a_tenth = launches / (10 * places.len());
    let alone = a_tenth.max(FEWEST_PAIRS).min(launches);
    JobsConfig { places, alone }
}

/// An interval of fewer pairs is too wide to be useful.
pub const FEWEST_PAIRS: usize = 4;

/// The factor by which jobs shorten a sweep.
pub fn speedup(sweep: &SweepConfig) -> f64 {
    let Some(jobs) = &sweep.jobs else {
        return 1.0;
    };
    1.0 / (1.0 / jobs.places.len() as f64 + jobs.alone as f64 / launch_count(sweep) as f64)
}

#[cfg(test)]
mod tests {
    use crate::files::read_versioned;
    use crate::{Axes, Manifest, Payload, Shard};

    use super::*;

    /// The committed sweep's kind, over the default grid.
    fn config(shard: Shard) -> SweepConfig {
        let fixture = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../tests/fixture/manifest.json"
        );
        let manifest: Manifest = read_versioned(fixture.as_ref()).expect("the fixture");
        let rtts = ["0", "5", "25", "50", "100", "200"].map(|ms| ms.parse().expect("a time"));
        SweepConfig {
            axes: Axes {
                peers: vec![1, 2, 5, 10, 15],
                rtt_ms: rtts.to_vec(),
                payload_bytes: [4, 16, 64, 256].map(Payload::kib).to_vec(),
                only: Vec::new(),
            },
            max_cell_ms: None,
            shard: Some(shard),
            ..manifest.config
        }
    }

    #[test]
    fn a_tenth_of_the_time_of_a_shard_is_for_launches_alone() {
        let config = SweepConfig {
            repeat: 10,
            far_repeat: None,
            ..config(Shard { index: 3, of: 8 })
        };
        let jobs = jobs_in(vec![config.lab.placement.clone(); 2], &config);
        assert_eq!((cells(&config).len(), jobs.alone), (15, 7));
    }

    #[test]
    fn every_cell_is_in_one_shard_and_shards_take_as_long() {
        for of in [1, 2, 5, 7, 120] {
            let shards = Shard { index: 1, of }.all().map(config);
            let shards: Vec<(u64, Vec<Cell>)> = shards
                .map(|config| {
                    let cells = cells(&config);
                    (
                        cells.iter().map(|cell| takes_ms(&config, *cell)).sum(),
                        cells,
                    )
                })
                .collect();
            let mut ids: Vec<String> = shards
                .iter()
                .flat_map(|(_, cells)| cells.iter().map(Cell::id))
                .collect();
            ids.sort();
            ids.dedup();
            assert_eq!(ids.len(), 120, "{of} shards");
            let times = || shards.iter().map(|(ms, _)| *ms);
            let longest_cell_ms = 19_400;
            let apart_ms = times().max().unwrap_or(0) - times().min().unwrap_or(0);
            assert!(apart_ms <= longest_cell_ms, "{of} shards: {apart_ms} ms");
        }
    }

    #[test]
    fn far_cells_have_their_own_number_of_launches() {
        let config = SweepConfig {
            repeat: 3,
            far_repeat: Some(2),
            shard: None,
            ..config(Shard { index: 1, of: 1 })
        };
        let launches_at = |rtt_ms: &str| {
            let rtt_ms = rtt_ms.parse().expect("a time");
            let cell = Cell {
                rtt_ms,
                ..config.axes.cells()[0]
            };
            launches_of_cell(&config, cell)
        };
        assert_eq!(["0", "50", "50.1", "200"].map(launches_at), [3, 3, 2, 2]);
        assert_eq!(launch_count(&config), 80 * 3 + 40 * 2);
    }

    #[test]
    fn as_many_shards_as_cells_are_dealt_in_time_and_launches_are_counted_without_an_overflow() {
        let of = 100_000;
        let mut config = config(Shard { index: of, of });
        config.axes.payload_bytes = (0..of).map(Payload::of_bytes).collect();
        config.axes.rtt_ms.truncate(1);
        config.axes.peers.truncate(1);
        assert_eq!(cells(&config).len(), 1);
        (config.repeat, config.shard) = (of, None);
        assert_eq!(launch_count(&config), 10_000_000_000);
    }

    #[test]
    fn no_shard_has_all_cells_of_one_kind() {
        // As many as there are numbers of peers, which a plain deal would sort out.
        for shard in (Shard { index: 1, of: 5 }).all() {
            let mut peers: Vec<usize> = cells(&config(shard))
                .iter()
                .map(|cell| cell.peers)
                .collect();
            peers.sort_unstable();
            peers.dedup();
            assert!(peers.len() > 2, "{shard:?}: {peers:?}");
        }
    }
}
