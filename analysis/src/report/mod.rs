//! `report.md`. It is short enough to paste, and has the verdict first and the details folded away.

mod bounds;
pub(crate) mod caveats;
pub(crate) mod comment;
pub(crate) mod comparison;
mod disturbances;
pub(crate) mod effects;
mod explain;
pub(crate) mod markdown;
pub(crate) mod method;
mod parallel;
mod prove;
mod quic;
pub(crate) mod rr;
pub(crate) mod search;
pub(crate) mod soak;
pub(crate) mod terminal;
pub(crate) mod trust;
mod variants;
pub(crate) mod verdict;
mod where_time_goes;

use self::markdown::{Frame, details, list};
pub(crate) use self::variants::rows_of_changes;
use crate::explain::Explanation;
use crate::summary::Summary;
use crate::verdict::Verdict;

/// Somewhat less than the 65,536 characters that GitHub accepts in a comment.
const MOST_BYTES: usize = 60_000;

/// The sentences that say whether patches do what their budgets do, then the answers of the verdict, and a warning if the
/// machine was disturbed.
pub(crate) fn answers(summary: &Summary, verdict: &Verdict) -> Vec<String> {
    let proofs = prove::sentences(summary, verdict).into_iter();
    let answers = proofs.chain(verdict.answers());
    answers.chain(disturbances::warning(summary)).collect()
}

pub(crate) fn in_short(summary: &Summary, verdict: &Verdict) -> Vec<String> {
    let mut sentences = answers(summary, verdict);
    sentences.extend(verdict.remarks());
    sentences.extend(method::ended(summary));
    sentences.extend(caveats::incomplete(summary));
    sentences.extend(disturbances::sentences(summary));
    sentences
}

/// The report with as many details as its size permits.
pub(crate) fn text(
    summary: &Summary,
    verdict: &Verdict,
    explanation: Option<&Explanation>,
    frame: Frame,
) -> String {
    let identity = &summary.identity;
    let compared = match identity.has_subjects() {
        true => "of programs",
        false => "under budgets",
    };
    let title = format!(
        "Poll latency {compared}: {} {}",
        identity.kind(),
        identity.name
    );
    let options = frame.options;
    let has_candidates = !verdict.candidates.is_empty();
    let is_compared = has_candidates || verdict.control.is_some();
    let caveats = || list(caveats::sentences(summary, options));
    let trusted = || {
        let text = trust::text(summary, verdict);
        details("Can the figures be trusted?", [Some(text)])
    };
    let whole = |detailed: usize| {
        let parts = [
            is_compared.then(|| variants::text(summary, verdict)),
            Some(prove::text(summary, verdict)),
            explanation.map(|found| explain::text(found, detailed, options)),
            method::text(summary),
            has_candidates.then(|| where_time_goes::text(summary, verdict)),
            bounds::text(summary, verdict.site),
            Some(quic::text(summary, verdict)),
            parallel::workers(summary, options),
            parallel::jobs(summary),
            Some(details("Caveats of this run", [Some(caveats())])),
            Some(trusted()),
        ];
        markdown::report(identity.kind(), &title, &identity.sites, frame, parts)
    };
    let most = explanation.map_or(0, |explanation| explanation.cells.len());
    let mut texts = (0..=most).rev().map(whole);
    let fitting = texts.find(|text| text.len() < MOST_BYTES);
    fitting.unwrap_or_else(|| whole(0))
}
