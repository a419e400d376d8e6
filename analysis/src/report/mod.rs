//! `report.md`: short enough to paste, the verdict first and everything else folded away.

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
mod trust;

use self::markdown::{Document, Links};
use crate::{
    explain::Explanation,
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
    explanation: Option<&Explanation>,
    options: &Options,
) -> String {
    let mut most = Most {
        rows: summary.cells.len(),
        explained: explanation.map_or(0, |it| it.cells.len()),
    };
    loop {
        let text = with(summary, verdict, pictures, explanation, options, most);
        if text.len() < MOST_BYTES || most.is_least() {
            return text;
        }
        most = most.less();
    }
}

/// How much is told.
#[derive(Clone, Copy)]
struct Most {
    /// Cells in the table of verdicts by cell.
    rows: usize,
    /// Cells whose evidence is told in detail.
    explained: usize,
}

impl Most {
    fn is_least(self) -> bool {
        self.rows == 0 && self.explained == 0
    }

    /// The details of a few cells are more than the verdict on many, which `summary.csv` has in full.
    fn less(self) -> Most {
        const FEW: usize = 3;
        match self {
            Most { explained, .. } if explained > FEW => Most {
                explained: explained - 1,
                ..self
            },
            Most { rows: 0, explained } => Most {
                explained: explained - 1,
                ..self
            },
            Most { rows, .. } => Most {
                rows: rows / 2,
                ..self
            },
        }
    }
}

/// With so much of the cells.
fn with(
    summary: &Summary,
    verdict: &Verdict,
    pictures: &[Entry],
    explanation: Option<&Explanation>,
    options: &Options,
    most: Most,
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
    if let Some(explanation) = explanation {
        explain::write(&mut document, explanation, &links, most.explained);
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
        cells::write(document, summary, verdict, most.rows);
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
