//! Compares the candidates with each other, and ranks them.

use std::cmp::Reverse;

use run_format::{Ends, Site};

use super::Verdict;
use super::candidate::Candidate;
use super::judge::changes_between;
use super::outcome::{self, Outcome, QuantityChange};
use crate::metrics::{Metric, Quantity, Side};
use crate::stats;
use crate::summary::Summary;

/// Candidates that are not told apart otherwise are ranked by the first of these that was measured.
pub(crate) const RANKS: [Metric; 3] = [
    Metric::BeyondMsPerS,
    Metric::CotenantP90Us,
    Metric::CotenantLatePercent,
];

/// The changes from a candidate to another one at the same ends.
pub(crate) struct Pair {
    pub(crate) from: usize,
    pub(crate) changes: Vec<QuantityChange>,
}

/// Compares every two candidates at the same ends that gain something. The confidence counts all pairs that fired, since it is
/// not known before which of them gain.
pub(super) fn compare(
    summary: &Summary,
    site: Site,
    quantities: &[Quantity],
    candidates: &[Candidate],
) -> Vec<Pair> {
    let compared = fired_pairs(candidates, Ends::Central) + fired_pairs(candidates, Ends::Both);
    let confidence = stats::confidence_of_each(compared * quantities.len());
    let gaining = gaining(candidates);
    let mut pairs = Vec::new();
    for &from in &gaining {
        let own = &candidates[from];
        let rivals = gaining
            .iter()
            .filter(|to| **to != from && candidates[**to].ends == own.ends);
        pairs.extend(rivals.map(|to| {
            let sides = (Side::Variant(own.variant), candidates[*to].variant);
            let changes = changes_between(summary, site, quantities, sides, confidence);
            Pair { from, changes }
        }));
    }
    pairs
}

/// The number of pairs of candidates at these ends that fired.
fn fired_pairs(candidates: &[Candidate], ends: Ends) -> usize {
    let is_compared = |candidate: &&Candidate| {
        !candidate.never_fired && !candidate.changes.is_empty() && candidate.ends == ends
    };
    let fired = candidates.iter().filter(is_compared).count();
    fired * fired.saturating_sub(1) / 2
}

/// The positions of the candidates that gain something.
fn gaining(candidates: &[Candidate]) -> Vec<usize> {
    let all = candidates.iter().enumerate();
    let gaining = all.filter(|(_, candidate)| candidate.gains());
    gaining.map(|(at, _)| at).collect()
}

impl Verdict {
    /// The positions of the candidates that gain something and are beaten by no other. If every gaining candidate is beaten,
    /// all of them are returned.
    pub(crate) fn leaders(&self) -> Vec<usize> {
        let gaining = gaining(&self.candidates).into_iter();
        let (beaten, best): (Vec<usize>, Vec<usize>) =
            gaining.partition(|candidate| self.is_beaten(*candidate));
        if best.is_empty() { beaten } else { best }
    }

    /// The leaders, the best first. Each of these criteria decides if all before it are equal:
    ///
    /// 1. whether the candidate is at both ends;
    /// 2. whether polls or the waits of another task get shorter;
    /// 3. whether nothing is worse;
    /// 4. how many rows of the tables get better;
    /// 5. how many others it is shown to shorten polls more than;
    /// 6. how few sites it bounds;
    /// 7. its class;
    /// 8. the gain that the interval guarantees in the group where that is greatest.
    pub(crate) fn ranked(&self) -> Vec<&Candidate> {
        // A gain is a negative loss, so the greatest gain is the least loss.
        let guaranteed_loss = |candidate: &Candidate| {
            let deciding = candidate.deciding();
            let least_loss = |metric: Metric| {
                let of_metric = |change: &&QuantityChange| change.quantity.metric == metric;
                let highs = deciding.iter().filter(of_metric);
                highs.map(|change| change.loss().high).reduce(f64::min)
            };
            RANKS.into_iter().find_map(least_loss).unwrap_or(f64::MAX)
        };
        let ranks = self.leaders().into_iter().map(|at| {
            let candidate = &self.candidates[at];
            let rank = (
                Reverse(candidate.ends),
                !candidate.shortens(),
                !candidate.class().helps(),
                Reverse(self.rows_gained(candidate)),
                Reverse(self.outdone(at)),
                candidate.yields.len(),
                candidate.class(),
            );
            (rank, guaranteed_loss(candidate), candidate)
        });
        let mut by_rank: Vec<_> = ranks.collect();
        by_rank.sort_by(|(a, loss_of_a, _), (b, loss_of_b, _)| {
            a.cmp(b).then(loss_of_a.total_cmp(loss_of_b))
        });
        let ranked = by_rank.into_iter();
        ranked.map(|(_, _, candidate)| candidate).collect()
    }

    fn rows_gained(&self, candidate: &Candidate) -> usize {
        let deciding = candidate.deciding();
        let is_gained = |quantity: &&Quantity| {
            let mut gains = deciding.iter();
            gains.any(|gain| gain.quantity == **quantity && gain.is(Outcome::Better))
        };
        self.rows().iter().filter(is_gained).count()
    }

    /// The number of candidates that are shown to shorten polls, or waits if polls were not recorded, less than this one.
    fn outdone(&self, at: usize) -> usize {
        let is_longer = |pair: &&Pair| {
            let change = |metric| {
                let mut changes = pair.changes.iter();
                changes.find(|change| change.quantity.metric == metric)
            };
            let first = RANKS.into_iter().find_map(change);
            first.is_some_and(|change| change.is(Outcome::Worse))
        };
        let pairs = self.pairs.iter().filter(|pair| pair.from == at);
        pairs.filter(is_longer).count()
    }

    /// Whether another candidate at the same ends is better in something than this one, and worse in nothing.
    fn is_beaten(&self, at: usize) -> bool {
        let is_better = |pair: &Pair| {
            let any = |outcome| outcome::any(&pair.changes, outcome);
            any(Outcome::Better) && !any(Outcome::Worse)
        };
        let mut pairs = self.pairs.iter().filter(|pair| pair.from == at);
        pairs.any(is_better)
    }
}
