//! What the turns of a cell are too short for, or too different.

use run_format::{BASELINE, Pass, SliceRow};

use super::metric::Metric;
use crate::load::LoadedRun;

#[derive(Clone, Debug, Default)]
pub(crate) struct Turns {
    /// Most requests were sent before the turn that they were answered in, so under any variant.
    is_short_for_requests: bool,
    /// Variants that had fewer turns than the baseline in some blocks. Noise that changes from block to block has
    /// another weight in them.
    pub(crate) fewer: Vec<usize>,
}

impl Turns {
    pub(super) fn of(runs: &[LoadedRun], variants: usize) -> Turns {
        let rows = runs.iter().flat_map(|run| &run.slices).map(|it| &it.row);
        let compared = rows.filter(|row| row.pass == Pass::Compare);
        let sum =
            |count: fn(&SliceRow) -> Option<u64>| compared.clone().filter_map(count).sum::<u64>();
        let has_fewer = |variant: &usize| {
            runs.iter().any(|run| {
                let turns = |block: &[usize], at: usize| run.slices[block[at]].row.turns;
                let mut blocks = run.blocks.iter();
                blocks.any(|block| turns(block, *variant) < turns(block, BASELINE))
            })
        };
        Turns {
            is_short_for_requests: 2 * sum(|row| row.requests_begun_before)
                > sum(|row| row.requests),
            fewer: (0..variants).filter(has_fewer).collect(),
        }
    }

    /// Whether a change of the metric would be that of several variants at once.
    pub(crate) fn blur(&self, metric: Metric) -> bool {
        self.is_short_for_requests && metric.info().is_of_requests
    }
}
