//! `report.md`: short enough to paste, the verdict first and everything else folded away.

mod caveats;
mod cells;
pub(crate) mod comparison;
pub(crate) mod folder;
mod markdown;
mod method;
mod questions;
mod trust;

use self::markdown::{Document, Links};
use crate::{
    measure::metric::Metric,
    options::Options,
    summary::{Resolved, Summary},
    verdict::{Judged, Verdict, words},
    views::Entry,
};

/// GitHub takes 65,536 characters in a comment.
const MOST_BYTES: usize = 60_000;

/// The whole report.
pub(crate) fn text(
    summary: &Summary,
    verdict: &Verdict,
    pictures: &[Entry],
    options: &Options,
) -> String {
    let mut rows = summary.cells.len();
    loop {
        let text = with_rows(summary, verdict, pictures, options, rows);
        if text.len() < MOST_BYTES || rows == 0 {
            return text;
        }
        rows /= 2;
    }
}

/// With the verdict on at most so many cells.
fn with_rows(
    summary: &Summary,
    verdict: &Verdict,
    pictures: &[Entry],
    options: &Options,
    rows: usize,
) -> String {
    let links = Links::new(options.link_base.as_deref());
    let mut document = Document::new(&format!(
        "Poll latency before and after {}: {}",
        if summary.identity.has_subjects() {
            "a change"
        } else {
            "a budget"
        },
        summary.identity.name
    ));
    document.paragraph(&format!(
        "**Verdict.** {}",
        verdict.sentences().join(" ").trim()
    ));
    if let Some(picture) = pictures.iter().find(|it| it.is_first) {
        document.picture(&links, picture);
    }
    if !verdict.candidates.is_empty() {
        overview(&mut document, verdict, options);
    }
    method::write(&mut document, summary);
    if !verdict.candidates.is_empty() {
        document.details("What was found, question by question", |document| {
            questions::write(document, summary, verdict);
        });
    }
    document.details("Caveats of this run", |document| {
        caveats::write(document, summary, options);
    });
    if summary.identity.manifest.is_some() {
        document.details("Can the figures be trusted?", |document| {
            trust::write(document, summary, verdict);
        });
    }
    document.details("Verdict by cell", |document| {
        cells::write(document, summary, verdict, rows);
    });
    document.details("All pictures", |document| {
        document.pictures(&links, pictures);
    });
    document.finish()
}

/// One row per variant, at most eight.
fn overview(document: &mut Document, verdict: &Verdict, options: &Options) {
    const MOST_ROWS: usize = 8;
    let mut rows: Vec<Vec<String>> = verdict.candidates.iter().map(row).collect();
    let left_out = rows.len().saturating_sub(MOST_ROWS - 1);
    rows.truncate(MOST_ROWS - 1);
    rows.extend(verdict.twin.iter().map(row));
    document.table(
        &[
            "variant",
            "yields per 1,000 polls",
            "slow polls: cells lower / higher / open",
            "slow polls",
            "co-tenant's late wakes",
            "co-tenant p99",
            "throughput",
            "CPU per request",
            "in a word",
        ],
        &rows,
    );
    let mut note = format!(
        "Slow polls of `{}`; late: over {}. Over {} cells: the mean change in percentage points, each cell with \
         the same weight, and the {} change in percent; 95 % intervals; bold is resolved. All rows share the \
         baseline, and its luck: the twin's row, and those of budgets that never fire, show how much that is.",
        verdict.site.function(),
        options.threshold_text(),
        verdict.cells,
        verdict.middle()
    );
    if left_out > 0 {
        note += &format!(" {left_out} more budgets are below.");
    }
    document.paragraph(&note);
}

fn row(judged: &Judged) -> Vec<String> {
    let effect = |metric: Metric| {
        let text = words::effect(judged, metric);
        let resolved = judged.effect(metric).map_or(Resolved::No, |it| it.resolved);
        words::marked(text, resolved)
    };
    let ratio = judged.effect(Metric::SlowPercent);
    vec![
        format!("`{}`", judged.label),
        judged.firing(),
        ratio.map_or_else(words::absent, |it| {
            format!("{} / {} / {}", it.lower, it.higher, it.unresolved)
        }),
        effect(Metric::SlowPercent),
        effect(Metric::CotenantLatePercent),
        effect(Metric::CotenantP99Us),
        effect(Metric::RequestsPerS),
        effect(Metric::CpuUsPerRequest),
        judged.in_a_word().to_owned(),
    ]
}
