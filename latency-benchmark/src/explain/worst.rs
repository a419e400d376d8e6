//! Which cells of a sweep are worth an explanation.

use std::path::Path;

use anyhow::Result;
use plan::sums::{SliceSums, of_run};
use program::{Failure, bad_input, reject};
use run_format::{Cell, ChosenBecause, ChosenCell, SweepConfig};

use crate::args::refuse_twice;
use crate::sweep::run_dir::RunDir;

#[derive(Clone, Debug)]
pub(super) struct Chosen {
    pub(super) cell: Cell,
    pub(super) row: ChosenCell,
}

pub(super) struct MeasuredCell {
    pub(super) cell: Cell,
    slow: Vec<SliceSums>,
}

/// Every cell of the sweep in `dir` of which there is a measured run; of subjects, one of the first.
pub(super) fn measured(config: &SweepConfig, dir: &Path) -> Result<Vec<MeasuredCell>, Failure> {
    let mut cells = Vec::new();
    let subject = (!config.subjects.is_empty()).then_some(0);
    for cell in config.axes.cells() {
        let mut slow = vec![SliceSums::default(); config.variants.len()];
        for run in 1..=config.repeat {
            let run_dir = RunDir::new(dir, &cell.id(), run, subject);
            if run_dir.measured().is_none() {
                continue;
            }
            let read = of_run(&run_dir.done(), slow.len()).map_err(bad_input)?;
            for (sum, of) in slow.iter_mut().zip(read) {
                *sum = sum.plus(of);
            }
        }
        if slow.iter().all(|of| of.polls > 0) {
            cells.push(MeasuredCell { cell, slow });
        }
    }
    if cells.is_empty() {
        reject!("RUN {}: it has no measured cell", dir.display());
    }
    Ok(cells)
}

pub(super) fn asked_for(measured: &[MeasuredCell], ids: &[String]) -> Result<Vec<Chosen>, Failure> {
    refuse_twice("--cell", ids)?;
    let mut chosen = Vec::new();
    for id in ids {
        let Some(found) = measured.iter().find(|cell| cell.cell.id() == *id) else {
            let known: Vec<String> = measured.iter().map(|cell| cell.cell.id()).collect();
            let known = known.join(", ");
            reject!("--cell {id}: no such cell was measured (accepted: {known})");
        };
        chosen.push(found.chosen(chosen.len() + 1, ChosenBecause::Asked));
    }
    Ok(chosen)
}

/// The `count` cells with the most time in slow polls and, since a cell of few polls is not among them
/// however slow they are, the one with a delay that has the largest share of slow polls.
pub(super) fn worst(measured: &[MeasuredCell], count: usize) -> Vec<Chosen> {
    let by = |of: fn(&SliceSums) -> f64| {
        let mut cells: Vec<&MeasuredCell> = measured.iter().collect();
        cells.sort_by(|a, b| of(&b.slow[0]).total_cmp(&of(&a.slow[0])));
        cells
    };
    let chosen = (1..=count).zip(by(SliceSums::slow_ms_per_s));
    let chosen = chosen.map(|(rank, of)| of.chosen(rank, ChosenBecause::SlowTime));
    let mut chosen: Vec<Chosen> = chosen.collect();
    let mut by_ratio = by(SliceSums::slow_percent).into_iter();
    if let Some(slowest) = by_ratio.find(|of| !of.cell.rtt_ms.is_zero() && of.slow[0].slow > 0)
        && !chosen.iter().any(|chosen| chosen.cell == slowest.cell)
    {
        chosen.push(slowest.chosen(chosen.len() + 1, ChosenBecause::SlowRatio));
    }
    chosen
}

impl MeasuredCell {
    fn chosen(&self, rank: usize, why: ChosenBecause) -> Chosen {
        Chosen {
            cell: self.cell,
            row: ChosenCell {
                id: self.cell.id(),
                rank,
                why,
                slow_ms_per_s: Some(self.slow[0].slow_ms_per_s()),
                slow_percent: Some(self.slow[0].slow_percent()),
            },
        }
    }
}

/// The variant among `candidates` that spends the least time in slow polls over the chosen cells.
pub(super) fn best_of(
    candidates: &[usize],
    measured: &[MeasuredCell],
    chosen: &[Chosen],
) -> Option<usize> {
    let time = |variant: usize| -> f64 {
        let is_chosen = |of: &&MeasuredCell| chosen.iter().any(|chosen| chosen.cell == of.cell);
        let cells = measured.iter().filter(is_chosen);
        cells.map(|of| of.slow[variant].slow_ms_per_s()).sum()
    };
    let candidates = candidates.iter().copied();
    candidates.min_by(|&a, &b| time(a).total_cmp(&time(b)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(id: &str, rates: [(u64, u64, u64); 2]) -> MeasuredCell {
        let config = id.split(' ').collect::<Vec<_>>();
        let cell = Cell {
            payload_bytes: config[0].parse().expect("a payload"),
            rtt_ms: config[1].parse().expect("a round trip"),
            peers: config[2].parse().expect("a number"),
        };
        let slow = rates.map(|(polls, slow, slow_ns)| SliceSums {
            polls,
            slow,
            slow_ns,
            seconds: 1.0,
            ..SliceSums::default()
        });
        MeasuredCell {
            cell,
            slow: slow.to_vec(),
        }
    }

    #[test]
    fn the_worst_are_those_with_the_most_slow_time_and_one_with_the_largest_ratio() {
        let cells = [
            measured("4KiB 0 1", [(1000, 10, 1_000_000), (1000, 1, 1)]),
            measured(
                "256KiB 0 5",
                [(1000, 100, 90_000_000), (1000, 9, 9_000_000)],
            ),
            measured("256KiB 0 2", [(1000, 900, 50_000_000), (1000, 0, 0)]),
            measured("256KiB 200 1", [(10, 6, 600_000), (10, 5, 500_000)]),
        ];
        let chosen = worst(&cells, 2);
        let told: Vec<(String, ChosenBecause, usize)> = chosen
            .iter()
            .map(|chosen| (chosen.cell.id(), chosen.row.why, chosen.row.rank))
            .collect();
        assert_eq!(
            told,
            [
                ("pl262144_rtt000_n05".to_owned(), ChosenBecause::SlowTime, 1),
                ("pl262144_rtt000_n02".to_owned(), ChosenBecause::SlowTime, 2),
                (
                    "pl262144_rtt200_n01".to_owned(),
                    ChosenBecause::SlowRatio,
                    3
                ),
            ]
        );
        assert_eq!(best_of(&[0, 1], &cells, &chosen), Some(1));
        assert_eq!(worst(&cells, 4).len(), 4);
    }
}
