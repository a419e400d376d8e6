//! Collects evidence. Each kind has slices of its own.

use anyhow::Result;
use node_ab::slices::ObservedSlice;
use run_format::plan::block::{PlannedSlice, to_explain};
use run_format::{BlockReport, ExplainPlan, Pass, SliceRow};

use super::Purpose;
use crate::explain::{Evidence, Instruments};
use crate::measure::changes::Changes;
use crate::observed_central::ObservedCentral;

pub(super) struct Explain {
    plan: ExplainPlan,
    evidence: Evidence,
    /// The number of variants.
    variants: usize,
}

impl Explain {
    pub(super) fn new(
        plan: ExplainPlan,
        instruments: Instruments,
        central: &ObservedCentral,
    ) -> Result<Explain> {
        let (activity, sites) = (central.activity.clone(), central.sites.clone());
        Ok(Explain {
            plan,
            evidence: Evidence::create(instruments, activity, sites, &central.task.dir)?,
            variants: central.task.config.variants.len(),
        })
    }

    /// The variants whose slow polls need more samples of stacks.
    fn lacking(&self) -> impl Iterator<Item = usize> {
        let variants = self.plan.variants.iter().copied();
        variants.filter(|variant| self.evidence.lacks_stacks(*variant))
    }
}

impl Purpose for Explain {
    fn slices_of_block(&self, number: u32, _: usize) -> Vec<PlannedSlice> {
        if number <= self.plan.blocks {
            let is_available = |pass| self.evidence.instruments.is_available(pass);
            return to_explain(&self.plan, is_available);
        }
        self.lacking()
            .map(|variant| PlannedSlice::new(Pass::Stacks, variant))
            .collect()
    }

    fn has_one_turn(&self) -> bool {
        true
    }

    fn prepare(&mut self, pass: Pass) {
        self.evidence.instruments.prepare(pass);
    }

    fn begin(&mut self, pass: Pass) -> bool {
        self.evidence.begin(pass);
        true
    }

    /// Evidence belongs to a slice by its time alone, so the polls of two slices must not overlap.
    fn waits_for_late_polls(&self) -> bool {
        false
    }

    fn collect(&mut self) {
        self.evidence.collect();
    }

    fn end_turn(&mut self, pass: Pass) {
        self.evidence.end(pass);
    }

    fn write_slice(&mut self, row: &SliceRow, observed: &mut ObservedSlice) -> Result<()> {
        self.evidence.write(row, observed)
    }

    fn report(&self, mut report: BlockReport, _: &Changes) -> Option<BlockReport> {
        let samples = (0..self.variants).map(|variant| self.evidence.slow_samples(variant));
        report.slow_samples = samples.collect();
        Some(report)
    }

    fn is_enough(&self, blocks: u32, _: &dyn Fn() -> bool) -> bool {
        blocks >= self.plan.blocks && self.lacking().next().is_none()
    }

    fn has_time_limit(&self, blocks: u32) -> bool {
        blocks >= self.plan.blocks
    }

    fn finish(self: Box<Self>) -> Result<()> {
        self.evidence.finish()
    }
}
