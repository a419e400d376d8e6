//! The order of a sweep. The first launches go through all cells, in a random order. Each repetition has a random order of its
//! own, and later ones may leave out cells with long round trips. If subjects are compared, each of them is launched, and they
//! take turns.

use std::collections::HashSet;
use std::path::Path;
use std::time::Duration;

use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use run_format::files::alone_folder;
use run_format::plan::run::launches_of_cell;
use run_format::{Cell, RunConfig, SweepConfig, plan};

use super::run_folder::RunFolder;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Launch {
    pub(crate) cell: Cell,
    /// The number of the run, from 1.
    pub(crate) run: u32,
    /// Index into the subjects, if there are some.
    pub(crate) subject: Option<usize>,
    /// Whether it is measured while no other is, to be compared with the same launch beside others.
    pub(crate) is_alone: bool,
    pub(super) seed: u64,
}

/// All launches in their order. The same configuration always gives the same order.
pub(super) fn schedule(config: &SweepConfig) -> Vec<Launch> {
    let mut rng = StdRng::seed_from_u64(config.seed);
    let mut launches = Vec::new();
    let subjects: Vec<Option<usize>> = match config.subjects.len() {
        0 => vec![None],
        subjects => (0..subjects).map(Some).collect(),
    };
    for run in 1..=config.repeat {
        let mut cells = config.axes.cells();
        cells.retain(|cell| run <= launches_of_cell(config, *cell));
        cells.shuffle(&mut rng);
        for cell in cells {
            // All subjects see the same orders of variants and the same keys.
            let seed = u64::from(rng.random::<u32>());
            launches.extend(subjects.iter().map(|subject| Launch {
                cell,
                run,
                subject: *subject,
                is_alone: false,
                seed,
            }));
        }
    }
    if config.shard.is_some() {
        // The launches keep the seeds that they have in the whole sweep.
        let ours: HashSet<String> = plan::cells::cells(config).iter().map(Cell::id).collect();
        launches.retain(|launch| ours.contains(&launch.cell.id()));
    }
    launches
}

impl Launch {
    pub(super) fn config(&self, config: &SweepConfig) -> RunConfig {
        let jobs = config.jobs.as_ref().map(|jobs| match self.is_alone {
            true => 1,
            false => jobs.places.len(),
        });
        RunConfig {
            jobs,
            ..plan::run::launch_config(config, self.cell, self.run, self.subject, self.seed)
        }
    }

    pub(super) fn name(&self, config: &SweepConfig) -> String {
        let alone = if self.is_alone { ", alone" } else { "" };
        match self.subject {
            Some(subject) => {
                let label = &config.subjects[subject].label;
                format!("run {}, {label}{alone}", self.run)
            }
            None => format!("run {}{alone}", self.run),
        }
    }

    pub(super) fn run_dir(&self, sweep: &Path) -> RunFolder {
        let mut run_dir = RunFolder::new(sweep, &self.cell.id(), self.run, self.subject);
        if self.is_alone {
            run_dir.name = alone_folder(&run_dir.name);
        }
        run_dir
    }

    /// The time that the launch takes if the changes are never known well enough.
    pub(super) fn longest(&self, config: &SweepConfig) -> Duration {
        plan::block::planned_time(&self.config(config)) + self.overhead()
    }

    /// The time for the lab, for connecting and for the end, in which nothing is measured.
    pub(super) fn overhead(&self) -> Duration {
        Duration::from_secs(1) + 6 * self.cell.rtt_ms.duration()
    }
}
