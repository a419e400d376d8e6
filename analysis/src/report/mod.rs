//! `report.md`: short enough to paste, with the verdict first and the details folded away.

mod application;
mod bounds;
pub(crate) mod caveats;
pub(crate) mod comment;
pub(crate) mod comparison;
pub(crate) mod disturbed;
mod explain;
pub(crate) mod in_grid;
mod jobs;
pub(crate) mod markdown;
pub(crate) mod method;
pub(crate) mod parts;
mod prove;
pub(crate) mod published;
mod questions;
pub(crate) mod rr;
pub(crate) mod search;
pub(crate) mod soak;
pub(crate) mod trust;
pub(crate) mod verdict;
mod workers;

use run_format::variant::BASELINE;

use self::markdown::{Document, Frame, Row, quoted};
use crate::explain::Explanation;
use crate::measure::{Metric, MetricKey, Place};
use crate::prose::prose;
use crate::stats;
use crate::summary::{CellSummary, Summary};
use crate::text::number;
use crate::verdict::{BOTTLENECK_PERCENT, Candidate, Judged, Outcome, Quantity, Verdict, words};

/// GitHub accepts 65,536 characters in a comment.
const MOST_BYTES: usize = 60_000;

/// The report with as many details as its size permits. The second verdict is that with disturbed blocks, if there is one.
pub(crate) fn text(
    summary: &Summary,
    verdicts: (&Verdict, Option<&Verdict>),
    explanation: Option<&Explanation>,
    frame: Frame,
) -> String {
    let mut detailed = explanation.map_or(0, |explanation| explanation.cells.len());
    loop {
        let explained = explanation.map(|explanation| (explanation, detailed));
        let text = with(summary, verdicts, explained, frame);
        if text.len() < MOST_BYTES || detailed == 0 {
            return text;
        }
        detailed -= 1;
    }
}

pub(crate) fn in_short(summary: &Summary, verdict: &Verdict) -> Vec<String> {
    let mut sentences = verdict.sentences();
    sentences.extend(application::sentences(summary));
    sentences.extend(caveats::incomplete(summary));
    sentences.extend(disturbed::grade(summary, verdict));
    sentences.extend(prove::sentences(summary, verdict));
    sentences
}

fn with(
    summary: &Summary,
    (verdict, with_disturbed): (&Verdict, Option<&Verdict>),
    explanation: Option<(&Explanation, usize)>,
    frame: Frame,
) -> String {
    let identity = &summary.identity;
    let change = match identity.has_subjects() {
        true => "a change",
        false => "a budget",
    };
    let title = format!("Poll latency before and after {change}: {}", identity.name);
    let mut document = Document::new(identity.kind(), &title, &identity.sites, frame);
    let options = frame.2;
    if !verdict.candidates.is_empty() {
        overview(&mut document, summary, verdict);
    }
    prove::write(&mut document, summary, verdict);
    if let Some((explanation, explained)) = explanation {
        explain::write(&mut document, explanation, explained);
    }
    method::write(&mut document, summary);
    if !verdict.candidates.is_empty() {
        questions::write(&mut document, summary, verdict);
    }
    bounds::write(&mut document, summary, verdict.site);
    questions::write_quic(&mut document, summary, verdict);
    workers::write(&mut document, summary, options);
    jobs::write(&mut document, summary);
    document.details("Caveats of this run", |document| {
        document.list(caveats::of_sweep(summary, options));
    });
    if !summary.identity.is_published() {
        document.details("Can the figures be trusted?", |document| {
            trust::write(document, summary, verdict);
            parts::write(document, summary, verdict);
            if let Some(with_disturbed) = with_disturbed {
                disturbed::write(document, verdict, with_disturbed);
            }
        });
    }
    document.finish()
}

fn overview(document: &mut Document, summary: &Summary, verdict: &Verdict) {
    const MOST_ROWS: usize = 7;
    let candidates = &verdict.candidates;
    document.table(changes(
        "variant",
        verdict,
        candidates.iter().take(MOST_ROWS),
    ));
    if let Some(best) = verdict.best().filter(|best| !best.regimes.is_empty()) {
        document.prose(&prose!('a "regimes.txt" { best: &'a Candidate = best }));
    }
    // Of quantities that not all cells have.
    let fewer_cells = verdict.quantities.iter().filter_map(|(quantity, _)| {
        let judged = candidates
            .iter()
            .filter_map(|it| it.of_metric(quantity.metric));
        let cells = judged.map(|judged| judged.cells).min()?;
        (cells < verdict.cells).then(|| format!("{} over {cells}", quantity.words))
    });
    let margin = |(it, margin): &(Quantity, f64)| format!("{} {margin} {}", it.words, it.unit());
    // What figures are counted from, as means over cells of the baseline. Older runs have no floor, and nothing is taken off.
    let level = |metric: Metric| {
        let mean = stats::mean(summary.values(MetricKey { site: None, metric }, BASELINE))?;
        Some(format!(
            "{} {} {}",
            metric.info().words,
            number(mean),
            metric.info().unit
        ))
    };
    let has = |cell: &CellSummary, metric| cell.worker_figure(metric, 0).is_some();
    let is_unknown = |cell: &&CellSummary| {
        has(cell, Metric::WholeCpuUsPerRequest) && !has(cell, Metric::CpuUsPerRequest)
    };
    document.prose(&prose!('a "overview.txt" {
        summary: &'a Summary = summary,
        verdict: &'a Verdict = verdict,
        fewer_cells: Vec<String> = fewer_cells.collect(),
        confidence: f64 = 100.0 * verdict.confidence,
        fired: usize = candidates.iter().filter(|it| !it.is_idle).count(),
        groups: usize = candidates.first().map_or(0, |first| first.regimes.len()),
        margins: Vec<String> = verdict.quantities.iter().map(margin).collect(),
        has_floor: bool = level(Metric::CotenantFloorUs).is_some(),
        levels: Vec<String> = Metric::shown_in(Place::Levels).into_iter().filter_map(level).collect(),
        unknown: usize = summary.measured().filter(is_unknown).count(),
        uncompared: usize = summary.measured().count().saturating_sub(verdict.cells),
        left_out: usize = candidates.len().saturating_sub(MOST_ROWS),
    }));
}

fn emphasised(judged: &Judged) -> String {
    match judged.is(Outcome::Better) || judged.is(Outcome::Worse) {
        true => format!("**{}**", judged.change()),
        false => judged.change(),
    }
}

/// The changes over all cells: of these candidates, and last of the A/A control; `title` is that of the first column.
pub(crate) fn changes<'a>(
    title: &str,
    verdict: &Verdict,
    candidates: impl IntoIterator<Item = &'a Candidate>,
) -> Vec<Row> {
    let candidates = candidates.into_iter();
    let candidates = candidates.map(|candidate| (candidate, candidate.result()));
    let control = verdict.control.iter();
    let control = control.map(|control| (control, "A/A control"));
    let rows = candidates.chain(control).map(|(candidate, result)| {
        let mut row = Row::of(title, quoted(&candidate.label))
            .with("yields per 1,000 polls", candidate.firing());
        for (quantity, _) in &verdict.quantities {
            let change = match candidate.of_metric(quantity.metric) {
                None => words::absent(),
                Some(judged) if candidate.is_idle => judged.change(),
                Some(judged) => emphasised(judged),
            };
            row = row.with(quantity.words, change);
        }
        row.with("result", result)
    });
    rows.collect()
}
