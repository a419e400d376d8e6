//! The differences between launches for different purposes while they measure.

mod beside_tcp;
mod compare;
mod explain;
mod soak;

use anyhow::{Context, Result};
use node_ab::slices::ObservedSlice;
use run_format::plan::block::{PlannedSlice, to_compare};
use run_format::{BASELINE, BlockReport, Measurement, Pass, Role, SliceRow, SoakRow};

use self::beside_tcp::Libp2pAndRawTcp;
use self::compare::Compare;
use self::explain::Explain;
use self::soak::Soak;
use super::changes::Changes;
use super::sample::QuickCounts;
use crate::observed_central::ObservedCentral;

/// The purpose of a launch. The default methods are those of a comparison.
pub(super) trait Purpose {
    /// Whether this variant has a slice for warming up before the first block.
    fn warms_up(&self, variant: usize, _: Role) -> bool {
        variant == BASELINE
    }

    /// The slices of a block.
    fn slices_of_block(&self, number: u32, variants: usize) -> Vec<PlannedSlice> {
        to_compare(number, variants)
    }

    /// Whether each slice has one turn.
    fn has_one_turn(&self) -> bool {
        false
    }

    /// Ends the turn before and begins a turn of a slice. After the last turn, there is none.
    fn switch(&self, _: Option<PlannedSlice>) -> Result<()> {
        Ok(())
    }

    /// Prepares what the next slice needs from its start. This is called while the turn settles.
    fn prepare(&mut self, _: Pass) {}

    /// Begins a slice. Returns whether the slice keeps its polls with their children.
    fn begin(&mut self, _: Pass) -> bool {
        false
    }

    /// Whether a slice gets polls of its turn until the next turn is over. Otherwise long polls would be missing more often
    /// than short ones.
    fn waits_for_late_polls(&self) -> bool {
        true
    }

    /// Empties buffers before they are full.
    fn collect(&mut self) {}

    fn end_turn(&mut self, _: Pass) {}

    /// The row that is reported instead of a slice.
    fn soak_row(&self, _: &ObservedSlice, _: &QuickCounts) -> Option<SoakRow> {
        None
    }

    /// Writes the evidence of a slice.
    fn write_slice(&mut self, _: &SliceRow, _: &mut ObservedSlice) -> Result<()> {
        Ok(())
    }

    /// Completes the report of a block, if there is one.
    fn report(&self, report: BlockReport, _: &Changes) -> Option<BlockReport> {
        Some(report)
    }

    /// Whether the launch can end after this number of blocks. `is_precise` says whether the changes are known well enough.
    fn is_enough(&self, _: u32, _: &dyn Fn() -> bool) -> bool {
        false
    }

    /// Whether the planned time limits the launch after this number of blocks.
    fn has_time_limit(&self, _: u32) -> bool {
        true
    }

    /// Writes what is known only at the end of the run.
    fn finish(self: Box<Self>) -> Result<()> {
        Ok(())
    }
}

/// The slices of a block of a comparison without those that only record children.
fn without_children(number: u32, variants: usize) -> Vec<PlannedSlice> {
    let mut slices = to_compare(number, variants);
    slices.retain(|slice| slice.pass == Pass::Compare);
    slices
}

/// The purpose of the launch that the task names. It takes what only that purpose needs out of `central`.
pub(super) fn purpose_of_launch(central: &mut ObservedCentral) -> Result<Box<dyn Purpose>> {
    let config = &central.task.config;
    Ok(match &config.measurement {
        Measurement::Compare => Box::new(Compare {
            ends_when_precise: config.subject.is_none(),
        }),
        Measurement::Libp2pAndRawTcp => {
            let lacks_switch = "nothing switches between libp2p and raw TCP";
            let switch = central.path_switch.take().context(lacks_switch)?;
            Box::new(Libp2pAndRawTcp::new(switch, config))
        }
        Measurement::Explain(plan) => {
            let instruments = central
                .instruments
                .take()
                .context("nothing collects evidence")?;
            Box::new(Explain::new(plan.clone(), instruments, central)?)
        }
        Measurement::Soak(_) => Box::new(Soak::new(central)),
    })
}
