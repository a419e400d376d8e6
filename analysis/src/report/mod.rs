//! `report.md`: short enough to paste, with the verdict first and the details folded away.

mod bounds;
pub(crate) mod caveats;
pub(crate) mod comment;
pub(crate) mod comparison;
mod explain;
pub(crate) mod markdown;
pub(crate) mod method;
mod parallel;
mod prove;
mod questions;
pub(crate) mod rr;
pub(crate) mod search;
pub(crate) mod soak;
pub(crate) mod trust;
pub(crate) mod verdict;

use run_format::BASELINE;

use self::markdown::{Frame, Row, details, list, paragraphs, quoted, table};
use crate::explain::Explanation;
use crate::measure::{Metric, MetricKey, Place};
use crate::prose::{self, prose};
use crate::stats;
use crate::summary::{CellSummary, Summary};
use crate::text::number;
use crate::verdict::{Candidate, Judged, Outcome, Quantity, Verdict, words};

/// GitHub accepts 65,536 characters in a comment.
const MOST_BYTES: usize = 60_000;

pub(crate) fn in_short(summary: &Summary, verdict: &Verdict) -> Vec<String> {
    let mut sentences = verdict.sentences();
    sentences.extend(method::ended(summary));
    sentences.extend(caveats::incomplete(summary));
    sentences.extend(trust::of_machine(summary));
    sentences.extend(prove::sentences(summary, verdict));
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
    let change = match identity.has_subjects() {
        true => "a change",
        false => "a budget",
    };
    let title = format!("Poll latency before and after {change}: {}", identity.name);
    let options = frame.2;
    let is_compared = !verdict.candidates.is_empty();
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
            is_compared.then(|| overview(summary, verdict)),
            Some(prove::text(summary, verdict)),
            explanation.map(|it| explain::text(it, detailed, options)),
            method::text(summary),
            is_compared.then(|| questions::text(summary, verdict)),
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

fn overview(summary: &Summary, verdict: &Verdict) -> String {
    const MOST_ROWS: usize = 7;
    let candidates = &verdict.candidates;
    let changes = changes("variant", verdict, candidates.iter().take(MOST_ROWS));
    let best = verdict.best().filter(|best| !best.regimes.is_empty());
    let regimes =
        best.map(|best| prose::text(&prose!('a "regimes.txt" { best: &'a Candidate = best })));
    // Of quantities that not all cells have.
    let fewer_cells = verdict.quantities.iter().filter_map(|(quantity, _)| {
        let judged = candidates
            .iter()
            .filter_map(|it| it.of_metric(quantity.metric));
        let cells = judged.map(|judged| judged.cells).min()?;
        (cells < verdict.cells).then(|| format!("{} over {cells}", quantity.words))
    });
    let margin = |(it, margin): &(Quantity, f64)| format!("{} {margin} {}", it.words, it.unit());
    // What figures are counted from, as means over cells of the baseline. Without `idle.csv` there is no floor, and nothing is taken off.
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
    let overview = prose::text(&prose!('a "overview.txt" {
        summary: &'a Summary = summary,
        verdict: &'a Verdict = verdict,
        fewer_cells: Vec<String> = fewer_cells.collect(),
        confidence: String = text::confidence(verdict.confidence),
        fired: usize = candidates.iter().filter(|it| !it.is_idle).count(),
        groups: usize = verdict.groups(),
        margins: Vec<String> = verdict.quantities.iter().map(margin).collect(),
        has_floor: bool = level(Metric::CotenantFloorUs).is_some(),
        levels: Vec<String> = Metric::shown_in(Place::Levels).into_iter().filter_map(level).collect(),
        unknown: usize = summary.measured().filter(is_unknown).count(),
        uncompared: usize = summary.measured().count().saturating_sub(verdict.cells),
        left_out: usize = candidates.len().saturating_sub(MOST_ROWS),
    }));
    paragraphs([Some(table(changes)), regimes, Some(overview)])
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
