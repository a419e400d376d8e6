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
use crate::options::Options;
use crate::stats;
use crate::summary::{CellSummary, Summary};
use crate::text::{count, joined, joined_any, number};
use crate::verdict::{BOTTLENECK_PERCENT, Candidate, Judged, Outcome, Verdict, words};

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
        overview(&mut document, summary, verdict, options);
    }
    prove::write(&mut document, summary, verdict);
    if let Some((explanation, explained)) = explanation {
        explain::write(&mut document, explanation, explained);
    }
    method::write(&mut document, summary);
    if !verdict.candidates.is_empty() {
        document.details("More about each variant", |document| {
            questions::write(document, summary, verdict);
        });
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

/// ", but throughput over 2, request latency (p99) over 5", of quantities that not all cells have.
fn fewer_cells(verdict: &Verdict) -> String {
    let fewer = verdict.quantities.iter().filter_map(|(quantity, _)| {
        let candidates = verdict.candidates.iter();
        let judged = candidates.filter_map(|candidate| candidate.of_metric(quantity.metric));
        let cells = judged.map(|judged| judged.cells).min()?;
        (cells < verdict.cells).then(|| format!("{} over {cells}", quantity.words))
    });
    joined_any(fewer, ", ").map_or_else(String::new, |fewer| format!(", but {fewer}"))
}

fn overview(document: &mut Document, summary: &Summary, verdict: &Verdict, options: &Options) {
    const MOST_ROWS: usize = 7;
    let first = verdict.candidates.iter().take(MOST_ROWS);
    document.table(changes("variant", verdict, first));
    if let Some(best) = verdict.best().filter(|best| !best.regimes.is_empty()) {
        by_regime(document, best);
    }
    let candidates = || verdict.candidates.iter();
    let fired = candidates().filter(|candidate| !candidate.is_idle);
    let groups = match candidates().next().map_or(0, |first| first.regimes.len()) {
        0 => String::new(),
        groups => format!(", over all cells and in {groups} groups of cells"),
    };
    let margins = verdict.quantities.iter();
    let margins = margins
        .map(|(quantity, margin)| format!("{} {margin} {}", quantity.words, quantity.unit()));
    let mut notes = vec![
        format!(
            "The time beyond the threshold is that of `{}`. The threshold, also of late wake-ups, is {}.",
            summary.function(verdict.site),
            options.threshold_text()
        ),
        format!(
            "Changes in pp and in % are means over {}{}. They describe these cells and launches, and no others.",
            count(verdict.cells, "cell"),
            fewer_cells(verdict)
        ),
        format!(
            "The intervals, in square brackets, hold together with 95 % for all candidates that fired. So each of them \
             has a confidence of {} %, because {} fired and {} are judged{groups}.",
            number(100.0 * verdict.confidence),
            count(fired.count(), "candidate"),
            count(verdict.quantities.len(), "column"),
        ),
        format!(
            "A change is a gain or a loss, and is bold, only if its whole interval is beyond the margin. If a part of the \
             interval is not, the text says \"perhaps by less than\". The margins are: {}.",
            joined(margins, ", ")
        ),
        "Candidates are compared with baseline and A/A control together, the A/A control with the baseline alone. An \
         unusual baseline shifts all rows. Those of the A/A control and of budgets that never fire show by how much."
            .to_owned(),
    ];
    notes.extend(counted_from(summary));
    if let uncompared @ 1.. = summary.measured().count().saturating_sub(verdict.cells) {
        notes.push(format!(
            "Measured cells with too few blocks to compare any variant with the baseline: {uncompared}."
        ));
    }
    if let left_out @ 1.. = verdict.candidates.len().saturating_sub(MOST_ROWS) {
        notes.push(format!(
            "`index.html` has {left_out} more budgets in this table."
        ));
    }
    document.list(notes);
}

/// What figures are counted from, as means over cells of the baseline. Older runs have no floor, and nothing is taken off.
fn counted_from(summary: &Summary) -> Option<String> {
    let level = |&metric: &Metric| {
        let what = MetricKey { site: None, metric };
        let mean = stats::mean(summary.values(what, BASELINE))?;
        let (words, mean) = (metric.info().words, number(mean));
        Some(format!("{words} {mean} {}", metric.info().unit))
    };
    level(&Metric::CotenantFloorUs)?;
    let metrics = Metric::shown_in(Place::Levels);
    let has = |cell: &CellSummary, metric| cell.worker_figure(metric, 0).is_some();
    let unknown = summary.measured().filter(|cell| {
        has(cell, Metric::WholeCpuUsPerRequest) && !has(cell, Metric::CpuUsPerRequest)
    });
    let unknown = match unknown.count() {
        0 => String::new(),
        some => format!(
            " {} {} no CPU time per request, because more than half of central's CPU time is the benchmark's own there.",
            count(some, "cell"),
            if some == 1 { "has" } else { "have" }
        ),
    };
    Some(format!(
        "Waits of the co-tenant are counted from its floor, and CPU time per request without the benchmark's own. Means \
         over cells, in the baseline: {}.{unknown}",
        joined(metrics.iter().filter_map(level), ", ")
    ))
}

fn by_regime(document: &mut Document, best: &Candidate) {
    let rows = best.regimes.iter().flat_map(|regime| {
        let words = regime.regime.words(regime.cells);
        regime.judged.iter().map(move |judged| {
            let [before, after] = [0, 1].map(|at| Some(number(judged.levels?[at])));
            Row::of("cells", &words)
                .with("quantity", judged.quantity.words)
                .with("unit", judged.quantity.metric.info().unit)
                .with_any("before", before)
                .with_any("after", after)
                .with("mean of the changes", emphasised(judged))
        })
    });
    let title = format!("{} in each group of cells", best.label);
    document.details(&title, |document| {
        document.paragraph(
            "Before and after are means over the cells. The last column is the mean of the cells' changes, so it is not the \
             change of the means.",
        );
        document.table(rows);
        document.list([
            format!(
                "Central is the bottleneck of a cell if its workers poll tasks for at least {BOTTLENECK_PERCENT} % of the \
                 time in the baseline."
            ),
            match best.differs {
                true => "The groups are shown to differ, so the verdict is that of the groups.".to_owned(),
                false => "The groups are not shown to differ, so the verdict is that of all cells.".to_owned(),
            },
        ]);
    });
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
