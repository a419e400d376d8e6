//! What was there to be seen and was not kept.

use super::{sums::Once, thresholds::LOST_PERCENT};
use crate::load::explain::cell::CellEvidence;

/// In percent of all there was, by what it is; of that of which too much is missing for the rest to stand
/// for it.
pub(crate) fn lost(evidence: &CellEvidence) -> Vec<(&'static str, f64)> {
    let seen = &evidence.seen;
    let stacks = evidence.stacks.iter();
    let once = Once::of(stacks.clone().map(|it| it.place.site));
    let stacks = stacks.filter(move |it| once.counts(it.place.site));
    let calls = evidence.system_calls.iter();
    let once = Once::of(calls.clone().map(|it| it.place.site));
    let calls = calls.filter(move |it| once.counts(it.place.site));
    let ends = || evidence.ends.iter();
    [
        (
            "sampled stacks",
            stacks.map(|it| it.samples).sum(),
            seen.stacks_lost.unwrap_or(0),
        ),
        (
            "system calls",
            calls.map(|it| it.calls).sum(),
            seen.system_calls_lost.unwrap_or(0),
        ),
        (
            "polls",
            ends().map(|it| it.polls).sum(),
            ends().map(|it| it.lost).sum(),
        ),
        (
            "polls of children",
            evidence.children.iter().map(|it| it.polls).sum(),
            ends().map(|it| it.children_lost).sum(),
        ),
    ]
    .into_iter()
    .filter(|&(_, _, lost)| lost > 0)
    .map(|(what, kept, lost): (_, u64, u64)| (what, 100.0 * lost as f64 / (kept + lost) as f64))
    .filter(|&(_, percent)| percent > LOST_PERCENT)
    .collect()
}
