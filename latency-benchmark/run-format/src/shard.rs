//! A part of a sweep, for one of several machines.

use std::{
    cmp::Reverse,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::{config::SweepConfig, grid::Cell};

/// The part `index`, from 1, of `of`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shard {
    pub index: u32,
    pub of: u32,
}

impl Shard {
    /// The folder of this part of a sweep.
    pub fn folder(self, sweep: &Path) -> PathBuf {
        let name = sweep.file_name().unwrap_or_default().to_string_lossy();
        sweep.with_file_name(format!("{name}-shard-{}-of-{}", self.index, self.of))
    }

    /// All parts.
    pub fn all(self) -> impl Iterator<Item = Shard> {
        (1..=self.of).map(move |index| Shard { index, ..self })
    }
}

impl SweepConfig {
    /// The cells of the grid, or those of the shard. The longest cells are dealt out first, each to the shard that has
    /// least to do. Among equally long ones the seed decides, so that no shard has all cells of one kind.
    pub fn cells(&self) -> Vec<Cell> {
        let cells = self.axes.cells();
        let Some(shard) = self.shard else {
            return cells;
        };
        let by_chance = |cell: &Cell| Sha256::digest(format!("{} {}", self.seed, cell.id()));
        let mut dealt: Vec<(u64, usize)> = (0..)
            .zip(&cells)
            .map(|(at, cell)| (self.takes_ms(*cell), at))
            .collect();
        dealt.sort_by_cached_key(|(ms, at)| (Reverse(*ms), by_chance(&cells[*at])));
        // More shards than cells have nothing to do.
        let mut loads = vec![0; cells.len().min(shard.of as usize).max(1)];
        let mut ours = Vec::new();
        for (ms, at) in dealt {
            let least = (0..loads.len()).min_by_key(|it| loads[*it]).unwrap_or(0);
            loads[least] += ms;
            if least + 1 == shard.index as usize {
                ours.push(at);
            }
        }
        ours.sort_unstable();
        ours.into_iter().map(|at| cells[at]).collect()
    }

    /// About how long a run of the cell takes if its time is not scaled. So all shards of a sweep agree, before and after
    /// its time is fitted.
    fn takes_ms(&self, cell: Cell) -> u64 {
        const AROUND_MS: u64 = 1000;
        let rtt_ms = cell.rtt_ms.ms();
        let measuring_ms = Self::measuring_ms(rtt_ms) as u64;
        // Connecting and warming up take about ten round trips.
        AROUND_MS + (10.0 * rtt_ms) as u64 + self.max_cell_ms.unwrap_or(measuring_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{files::read_versioned, grid::Axes, manifest::Manifest, payload::Payload};

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
    fn every_cell_is_in_one_shard_and_shards_take_as_long() {
        for of in [1, 2, 5, 7, 120] {
            let shards = Shard { index: 1, of }.all().map(config);
            let shards: Vec<(u64, Vec<Cell>)> = shards
                .map(|config| {
                    let cells = config.cells();
                    (cells.iter().map(|cell| config.takes_ms(*cell)).sum(), cells)
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
    fn no_shard_has_all_cells_of_one_kind() {
        // As many as there are numbers of peers, which a plain deal would sort out.
        for shard in (Shard { index: 1, of: 5 }).all() {
            let mut peers: Vec<usize> = config(shard).cells().iter().map(|it| it.peers).collect();
            peers.sort_unstable();
            peers.dedup();
            assert!(peers.len() > 2, "{shard:?}: {peers:?}");
        }
    }
}
