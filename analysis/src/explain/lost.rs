//! Evidence that was lost.

use super::{sums::OutermostSite, thresholds::LOST_PERCENT};
use crate::load::explain::cell::CellEvidence;

/// The lost percentage by kind of evidence, for kinds of which too much is lost for the rest to be representative.
pub(crate) fn lost(evidence: &CellEvidence) -> Vec<(&'static str, f64)> {
    let seen = &evidence.seen;
    let stacks = || evidence.stacks.iter();
    let stacks_once = OutermostSite::of(stacks().map(|it| it.site));
    let stacks = stacks().filter(|it| stacks_once.counts(it.site));
    let calls = || evidence.system_calls.iter();
    let calls_once = OutermostSite::of(calls().map(|it| it.site));
    let calls = calls().filter(|it| calls_once.counts(it.site));
    let ends = || evidence.sites.iter();
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
