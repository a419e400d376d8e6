//! Chooses the cells of a sweep to explain: the slowest ones, or those that the user names.

use std::path::Path;

use anyhow::Result;
use program::{Failure, bad_input, reject};
use run_format::plan::sums::{SliceSums, sums_by_variant};
use run_format::{BASELINE, Cell, ChosenBecause, ChosenCell, SweepConfig};

use crate::args::refuse_twice;
use crate::sweep::run_folder::RunFolder;

#[derive(Clone, Debug)]
pub(super) struct Chosen {
    pub(super) cell: Cell,
    pub(super) row: ChosenCell,
}

pub(super) struct CellSums {
    pub(super) cell: Cell,
    variants: Vec<SliceSums>,
}

/// Every cell of the sweep in `dir` that has a measured run. If the sweep has subjects, the run is one of the first subject.
pub(super) fn measured(config: &SweepConfig, dir: &Path) -> Result<Vec<CellSums>, Failure> {
    let mut cells = Vec::new();
    let subject = (!config.subjects.is_empty()).then_some(0);
    for cell in config.axes.cells() {
        let mut variants = vec![SliceSums::default(); config.variants.len()];
        for run in 1..=config.repeat {
            let run_dir = RunFolder::new(dir, &cell.id(), run, subject);
            if run_dir.measured().is_none() {
                continue;
            }
            let sums = sums_by_variant(&run_dir.done(), variants.len()).map_err(bad_input)?;
            for (sum, more) in variants.iter_mut().zip(sums) {
                *sum = sum.plus(more);
            }
        }
        if variants.iter().all(|sums| sums.seconds > 0.0) {
            cells.push(CellSums { cell, variants });
        }
    }
    if cells.is_empty() {
        reject!("SWEEP {}: it has no measured cell", dir.display());
    }
    Ok(cells)
}

pub(super) fn asked_for(measured: &[CellSums], ids: &[String]) -> Result<Vec<Chosen>, Failure> {
    refuse_twice("--cell", ids)?;
    let mut chosen = Vec::new();
    for id in ids {
        let Some(found) = measured.iter().find(|cell| cell.cell.id() == *id) else {
            let known: Vec<String> = measured.iter().map(|cell| cell.cell.id()).collect();
            reject!(
                "--cell {id}: no such cell was measured (accepted: {})",
                known.join(", ")
            );
        };
        chosen.push(found.chosen(chosen.len() + 1, ChosenBecause::Asked));
    }
    Ok(chosen)
}

/// The `count` cells with the most time beyond the threshold. Cells with a delay have few polls, so the worst of those is
/// added.
pub(super) fn worst(measured: &[CellSums], count: usize) -> Vec<Chosen> {
    let mut cells: Vec<&CellSums> = measured.iter().collect();
    cells.sort_by(|a, b| b.beyond_ms_per_s().total_cmp(&a.beyond_ms_per_s()));
    let ranked = (1..=count).zip(&cells);
    let most = ranked.map(|(rank, cell)| cell.chosen(rank, ChosenBecause::BeyondTime));
    let mut chosen: Vec<Chosen> = most.collect();
    let mut with_delay = cells.iter().filter(|cell| !cell.cell.rtt_ms.is_zero());
    if let Some(slowest) = with_delay.next()
        && slowest.beyond_ms_per_s() > 0.0
        && !chosen.iter().any(|chosen| chosen.cell == slowest.cell)
    {
        chosen.push(slowest.chosen(chosen.len() + 1, ChosenBecause::BeyondTimeWithDelay));
    }
    chosen
}

impl CellSums {
    fn beyond_ms_per_s(&self) -> f64 {
        self.variants[BASELINE].beyond_ms_per_s()
    }

    fn chosen(&self, rank: usize, why: ChosenBecause) -> Chosen {
        Chosen {
            cell: self.cell,
            row: ChosenCell {
                id: self.cell.id(),
                rank,
                why,
                beyond_ms_per_s: self.beyond_ms_per_s(),
            },
        }
    }
}

/// The variant among `candidates` with the least time beyond the threshold over the chosen cells.
pub(super) fn best_of(
    candidates: &[usize],
    measured: &[CellSums],
    chosen: &[Chosen],
) -> Option<usize> {
    let time = |variant: usize| -> f64 {
        let is_chosen = |cell: &&CellSums| chosen.iter().any(|chosen| chosen.cell == cell.cell);
        let cells = measured.iter().filter(is_chosen);
        let times = cells.map(|cell| cell.variants[variant].beyond_ms_per_s());
        times.sum()
    };
    let candidates = candidates.iter().copied();
    candidates.min_by(|&a, &b| time(a).total_cmp(&time(b)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(id: &str, beyond_ms: [u64; 2]) -> CellSums {
        let config = id.split(' ').collect::<Vec<_>>();
        let cell = Cell {
            payload_bytes: config[0].parse().expect("a payload"),
            rtt_ms: config[1].parse().expect("a round trip"),
            peers: config[2].parse().expect("a number"),
        };
        let variants = beyond_ms.map(|ms| SliceSums {
            beyond_ns: 1_000_000 * ms,
            seconds: 1.0,
            ..SliceSums::default()
        });
        CellSums {
            cell,
            variants: variants.to_vec(),
        }
    }

    #[test]
    fn the_worst_are_those_with_the_most_time_and_one_with_a_delay() {
        let cells = [
            measured("4KiB 0 1", [20, 1]),
            measured("256KiB 0 5", [90, 9]),
            measured("256KiB 0 2", [50, 0]),
            measured("256KiB 200 1", [1, 1]),
            measured("256KiB 5 1", [6, 5]),
        ];
        let chosen = worst(&cells, 2);
        let told: Vec<(&str, ChosenBecause, usize)> = chosen
            .iter()
            .map(|chosen| (&*chosen.row.id, chosen.row.why, chosen.row.rank))
            .collect();
        let [time, with_delay] = [
            ChosenBecause::BeyondTime,
            ChosenBecause::BeyondTimeWithDelay,
        ];
        assert_eq!(
            told,
            [
                ("pl262144_rtt000_n05", time, 1),
                ("pl262144_rtt000_n02", time, 2),
                ("pl262144_rtt005_n01", with_delay, 3),
            ]
        );
        assert_eq!(best_of(&[0, 1], &cells, &chosen), Some(1));
        assert_eq!(worst(&cells, 4).len(), 4);
    }
}
