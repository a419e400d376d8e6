//! What the best candidates do: a table for each group of cells. The report, the comment, the page and the terminal show the
//! same rows.

use super::markdown::{Row, quoted, table};
use crate::measure::{Metric, Quantity};
use crate::summary::Summary;
use crate::text::{capitalised, count, joined, number};
use crate::verdict::{Candidate, Judged, Outcome, Verdict, words};

/// The rows that a maintainer asks for, in this order. A row shows the first of its metrics that was measured.
const ROWS: [&[Metric]; 5] = [
    &[Metric::BeyondMsPerS],
    &[Metric::CotenantLatePercent],
    &[
        Metric::PairCpuUsPerRequest,
        Metric::CpuUsPerRequest,
        Metric::CpuUsPerMib,
    ],
    &[Metric::RequestsPerS, Metric::MibPerS],
    &[Metric::LatencyP99Ms],
];

pub(crate) const LEGEND: &str = "Bold: the whole interval is beyond the margin of the quantity. Not \
    resolved: the interval includes zero. A question mark is an end without a bound. Time beyond \
    50 µs adds up the parts of polls after their first 50 µs. A wake-up is late if another task on \
    central's thread waits longer than that for its poll.";

/// The changes of some candidates in one group of cells, or in all cells if there is one group.
pub(crate) struct Effects<'a> {
    threshold: &'a str,
    /// "without delay, 20 cells"
    place: String,
    columns: Vec<Column<'a>>,
}

struct Column<'a> {
    candidate: &'a Candidate,
    judged: &'a [Judged],
}

/// The quantities of the rows that were measured.
pub(crate) fn quantities(verdict: &Verdict) -> Vec<Quantity> {
    let measured = |metric: &Metric| {
        let mut quantities = verdict.quantities.iter();
        let (quantity, _) = quantities.find(|(quantity, _)| quantity.metric == *metric)?;
        Some(*quantity)
    };
    let rows = ROWS.iter();
    rows.filter_map(|metrics| metrics.iter().find_map(measured))
        .collect()
}

/// The candidates that the tables show. If none gains, they are the first that fired.
pub(crate) fn shown(verdict: &Verdict) -> Vec<&Candidate> {
    const MOST: usize = 2;
    let mut shown: Vec<&Candidate> = verdict.best_of_each().into_iter().flatten().collect();
    if shown.is_empty() {
        let candidates = verdict.candidates.iter();
        let fired = candidates.filter(|candidate| !candidate.is_idle);
        shown.extend(fired.take(MOST));
    }
    shown
}

/// A table for each group, those with the shortest delays first.
pub(crate) fn tables(verdict: &Verdict) -> Vec<Effects<'_>> {
    let shown = shown(verdict);
    let effects = |place: String, judged: &dyn Fn(&'_ Candidate) -> Option<usize>| {
        let columns = shown.iter().map(|candidate| Column {
            candidate,
            judged: match judged(candidate) {
                Some(group) => &candidate.regimes[group].judged,
                None => &candidate.judged,
            },
        });
        Effects {
            threshold: &verdict.threshold,
            place,
            columns: columns.collect(),
        }
    };
    match shown.first().map(|first| &first.regimes[..]) {
        None => Vec::new(),
        Some([]) => vec![effects(count(verdict.cells, "cell"), &|_| None)],
        Some(groups) => {
            let groups = groups.iter().enumerate();
            let groups = groups.map(|(at, group)| effects(group.words(), &move |_| Some(at)));
            groups.collect()
        }
    }
}

/// The tables as Markdown, with the cells that they are of and what their marks mean.
pub(crate) fn as_markdown(tables: &[Effects], summary: &Summary) -> Vec<String> {
    let legend = (!tables.is_empty()).then(|| format!("{} {LEGEND}", cells(summary)));
    let tables = tables.iter().map(|effects| table(effects.rows()));
    tables.chain(legend).collect()
}

/// "Cells: 1, 5 peers; RTT 0, 5 ms; 16 KiB, 256 KiB." An application has no cells.
fn cells(summary: &Summary) -> String {
    let axes = &summary.axes;
    let payloads = axes.payload_bytes.iter().map(|payload| payload.in_words());
    match summary.identity.application {
        Some(_) => String::new(),
        None => format!(
            "Cells: {} peers; RTT {} ms; payload {}.",
            joined(&axes.peers, ", "),
            joined(&axes.rtt_ms, ", "),
            joined(payloads, ", ")
        ),
    }
}

impl Effects<'_> {
    pub(crate) fn candidates(&self) -> usize {
        self.columns.len()
    }

    /// The columns of one candidate.
    pub(crate) fn rows_of(&self, candidate: usize) -> Vec<Row> {
        let mut rows = self.rows();
        for Row(fields) in &mut rows {
            let own = fields.drain(2..).skip(2 * candidate).take(2);
            let own: Vec<_> = own.collect();
            fields.extend(own);
        }
        rows
    }

    pub(crate) fn rows(&self) -> Vec<Row> {
        ROWS.iter()
            .filter_map(|metrics| self.row(metrics))
            .collect()
    }

    /// None if a quantity is measured in no cell of the whole sweep.
    fn row(&self, metrics: &[Metric]) -> Option<Row> {
        let is_measured = |metric: &Metric| {
            let mut columns = self.columns.iter();
            columns.any(|column| column.candidate.of_metric(*metric).is_some())
        };
        let metric = *metrics.iter().find(|metric| is_measured(metric))?;
        let judged = |column: &Column| {
            let mut judged = column.judged.iter();
            judged
                .find(|judged| judged.quantity.metric == metric)
                .copied()
        };
        let levels = self
            .columns
            .iter()
            .find_map(judged)
            .and_then(|judged| judged.levels);
        let level = |value: f64| format!("{} {}", number(value), metric.info().unit);
        let words = Quantity::of_metric(metric)?.words;
        let words = words.replace("the threshold", self.threshold);
        let before = levels.map(|[before, _]| level(before));
        let mut row = Row::of(capitalised(&self.place), words).with_any("before", before);
        for column in &self.columns {
            let judged = judged(column);
            let after = judged.and_then(|judged| Some(level(judged.levels?[1])));
            let change = judged.as_ref().map_or_else(words::not_compared, change);
            row = row
                .with_any(quoted(&column.candidate.label), after)
                .with("change", change);
        }
        Some(row)
    }
}

/// Every judged quantity of a candidate with the field that a table shows of its change.
#[cfg(test)]
pub(crate) fn changes(candidate: &Candidate) -> Vec<(Judged, String)> {
    let judged = candidate.deciding().into_iter();
    judged.map(|judged| (judged, change(&judged))).collect()
}

/// Bold if the whole interval is beyond the margin, and without its middle if the interval includes zero.
fn change(judged: &Judged) -> String {
    let change = judged.change();
    match change.split_once('[') {
        _ if judged.is(Outcome::Better) || judged.is(Outcome::Worse) => format!("**{change}**"),
        Some((_, interval)) if judged.interval.covers(0.0) => format!("not resolved [{interval}"),
        _ => change,
    }
}

/// The tables for a terminal of 100 columns, with the first candidate only.
pub(crate) fn for_terminal(verdict: &Verdict) -> Vec<String> {
    let tables = tables(verdict);
    let lines = tables.iter().flat_map(|effects| {
        let rows = effects.rows_of(0);
        let titles = rows
            .first()
            .map(|row| row.0.iter().map(|(title, _)| &**title));
        let titles: Vec<&str> = titles.into_iter().flatten().collect();
        let fields = rows
            .iter()
            .map(|row| row.0.iter().map(|(_, field)| &**field).collect());
        let lines: Vec<Vec<&str>> = std::iter::once(titles).chain(fields).collect();
        lines
            .iter()
            .map(|fields| line(fields))
            .collect::<Vec<String>>()
    });
    lines.collect()
}

fn line(fields: &[&str]) -> String {
    let plain = |at: usize| fields.get(at).map(|field| field.replace(['*', '`'], ""));
    let [words, before, after, change] = [0, 1, 2, 3].map(|at| plain(at).unwrap_or_default());
    format!("{words:<38}{before:>17}  {after:>17}  {change}")
}
