//! Two properties of turns that make means misleading: turns that are too short for requests, and variants with fewer turns.

use run_format::{BASELINE, Pass, SliceRow};

use super::metric::Metric;
use crate::load::{CompleteBlock, LoadedRun};

#[derive(Clone, Debug, Default)]
pub(crate) struct Turns {
    /// Whether most requests were sent before the turn in which they were answered. Another variant may have been active then.
    is_short_for_requests: bool,
    /// Variants of the first subject. Of other subjects only the first variant can differ from the baseline by noise alone.
    /// A block in which they had fewer turns than the baseline counts less for them than for the baseline, so noise that
    /// changes from block to block does not cancel out.
    pub(crate) variants_with_fewer_turns: Vec<usize>,
}

impl Turns {
    pub(super) fn examine(runs: &[LoadedRun], variants: usize) -> Turns {
        let rows = runs.iter().flat_map(LoadedRun::rows);
        let compared = rows.filter(|row| row.pass == Pass::Compare);
        let sum =
            |count: fn(&SliceRow) -> Option<u64>| compared.clone().filter_map(count).sum::<u64>();
        let has_fewer = |variant: &usize| {
            let mut of_first = runs.iter().filter(|run| run.subject == 0);
            of_first.any(|run| {
                let turns = |block: &CompleteBlock, variant: usize| {
                    run.slices[block.slices[variant]].row.turns
                };
                let mut blocks = run.blocks.iter();
                blocks.any(|block| turns(block, *variant) < turns(block, BASELINE))
            })
        };
        Turns {
            is_short_for_requests: 2 * sum(|row| row.requests_begun_before)
                > sum(|row| row.requests),
            variants_with_fewer_turns: (0..variants).filter(has_fewer).collect(),
        }
    }

    /// Whether a change of the metric would be that of several variants at once.
    pub(crate) fn mixes_variants(&self, metric: Metric) -> bool {
        self.is_short_for_requests && metric.info().is_of_requests
    }
}
