//! What launches for different purposes do differently while they measure.

mod beside_tcp;
mod compare;
mod explain;
mod soak;

use anyhow::{Context, Result};
use node_ab::slices::ObservedSlice;
use run_format::plan::block::PlannedSlice;
use run_format::{BASELINE, BlockReport, Measurement, Pass, Role, SliceRow, SoakRow};

use self::beside_tcp::BesideTcp;
use self::compare::Compare;
use self::explain::Explain;
use self::soak::Soak;
use super::changes::Changes;
use super::sample::Clocks;
use crate::connected::Connected;
use crate::observe::activity::Activity;

/// What slices are for. Without a method of its own, a purpose does what a comparison does.
pub(super) trait Purpose {
    /// Whether this variant is to get everything going before the first block.
    fn warms_up(&self, variant: usize, _: Role) -> bool {
        variant == BASELINE
    }

    /// The slices of the block with that number.
    fn block(&self, number: u32, variants: usize) -> Vec<PlannedSlice>;

    /// Whether each slice has one turn.
    fn has_one_turn(&self) -> bool {
        false
    }

    /// Ends the turn before and begins one of `slice`. After the last one there is none.
    fn switch(&self, _: Option<PlannedSlice>) -> Result<()> {
        Ok(())
    }

    /// Arranges, while the turn settles, what the next slice needs from its start.
    fn prepare(&mut self, _: Pass) {}

    /// Begins a slice. Returns whether the slice keeps its polls as they are.
    fn begin(&mut self, _: Pass) -> bool {
        false
    }

    /// Whether a slice gets polls that began in a turn until the next turn is over. Without that, long ones would be
    /// missing more often than short ones.
    fn waits_for_late_polls(&self) -> bool {
        true
    }

    /// Empties buffers before they are full.
    fn collect(&mut self) {}

    fn end_turn(&mut self, _: Pass, _: &Activity) {}

    /// Whether changes are computed from the slices.
    fn has_changes(&self) -> bool {
        true
    }

    /// The row that is reported instead of a slice.
    fn soak_row(&self, _: &ObservedSlice, _: &Clocks) -> Option<SoakRow> {
        None
    }

    /// Writes what the slice kept beside its row.
    fn keep(&mut self, _: &SliceRow, _: &mut ObservedSlice) -> Result<()> {
        Ok(())
    }

    /// Completes the report of a block, if there is one.
    fn report(&self, report: BlockReport, _: &Changes) -> Option<BlockReport> {
        Some(report)
    }

    /// Whether it is known well enough after that number of blocks. `is_precise` says whether the changes are.
    fn is_enough(&self, _: u32, _: &dyn Fn() -> bool) -> bool {
        false
    }

    /// Whether, after that number of blocks, none begins that would end after the planned time.
    fn has_time_limit(&self, _: u32) -> bool {
        true
    }

    /// Writes what is kept for the whole run.
    fn finish(self: Box<Self>) -> Result<()> {
        Ok(())
    }
}

/// The purpose of the launch that the task names. It takes what only that purpose needs.
pub(super) fn of_launch(central: &mut Connected) -> Result<Box<dyn Purpose>> {
    let config = &central.task.config;
    Ok(match &config.measurement {
        Measurement::Compare => Box::new(Compare {
            ends_when_precise: config.subject.is_none(),
        }),
        Measurement::BesideTcp => {
            let turns = central.turns.take();
            let turns = turns.context("nothing switches between libp2p and raw TCP")?;
            Box::new(BesideTcp::new(turns, config))
        }
        Measurement::Explain(plan) => {
            let watch = central.watch.take();
            let watch = watch.context("nothing collects evidence")?;
            Box::new(Explain::new(plan.clone(), watch, central)?)
        }
        Measurement::Soak(_) => Box::new(Soak::new(central)),
    })
}
