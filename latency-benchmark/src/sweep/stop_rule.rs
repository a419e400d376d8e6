//! Whether the launches of a cell are enough to compare its subjects.

use std::path::Path;

use anyhow::Result;
use plan::{changes::Changes, slow_polls};
use run_format::{config::SweepConfig, grid::Cell};

use super::schedule::Launch;

/// What is known of the cell that is being measured.
pub(super) struct StopRule<'a> {
    config: &'a SweepConfig,
    cell: Option<Cell>,
    block: u32,
    is_enough: bool,
    changes: Changes,
}

impl StopRule<'_> {
    pub(super) fn nothing(config: &SweepConfig) -> StopRule<'_> {
        StopRule {
            config,
            cell: None,
            block: 0,
            is_enough: false,
            changes: nothing_of(config),
        }
    }

    /// Whether the launch is not needed any more. A block that has begun is finished.
    pub(super) fn is_enough_without(&mut self, launch: &Launch) -> bool {
        if launch.subject.is_none() {
            return false;
        }
        if self.cell != Some(launch.cell) {
            *self = StopRule {
                cell: Some(launch.cell),
                ..StopRule::nothing(self.config)
            };
        }
        if self.block != launch.run {
            self.block = launch.run;
            let answers = self.config.node.workload.has_answers();
            self.is_enough |= self
                .changes
                .are_within(self.config.precision, answers, |_| false);
        }
        self.is_enough
    }

    /// Takes in a launch that was measured into the folder `run`.
    pub(super) fn add(&mut self, launch: &Launch, run: &Path) -> Result<()> {
        let Some(subject) = launch.subject else {
            return Ok(());
        };
        let variants = self.config.variants.len();
        for (variant, of) in slow_polls::read(run, variants)?.into_iter().enumerate() {
            self.changes.add(subject * variants + variant, of);
        }
        Ok(())
    }
}

/// A place for every variant of every subject.
fn nothing_of(config: &SweepConfig) -> Changes {
    Changes::new(config.subjects.len() * config.variants.len())
}
