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

/// The changes of some candidates in one group of cells, or in all cells if there is one group.
pub(crate) struct Effects<'a> {
    verdict: &'a Verdict,
    group: Option<usize>,
    candidates: Vec<&'a Candidate>,
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
    let candidates = shown(verdict);
    let groups: Vec<Option<usize>> = match verdict.groups() {
        _ if candidates.is_empty() => Vec::new(),
        0 => vec![None],
        groups => (0..groups).map(Some).collect(),
    };
    let effects = groups.into_iter().map(|group| Effects {
        verdict,
        group,
        candidates: candidates.clone(),
    });
    effects.collect()
}

/// What the marks of the tables mean.
pub(crate) fn legend(tables: &[Effects]) -> Option<String> {
    let threshold = &tables.first()?.verdict.threshold;
    Some(format!(
        "Bold: the whole interval is beyond the margin of the quantity. Not resolved: the interval \
         includes zero. A question mark is an end without a bound. Time beyond {threshold} adds up \
         the parts of polls after their first {threshold}. A wake-up is late if another task on \
         central's thread waits longer than that for its poll."
    ))
}

/// The tables as Markdown, with the cells that they are of and what their marks mean.
pub(crate) fn as_markdown(tables: &[Effects], summary: &Summary) -> Vec<String> {
    let legend = legend(tables).map(|legend| format!("{} {legend}", cells(summary)));
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
        self.candidates.len()
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
        let quantities = quantities(self.verdict).into_iter();
        quantities.map(|quantity| self.row(quantity)).collect()
    }

    /// "without delay, 20 cells"
    fn place(&self) -> String {
        match self.group {
            Some(group) => self.candidates[0].regimes[group].words(),
            None => count(self.verdict.cells, "cell"),
        }
    }

    fn row(&self, quantity: Quantity) -> Row {
        let level = |value: f64| format!("{} {}", number(value), quantity.metric.info().unit);
        let candidates = self.candidates.iter();
        let mut judged = candidates.map(|candidate| candidate.judged_of(self.group, quantity));
        let first = judged.find_map(|judged| judged);
        let before = first.and_then(|judged| Some(level(judged.levels?[0])));
        let words = quantity
            .words
            .replace("the threshold", &self.verdict.threshold);
        let row = Row::of(capitalised(&self.place()), words).with_any("before", before);
        self.candidates.iter().fold(row, |row, candidate| {
            let judged = candidate.judged_of(self.group, quantity);
            let after = judged.and_then(|judged| Some(level(judged.levels?[1])));
            row.with_any(quoted(&candidate.label), after)
                .with("change", judged.map_or_else(words::not_compared, change))
        })
    }
}

/// Every judged quantity of a candidate with the field that a table shows of its change.
#[cfg(test)]
pub(crate) fn changes(candidate: &Candidate) -> Vec<(Judged, String)> {
    let judged = candidate.deciding().into_iter();
    judged.map(|judged| (judged, change(&judged))).collect()
}

/// Without its middle if the interval includes zero.
fn change(judged: &Judged) -> String {
    let change = emphasised(judged);
    match change.split_once('[') {
        Some((_, interval)) if judged.interval.covers(0.0) => format!("not resolved [{interval}"),
        _ => change,
    }
}

/// Bold if the whole interval is beyond the margin.
pub(super) fn emphasised(judged: &Judged) -> String {
    match judged.is(Outcome::Better) || judged.is(Outcome::Worse) {
        true => format!("**{}**", judged.change()),
        false => judged.change(),
    }
}

/// The tables for a terminal of 100 columns, with the first candidate only.
pub(crate) fn for_terminal(verdict: &Verdict) -> Vec<String> {
    let tables = tables(verdict);
    let lines = tables.iter().flat_map(|effects| {
        let rows = effects.rows_of(0);
        let titles = rows.iter().take(1).map(|Row(fields)| {
            let titles = fields.iter().map(|(title, _)| &**title);
            line(&titles.collect::<Vec<_>>())
        });
        let texts = rows.iter().map(|Row(fields)| {
            let texts = fields.iter().map(|(_, text)| &**text);
            line(&texts.collect::<Vec<_>>())
        });
        titles.chain(texts).collect::<Vec<String>>()
    });
    lines.collect()
}

fn line(fields: &[&str]) -> String {
    let plain = |at: usize| fields.get(at).map(|field| field.replace(['*', '`'], ""));
    let [words, before, after, change] = [0, 1, 2, 3].map(|at| plain(at).unwrap_or_default());
    format!("{words:<38}{before:>17}  {after:>17}  {change}")
}
