//! Whether the launches of a cell tell enough about its subjects.

use std::path::Path;

use anyhow::Result;

use super::schedule::Launch;
use crate::{
    grid::Cell,
    slices::estimate::Estimates,
    store::{manifest::SweepConfig, slow_polls},
};

/// What is known of the cell whose launches it is the turn of.
pub(super) struct Known<'a> {
    config: &'a SweepConfig,
    cell: Option<Cell>,
    block: u32,
    is_enough: bool,
    estimates: Estimates,
}

impl Known<'_> {
    pub(super) fn nothing(config: &SweepConfig) -> Known<'_> {
        Known {
            config,
            cell: None,
            block: 0,
            is_enough: false,
            estimates: nothing_of(config),
        }
    }

    /// Whether the launch is not needed any more. A block that was begun is needed whole.
    pub(super) fn is_enough_without(&mut self, launch: &Launch) -> bool {
        if launch.subject.is_none() {
            return false;
        }
        if self.cell != Some(launch.cell) {
            *self = Known {
                cell: Some(launch.cell),
                ..Known::nothing(self.config)
            };
        }
        if self.block != launch.run {
            self.block = launch.run;
            let answers = self.config.node.workload.has_answers();
            self.is_enough |= self.estimates.are_within(self.config.precision, answers);
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
            self.estimates
                .add(subject * variants + variant, of.slow, of.polls, of.requests);
        }
        Ok(())
    }
}

/// A ratio for every variant of every subject.
fn nothing_of(config: &SweepConfig) -> Estimates {
    Estimates::new(config.subjects.len() * config.variants.len())
}
