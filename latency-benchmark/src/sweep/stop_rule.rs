//! Whether the launches of a cell are enough to compare its subjects.

use anyhow::Result;
use plan::{changes::Changes, slow_polls};
use run_format::config::SweepConfig;

use super::{run_dir::RunDir, schedule::Launch};

pub(super) struct StopRule<'a> {
    config: &'a SweepConfig,
    block: u32,
    is_enough: bool,
    /// Of every variant of every subject.
    changes: Changes,
}

impl StopRule<'_> {
    pub(super) fn new(config: &SweepConfig) -> StopRule<'_> {
        StopRule {
            config,
            block: 0,
            is_enough: false,
            changes: Changes::new(config.subjects.len() * config.variants.len()),
        }
    }

    /// Whether the launch is not needed any more. A block that has begun is finished.
    pub(super) fn is_enough_without(&mut self, launch: &Launch) -> bool {
        if launch.subject.is_some() && self.block != launch.run {
            self.block = launch.run;
            let (precision, workload) = (self.config.precision, self.config.node.workload);
            let changes = &self.changes;
            self.is_enough |= changes.are_within(precision, workload.has_answers(), |_| false);
        }
        self.is_enough
    }

    pub(super) fn add(&mut self, launch: &Launch, run_dir: &RunDir) -> Result<()> {
        let (Some(subject), Some(_)) = (launch.subject, run_dir.measured()) else {
            return Ok(());
        };
        let variants = self.config.variants.len();
        let sums = slow_polls::read(&run_dir.done(), variants)?;
        for (variant, slices) in sums.into_iter().enumerate() {
            self.changes.add(subject * variants + variant, slices);
        }
        Ok(())
    }
}
