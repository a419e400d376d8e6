//! What the turns of a cell are too short for, or too different.

use run_format::tables::Pass;
use run_format::variant::BASELINE;

use super::metric::Metric;
use crate::load::LoadedRun;

#[derive(Clone, Debug, Default)]
pub(crate) struct Turns {
    /// Most requests were sent before the turn that they were answered in, so under any variant.
    is_short_for_requests: bool,
    /// Variants that had fewer turns than the baseline in some blocks. Noise that changes from block to block has
    /// another weight in them.
    fewer: Vec<usize>,
}

impl Turns {
    pub(super) fn of(runs: &[LoadedRun], variants: usize) -> Turns {
        let slices = runs.iter().flat_map(|run| &run.slices);
        let compared = slices.filter(|slice| slice.row.pass == Pass::Compare);
        let (before, all) = compared.fold((0, 0), |(before, all), slice| {
            let row = &slice.row;
            let count = |requests: Option<u64>| requests.unwrap_or(0);
            (
                before + count(row.requests_begun_before),
                all + count(row.requests),
            )
        });
        let has_fewer = |variant: &usize| {
            runs.iter().any(|run| {
                let turns = |block: &[usize], at: usize| run.slices[block[at]].row.turns;
                let mut blocks = run.blocks.iter();
                blocks.any(|block| turns(block, *variant) < turns(block, BASELINE))
            })
        };
        Turns {
            is_short_for_requests: 2 * before > all,
            fewer: (0..variants).filter(has_fewer).collect(),
        }
    }

    /// Whether a change of the metric would be that of several variants at once.
    pub(crate) fn blur(&self, metric: Metric) -> bool {
        self.is_short_for_requests && metric.info().is_of_requests
    }

    /// Whether the variant differs from the baseline by more than noise, even if it changes nothing.
    pub(crate) fn are_fewer(&self, variant: usize) -> bool {
        self.fewer.contains(&variant)
    }
}
