//! The order of a sweep: each repetition goes through all cells, in a random order of its own. Where
//! subjects are compared, each cell goes through its repetitions instead, which are blocks: a launch of
//! every subject, in random order.

use std::{collections::HashSet, time::Duration};

use plan::run::visits;
use rand::{RngExt, SeedableRng, rngs::StdRng, seq::SliceRandom};
use run_format::{
    config::{RunConfig, SweepConfig},
    grid::Cell,
};

/// A run to come.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Launch {
    pub(crate) cell: Cell,
    /// From 1.
    pub(crate) run: u32,
    /// Index into the subjects, if there are some.
    pub(crate) subject: Option<usize>,
    seed: u64,
}

/// The same for the same configuration, whenever it is asked for.
pub(super) fn schedule(config: &SweepConfig) -> Vec<Launch> {
    let mut rng = StdRng::seed_from_u64(config.seed);
    let mut launches = if config.subjects.is_empty() {
        by_repetition(config, &mut rng)
    } else {
        by_cell(config, &mut rng)
    };
    if config.shard.is_some() {
        // With the seeds that they have in the whole sweep.
        let ours: HashSet<String> = plan::cells::cells(config).iter().map(Cell::id).collect();
        launches.retain(|launch| ours.contains(&launch.cell.id()));
    }
    launches
}

fn by_repetition(config: &SweepConfig, rng: &mut StdRng) -> Vec<Launch> {
    let mut launches = Vec::new();
    for run in 1..=config.repeat {
        let mut cells = config.axes.cells();
        cells.retain(|cell| run <= visits(config, *cell));
        cells.shuffle(rng);
        for cell in cells {
            let seed = u64::from(rng.random::<u32>());
            launches.push(Launch {
                cell,
                run,
                subject: None,
                seed,
            });
        }
    }
    launches
}

fn by_cell(config: &SweepConfig, rng: &mut StdRng) -> Vec<Launch> {
    let mut launches = Vec::new();
    let mut cells = config.axes.cells();
    cells.shuffle(rng);
    for cell in cells {
        for run in 1..=config.repeat {
            // All subjects of a block see the same orders of variants and the same keys.
            let seed = u64::from(rng.random::<u32>());
            let mut subjects: Vec<usize> = (0..config.subjects.len()).collect();
            subjects.shuffle(rng);
            launches.extend(subjects.into_iter().map(|subject| Launch {
                cell,
                run,
                subject: Some(subject),
                seed,
            }));
        }
    }
    launches
}

impl Launch {
    pub(super) fn config(&self, config: &SweepConfig) -> RunConfig {
        plan::run::run(config, self.cell, self.run, self.subject, self.seed)
    }

    /// Which run it is, in words.
    pub(super) fn name(&self, config: &SweepConfig) -> String {
        match self.subject {
            Some(subject) => format!("block {}, {}", self.run, config.subjects[subject].label),
            None => format!("run {}", self.run),
        }
    }

    /// How long it takes if the ratios are never known well enough. At least one block runs.
    pub(super) fn longest(&self, config: &SweepConfig) -> Duration {
        plan::block::longest_run(&self.config(config)) + self.around()
    }

    /// What it takes beside measuring: the lab, connecting, and the end.
    pub(super) fn around(&self) -> Duration {
        Duration::from_secs(1) + 6 * self.cell.rtt_ms.duration()
    }
}
