//! The order of the candidates that no other beats.

use super::{Candidate, Verdict};
use crate::measure::metric::Metric;

/// The first of these that was measured ranks candidates that are not told apart.
pub(crate) const RANKS: [Metric; 3] = [
    Metric::BeyondMsPerS,
    Metric::CotenantP90Us,
    Metric::CotenantLatePercent,
];

impl Verdict {
    pub(crate) fn best(&self) -> Option<&Candidate> {
        self.ranked().first().copied()
    }

    /// The candidates that no other is better than, the best first: those that bound fewer sites, then by class, then by
    /// the gain that the interval guarantees.
    pub(crate) fn ranked(&self) -> Vec<&Candidate> {
        let leaders = self.leaders().into_iter();
        let mut leaders: Vec<&Candidate> = leaders.map(|at| &self.candidates[at]).collect();
        let guaranteed = |of: &Candidate| {
            let gain = RANKS.into_iter().find_map(|metric| of.of_metric(metric));
            gain.map_or(f64::MAX, |it| it.loss().high)
        };
        leaders.sort_by(|a, b| {
            let by_gain = guaranteed(a).total_cmp(&guaranteed(b));
            let [a, b] = [a, b].map(|it| (it.yields.len(), it.class()));
            a.cmp(&b).then(by_gain)
        });
        leaders
    }
}
