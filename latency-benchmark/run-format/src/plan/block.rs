//! The slices that a block is made of, and the time that they take.

use std::time::Duration;

use crate::{BASELINE, ExplainPlan, Measurement, Pass, Plan, RunConfig};

/// A slice of a block: its variant, and what is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlannedSlice {
    pub pass: Pass,
    pub variant: usize,
}

impl PlannedSlice {
    pub fn new(pass: Pass, variant: usize) -> PlannedSlice {
        PlannedSlice { pass, variant }
    }
}

/// The slices of a block in which variants are compared: one of every variant, and in some blocks one more of the baseline, in
/// which children are recorded. Early blocks have that slice more often, so that short runs have several, too.
pub fn to_compare(block: u32, variants: usize) -> Vec<PlannedSlice> {
    const FIRST: u32 = 8;
    let every = if block < FIRST { 2 } else { 4 };
    let compared = (0..variants).map(|variant| PlannedSlice::new(Pass::Compare, variant));
    let children_slice = PlannedSlice::new(Pass::Children, BASELINE);
    let children = (block % every == 1).then_some(children_slice);
    compared.chain(children).collect()
}

/// The slices of a block in which a cell is explained: one for every kind of evidence and every variant, and two of the
/// baseline without evidence. `there_is` says which kinds of evidence are available.
pub fn to_explain(config: &ExplainPlan, there_is: impl Fn(Pass) -> bool) -> Vec<PlannedSlice> {
    const VARIANT_PASSES: [Pass; 6] = [
        Pass::Stacks,
        Pass::Allocations,
        Pass::Counters,
        Pass::SystemCalls,
        Pass::Timeline,
        Pass::Activity,
    ];
    let passes = VARIANT_PASSES.into_iter().filter(|pass| there_is(*pass));
    let variants = config.variants.iter();
    let slices = passes.flat_map(|pass| {
        let variants = variants.clone();
        variants.map(move |variant| PlannedSlice::new(pass, *variant))
    });
    let normal = PlannedSlice::new(Pass::Normal, BASELINE);
    slices.chain([normal; 2]).collect()
}

/// The planned time of the run, warm-up included. Disturbed blocks are measured again, which may take up to a quarter longer.
pub fn planned_time(run: &RunConfig) -> Duration {
    // At least this number of blocks is measured, however short the time is.
    let least = match &run.measurement {
        Measurement::Explain(plan) => plan.blocks,
        _ => 1,
    };
    let measuring = (longest_block(run) * least).max(Duration::from_millis(run.plan.max_ms));
    Duration::from_millis(run.plan.warm_up_ms) + measuring
}

/// The time of a block that has every kind of evidence.
pub fn longest_block(run: &RunConfig) -> Duration {
    let slices = match &run.measurement {
        Measurement::Explain(plan) => to_explain(plan, |_| true).len(),
        Measurement::Compare => to_compare(1, run.variants.len()).len(),
        Measurement::Libp2pAndRawTcp => run.variants.len(),
        Measurement::Soak(_) => 1,
    };
    duration_of_slices(&run.plan, slices)
}

pub(crate) fn duration_of_slices(plan: &Plan, slices: usize) -> Duration {
    plan.turn() * plan.turns * slices as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_block_has_every_variant_once_and_some_have_the_children_of_the_baseline() {
        for block in 1..=13 {
            let slices = to_compare(block, 3);
            let compared: Vec<usize> = slices
                .iter()
                .filter(|slice| slice.pass == Pass::Compare)
                .map(|slice| slice.variant)
                .collect();
            assert_eq!(compared, [0, 1, 2]);
            let children = PlannedSlice {
                pass: Pass::Children,
                variant: BASELINE,
            };
            assert_eq!(
                slices.contains(&children),
                [1, 3, 5, 7, 9, 13].contains(&block),
                "{block}"
            );
        }
    }

    #[test]
    fn what_there_is_no_evidence_of_has_no_slice() {
        let config = ExplainPlan {
            variants: vec![0, 4],
            blocks: 1,
        };
        let slices = to_explain(&config, |pass| pass == Pass::Stacks);
        let stacks = |variant| PlannedSlice {
            pass: Pass::Stacks,
            variant,
        };
        let normal = PlannedSlice {
            pass: Pass::Normal,
            variant: BASELINE,
        };
        assert_eq!(slices, [stacks(0), stacks(4), normal, normal]);
        let all = to_explain(&config, |_| true);
        assert_eq!(all.len(), 14);
    }
}
