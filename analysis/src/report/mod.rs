//! `report.md`. It is short enough to paste, and has the verdict first and the details folded away.

mod bounds;
pub(crate) mod caveats;
pub(crate) mod comment;
pub(crate) mod comparison;
pub(crate) mod effects;
mod explain;
pub(crate) mod markdown;
pub(crate) mod method;
mod parallel;
mod prove;
mod questions;
pub(crate) mod rr;
pub(crate) mod search;
pub(crate) mod soak;
pub(crate) mod terminal;
pub(crate) mod trust;
mod variants;
pub(crate) mod verdict;

use self::markdown::{Frame, details, list};
pub(crate) use self::variants::changes;
use crate::explain::Explanation;
use crate::summary::Summary;
use crate::verdict::Verdict;

/// Somewhat less than the 65,536 characters that GitHub accepts in a comment.
const MOST_BYTES: usize = 60_000;

/// The sentences that say whether patches do what their budgets do, and then the answers of the verdict.
pub(crate) fn answers(summary: &Summary, verdict: &Verdict) -> Vec<String> {
    let proofs = prove::sentences(summary, verdict).into_iter();
    proofs.chain(verdict.answers()).collect()
}

pub(crate) fn in_short(summary: &Summary, verdict: &Verdict) -> Vec<String> {
    let mut remarks = verdict.remarks();
    remarks.extend(method::ended(summary));
    remarks.extend(caveats::incomplete(summary));
    let mut sentences = answers(summary, verdict);
    sentences.extend(with_machine(summary, remarks));
    sentences
}

/// Adds what is to be said of the machine: at the end, or first if it was disturbed.
fn with_machine(summary: &Summary, mut lines: Vec<String>) -> Vec<String> {
    let of_machine = trust::of_machine(summary);
    let at = if trust::is_disturbed(summary) {
        0
    } else {
        lines.len()
    };
    lines.splice(at..at, of_machine);
    lines
}

/// The report with as many details as its size permits.
pub(crate) fn text(
    summary: &Summary,
    verdict: &Verdict,
    explanation: Option<&Explanation>,
    frame: Frame,
) -> String {
    let identity = &summary.identity;
    let change = match identity.has_subjects() {
        true => "a change",
        false => "a budget",
    };
    let title = format!("Poll latency before and after {change}: {}", identity.name);
    let options = frame.options;
    let has_candidates = !verdict.candidates.is_empty();
    let is_compared = has_candidates || verdict.control.is_some();
    let caveats = || list(caveats::of_sweep(summary, options));
    let trusted = || {
        let texts = [
            trust::text(summary, verdict),
            trust::of_parts(summary, verdict),
        ];
        details("Can the figures be trusted?", texts.map(Some))
    };
    let whole = |detailed: usize| {
        let parts = [
            is_compared.then(|| variants::text(summary, verdict)),
            Some(prove::text(summary, verdict)),
            explanation.map(|found| explain::text(found, detailed, options)),
            method::text(summary),
            has_candidates.then(|| questions::text(summary, verdict)),
            bounds::text(summary, verdict.site),
            Some(questions::of_quic(summary, verdict)),
            parallel::of_workers(summary, options),
            parallel::of_jobs(summary),
            Some(details("Caveats of this run", [Some(caveats())])),
            (!identity.is_published()).then(trusted),
        ];
        markdown::report(identity.kind(), &title, &identity.sites, frame, parts)
    };
    let most = explanation.map_or(0, |explanation| explanation.cells.len());
    let mut texts = (0..=most).rev().map(whole);
    let fitting = texts.find(|text| text.len() < MOST_BYTES);
    fitting.unwrap_or_else(|| whole(0))
}
