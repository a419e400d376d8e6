//! `report.md`: short enough to paste, with the verdict first and the details folded away.

mod caveats;
mod cells;
pub(crate) mod comparison;
mod explain;
pub(crate) mod folder;
mod markdown;
mod method;
mod questions;
pub(crate) mod rr;
pub(crate) mod soak;
mod terms;
mod trust;

use self::{
    markdown::{Document, or_dash, quoted},
    terms::Term,
};
use crate::{
    explain::Explanation,
    measure::metric::Metric,
    options::Options,
    site::UpstreamFunction,
    summary::{Resolved, Summary},
    verdict::{VariantVerdict, Verdict, words},
    views::Entry,
};

/// GitHub accepts 65,536 characters in a comment.
const MOST_BYTES: usize = 60_000;

const TERMS: [Term; 11] = [
    terms::SITE,
    terms::SLOW_POLL,
    terms::SINGLE_SLOW_ITERATION,
    terms::BUDGET,
    terms::VARIANT,
    terms::CONTROL,
    terms::CELL,
    terms::SLICE,
    terms::CENTRAL,
    terms::CO_TENANT,
    terms::RESOLVED,
];

/// The whole report, with as many details as its size permits.
pub(crate) fn text(
    summary: &Summary,
    verdict: &Verdict,
    pictures: &[Entry],
    explanation: Option<&Explanation>,
    options: &Options,
) -> String {
    let mut rows = summary.cells.len();
    let mut explained = explanation.map_or(0, |it| it.cells.len());
    loop {
        let text = with(
            summary,
            verdict,
            pictures,
            explanation,
            options,
            (rows, explained),
        );
        if text.len() < MOST_BYTES || (rows, explained) == (0, 0) {
            return text;
        }
        // The details of a few explained cells are worth more than the table of all cells, since
        // `summary.csv` has that in full.
        const FEW: usize = 3;
        if explained > FEW || rows == 0 {
            explained -= 1;
        } else {
            rows /= 2;
        }
    }
}

/// With this many rows in the table of cells, and details of this many explained cells.
fn with(
    summary: &Summary,
    verdict: &Verdict,
    pictures: &[Entry],
    explanation: Option<&Explanation>,
    options: &Options,
    (rows, explained): (usize, usize),
) -> String {
    let change = if summary.identity.has_subjects() {
        "a change"
    } else {
        "a budget"
    };
    let mut document = Document::new(
        &format!(
            "Poll latency before and after {change}: {}",
            summary.identity.name
        ),
        &verdict.sentences(),
        pictures,
        &TERMS,
        options,
    );
    if !verdict.candidates.is_empty() {
        overview(&mut document, summary, verdict, options);
    }
    if let Some(explanation) = explanation {
        explain::write(&mut document, explanation, explained);
    }
    method::write(&mut document, summary);
    if !verdict.candidates.is_empty() {
        document.details("Results, question by question", |document| {
            questions::write(document, summary, verdict);
        });
    }
    document.details("Caveats of this run", |document| {
        document.list(caveats::of_sweep(summary, options));
    });
    if summary.identity.manifest.is_some() {
        document.details("Can the figures be trusted?", |document| {
            trust::write(document, summary, verdict);
        });
    }
    document.details("Verdict by cell", |document| {
        cells::write(document, summary, verdict, rows);
    });
    document.finish(pictures)
}

/// One row per variant, at most eight.
fn overview(document: &mut Document, summary: &Summary, verdict: &Verdict, options: &Options) {
    const MOST_ROWS: usize = 7;
    let candidates = verdict.candidates.iter().take(MOST_ROWS);
    document.table(
        &[
            "variant",
            "yields per 1,000 polls",
            "slow polls: cells lower / higher / not resolved",
            "slow polls",
            "late wake-ups of the co-tenant",
            "wake-up latency of the co-tenant, p99",
            "throughput",
            "CPU time per request",
            "result",
        ],
        candidates.chain(&verdict.control).map(row),
    );
    let mut notes = vec![
        format!(
            "Slow polls are those of `{}`. Slow and late mean over {}.",
            verdict.site.function(),
            options.threshold_text()
        ),
        format!(
            "Changes in pp are means over {} cells with equal weight; changes in % are the {}.",
            verdict.cells,
            verdict.middle()
        ),
        "Square brackets are 95 % intervals. Bold changes are resolved.".to_owned(),
        "All rows are compared with the same baseline slices, so an unusual baseline shifts them all. The rows of the \
         A/A control and of budgets that never fire show how large this shift can be."
            .to_owned(),
    ];
    let uncompared = summary.measured().count().saturating_sub(verdict.cells);
    if uncompared > 0 {
        notes.push(format!(
            "Measured cells with too few blocks to compare any variant with the baseline: {uncompared}."
        ));
    }
    if let left_out @ 1.. = verdict.candidates.len().saturating_sub(MOST_ROWS) {
        notes.push(format!(
            "The results below include {left_out} more budgets."
        ));
    }
    document.list(notes);
}

fn row(variant: &VariantVerdict) -> Vec<String> {
    let effect = |metric: Metric| {
        let text = words::effect(variant, metric);
        match variant.effect(metric) {
            Some(effect) if effect.resolved != Resolved::No => format!("**{text}**"),
            _ => text,
        }
    };
    let slow = variant.effect(Metric::SlowPercent);
    vec![
        quoted(&variant.label),
        variant.firing(),
        or_dash(slow.map(|it| format!("{} / {} / {}", it.lower, it.higher, it.unresolved))),
        effect(Metric::SlowPercent),
        effect(Metric::CotenantLatePercent),
        effect(Metric::CotenantP99Us),
        effect(Metric::RequestsPerS),
        effect(Metric::CpuUsPerRequest),
        variant.result().to_owned(),
    ]
}
