//! `report.md`: short enough to paste, with the verdict first and the details folded away.

mod bounds;
pub(crate) mod caveats;
pub(crate) mod comment;
pub(crate) mod comparison;
pub(crate) mod disturbed;
mod explain;
mod jobs;
pub(crate) mod markdown;
pub(crate) mod method;
mod prove;
pub(crate) mod published;
mod questions;
mod quic;
pub(crate) mod rr;
pub(crate) mod search;
pub(crate) mod soak;
pub(crate) mod terms;
pub(crate) mod trust;
mod workers;

use self::{
    markdown::{Document, ReportLinks, quoted},
    terms::Term,
};
use crate::{
    explain::Explanation,
    measure::{metric::Metric, metric_info::Place},
    options::Options,
    summary::Summary,
    text::{count, number},
    verdict::{BOTTLENECK_PERCENT, Candidate, Judged, Outcome, Quantity, Verdict, words},
    views::Entry,
};

/// GitHub accepts 65,536 characters in a comment.
const MOST_BYTES: usize = 60_000;

const TERMS: [Term; 12] = [
    terms::SITE,
    terms::SLOW_POLL,
    terms::BEYOND,
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

/// The whole report, with as many details as its size permits. The second verdict is that with disturbed blocks, if
/// some were set aside.
pub(crate) fn text(
    summary: &Summary,
    verdicts: (&Verdict, Option<&Verdict>),
    pictures: &[Entry],
    explanation: Option<&Explanation>,
    options: &Options,
) -> String {
    let mut explained = explanation.map_or(0, |it| it.cells.len());
    loop {
        let text = with(
            summary,
            verdicts,
            pictures,
            explanation.map(|it| (it, explained)),
            options,
        );
        if text.len() < MOST_BYTES || explained == 0 {
            return text;
        }
        explained -= 1;
    }
}

/// The verdict, and how much to rely on it.
pub(crate) fn in_short(summary: &Summary, verdict: &Verdict) -> Vec<String> {
    let mut sentences = verdict.sentences();
    sentences.extend(caveats::incomplete(summary));
    sentences.extend(disturbed::grade(summary, verdict));
    sentences.extend(prove::sentences(summary, verdict));
    sentences
}

/// With details of so many explained cells.
fn with(
    summary: &Summary,
    (verdict, with_disturbed): (&Verdict, Option<&Verdict>),
    pictures: &[Entry],
    explanation: Option<(&Explanation, usize)>,
    options: &Options,
) -> String {
    let change = if summary.identity.has_subjects() {
        "a change"
    } else {
        "a budget"
    };
    let sentences = in_short(summary, verdict);
    let mut document = Document::new(
        &format!(
            "Poll latency before and after {change}: {}",
            summary.identity.name
        ),
        &sentences,
        pictures,
        &TERMS,
        &summary.identity.sites,
        options,
    );
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
    quic::write(&mut document, summary, verdict);
    workers::write(&mut document, summary, options);
    jobs::write(&mut document, summary);
    document.details("Caveats of this run", |document| {
        document.list(caveats::of_sweep(summary, options));
    });
    if summary.identity.manifest.is_some() {
        document.details("Can the figures be trusted?", |document| {
            trust::write(document, summary, verdict);
            if let Some(with_disturbed) = with_disturbed {
                disturbed::write(document, verdict, with_disturbed);
            }
        });
    }
    document.finish(pictures)
}

/// ", but throughput over 2, request latency (p99) over 5", of quantities that not all cells have.
fn fewer_cells(verdict: &Verdict) -> String {
    let fewer = verdict.quantities.iter().filter_map(|(quantity, _)| {
        let judged = verdict.candidates.iter();
        let judged = judged.filter_map(|it| it.of_metric(quantity.metric));
        let cells = judged.map(|it| it.cells).min()?;
        let is_fewer = cells < verdict.cells;
        is_fewer.then(|| format!("{} over {cells}", quantity.words))
    });
    let fewer: Vec<String> = fewer.collect();
    match fewer.is_empty() {
        true => String::new(),
        false => format!(", but {}", fewer.join(", ")),
    }
}

/// One row per variant, at most eight.
fn overview(document: &mut Document, summary: &Summary, verdict: &Verdict, options: &Options) {
    const MOST_ROWS: usize = 7;
    let (head, rows) = table(verdict, verdict.candidates.iter().take(MOST_ROWS));
    document.table(&head.join(" | "), rows);
    if let Some(best) = verdict.best().filter(|it| !it.regimes.is_empty()) {
        by_regime(document, best);
    }
    let fired = verdict.candidates.iter().filter(|it| !it.is_idle).count();
    let groups = verdict.candidates.first().map_or(0, |it| it.regimes.len());
    let margin = |(quantity, margin): &(Quantity, f64)| {
        format!("{} {margin} {}", quantity.words, quantity.unit())
    };
    let margins: Vec<String> = verdict.quantities.iter().map(margin).collect();
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
             has a confidence of {} %, because {} fired and {} are judged{}.",
            number(100.0 * verdict.confidence),
            count(fired, "candidate"),
            count(verdict.quantities.len(), "column"),
            match groups {
                0 => String::new(),
                groups => format!(", over all cells and in {groups} groups of cells"),
            }
        ),
        format!(
            "A change is called better or worse, and is bold, only if its whole interval is beyond the margin. The \
             margins are: {}.",
            margins.join(", ")
        ),
        "Candidates are compared with baseline and A/A control together, the A/A control with the baseline alone. An \
         unusual baseline shifts all rows. Those of the A/A control and of budgets that never fire show by how much."
            .to_owned(),
    ];
    notes.extend(counted_from(summary));
    let uncompared = summary.measured().count().saturating_sub(verdict.cells);
    if uncompared > 0 {
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

/// "floor of the co-tenant's wake-ups 38.1 µs": what figures are counted from, as means over cells of the baseline. Older
/// runs have no floor, and nothing is taken off.
fn counted_from(summary: &Summary) -> Option<String> {
    let level = |metric: &Metric| {
        let cells = summary.measured();
        let values: Vec<f64> = cells
            .filter_map(|cell| Some(cell.worker_figure(*metric, 0)?.estimate.value))
            .collect();
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let info = metric.info();
        (!values.is_empty()).then(|| format!("{} {} {}", info.words, number(mean), info.unit))
    };
    level(&Metric::CotenantFloorUs)?;
    let metrics = Metric::shown_in(Place::Levels);
    let levels: Vec<String> = metrics.iter().filter_map(level).collect();
    Some(format!(
        "Waits of the co-tenant are counted from its floor, and CPU time per request without the benchmark's own. Means \
         over cells, in the baseline: {}.",
        levels.join(", ")
    ))
}

/// What the best candidate does in each group of cells, with levels.
fn by_regime(document: &mut Document, best: &Candidate) {
    let rows = best.regimes.iter().flat_map(|regime| {
        let words = regime.regime.words(regime.cells);
        regime.judged.iter().map(move |judged| {
            let [before, after] = judged.levels.map_or([None; 2], |it| it.map(Some));
            let level = |value: Option<f64>| markdown::or_dash(value.map(number));
            vec![
                words.clone(),
                judged.quantity.words.to_owned(),
                judged.quantity.metric.info().unit.to_owned(),
                level(before),
                level(after),
                emphasised(judged),
            ]
        })
    });
    document.paragraph(format!("{} in each group of cells:", quoted(&best.label)));
    document.table("cells | quantity | unit | before | after | change", rows);
    document.list([
        "Before and after are means over the cells; the change is the mean of the cells' changes, so that a cell with large \
         values does not decide alone.".to_owned(),
        format!(
            "Central is the bottleneck of a cell if its workers poll tasks for at least {} % of the time in the baseline.",
            BOTTLENECK_PERCENT
        ),
        match best.differs {
            true => "The groups are shown to differ, so the verdict is that of the groups.",
            false => "The groups are not shown to differ, so the verdict is that of all cells together.",
        }.to_owned(),
    ]);
}

/// Bold if its whole interval is beyond the margin.
fn emphasised(judged: &Judged) -> String {
    match judged.is(Outcome::Better) || judged.is(Outcome::Worse) {
        true => format!("**{}**", judged.change()),
        false => judged.change(),
    }
}

/// The changes over all cells: of these candidates, and last of the A/A control.
pub(crate) fn table<'a>(
    verdict: &Verdict,
    candidates: impl IntoIterator<Item = &'a Candidate>,
) -> (Vec<String>, Vec<Vec<String>>) {
    let words = verdict
        .quantities
        .iter()
        .map(|(quantity, _)| quantity.words);
    let head = ["variant", "yields per 1,000 polls"]
        .into_iter()
        .chain(words);
    let head = head.chain(["result"]).map(str::to_owned);
    let control = verdict.control.iter();
    let control = control.map(|it| row(it, verdict, "A/A control"));
    let candidates = candidates.into_iter();
    let rows = candidates.map(|it| row(it, verdict, it.result()));
    (head.collect(), rows.chain(control).collect())
}

pub(crate) fn row(candidate: &Candidate, verdict: &Verdict, result: &str) -> Vec<String> {
    let mut row = vec![quoted(&candidate.label), candidate.firing()];
    let quantities = verdict.quantities.iter();
    row.extend(quantities.map(|(quantity, _)| {
        let judged = candidate.of_metric(quantity.metric);
        judged.map_or_else(words::absent, |it| match candidate.is_idle {
            true => it.change(),
            false => emphasised(it),
        })
    }));
    row.push(result.to_owned());
    row
}
