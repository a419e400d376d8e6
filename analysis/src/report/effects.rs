//! The tables of what the best candidates do, one for each group of cells. The report, the comment, the page and the terminal
//! show the same rows.

use std::collections::BTreeSet;

use poll_probe::{Budget, Limit, Wake};

use super::markdown::{Row, table};
use crate::measure::{Metric, Quantity};
use crate::prose::{self, prose};
use crate::summary::Summary;
use crate::text::{self, capitalised, count, duration, joined, joined_any, number, quoted};
use crate::verdict::{Candidate, Outcome, QuantityChange, Verdict, words};

/// The changes of some candidates in one group of cells, or in all cells if there is one group.
pub(crate) struct Effects<'a> {
    verdict: &'a Verdict,
    group: Option<usize>,
    candidates: Vec<&'a Candidate>,
}

/// The candidates that the tables show. If none gains, they are the first that fired; and if there are none, the A/A control.
pub(crate) fn shown(verdict: &Verdict) -> Vec<&Candidate> {
    const MOST: usize = 2;
    let mut shown: Vec<&Candidate> = verdict.best_of_each().into_iter().flatten().collect();
    if shown.is_empty() {
        let candidates = verdict.candidates.iter();
        let fired = candidates.filter(|candidate| !candidate.never_fired);
        shown.extend(fired.take(MOST));
    }
    if verdict.candidates.is_empty() {
        shown.extend(&verdict.control);
    }
    shown
}

/// A table for each group, those with the shortest delays first.
pub(crate) fn tables(verdict: &Verdict) -> Vec<Effects<'_>> {
    let candidates = shown(verdict);
    let groups: Vec<Option<usize>> = match verdict.group_count() {
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

/// Explains the marks of the tables and the names of the candidates.
pub(crate) fn legend(tables: &[Effects], summary: &Summary) -> Option<String> {
    let effects = tables.first()?;
    let rows = effects.verdict.rows().into_iter();
    let margins = rows.map(Quantity::margin_with_unit);
    let candidates = effects.candidates.iter();
    let sentences = prose::sentences(&prose!('a "legend.txt" {
        threshold: &'a str = &effects.verdict.threshold,
        margins: String = joined(margins, ", "),
        has_open_end: bool = tables.iter().any(Effects::has_open_end),
        candidates: Vec<String> = candidates.filter_map(|candidate| describes(candidate, summary)).collect(),
    }));
    Some(joined(sentences, " "))
}

/// Says what the remedies and bounds of a candidate do. None if it is another subject, which has neither.
pub(crate) fn describes(candidate: &Candidate, summary: &Summary) -> Option<String> {
    let variant = &summary.variants[candidate.variant];
    let remedies = variant
        .budgets
        .remedies()
        .map(|remedy| remedy.does().to_owned());
    let bounds = variant.bounds().map(|(_, budget)| in_words(budget));
    let does = joined_any(remedies.chain(bounds).collect::<BTreeSet<_>>(), "; ")?;
    Some(format!("{} {does}.", quoted(&candidate.label)))
}

fn in_words(budget: Budget) -> String {
    prose::text(&prose!("bound.txt" { budget: Budget = budget }))
}

/// The tables as Markdown. Below them, the cells are named and the marks explained.
pub(crate) fn as_markdown(tables: &[Effects], summary: &Summary) -> Vec<String> {
    let legend = legend(tables, summary).map(|legend| format!("{} {legend}", cells(summary)));
    let tables = tables.iter().map(|effects| table(effects.rows()));
    tables.chain(legend).collect()
}

/// Names the cells, such as "Cells: 1, 5 peers; RTT 0, 5 ms; payload 16 KiB, 256 KiB." Empty for an application, which has no
/// cells.
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

impl<'a> Effects<'a> {
    /// A table of this group for each candidate.
    pub(crate) fn by_candidate(&self) -> impl Iterator<Item = Effects<'a>> {
        let candidates = self.candidates.iter();
        candidates.map(move |candidate| Effects {
            candidates: vec![*candidate],
            ..*self
        })
    }

    /// The quantities of the rows.
    pub(crate) fn quantities(&self) -> impl Iterator<Item = Quantity> {
        self.verdict.rows().into_iter()
    }

    pub(crate) fn rows(&self) -> Vec<Row> {
        self.quantities()
            .map(|quantity| self.row(quantity))
            .collect()
    }

    /// Whether an interval has an end that is shown as a question mark.
    fn has_open_end(&self) -> bool {
        let mut changes = self.candidates.iter().flat_map(|candidate| {
            self.quantities()
                .filter_map(|quantity| candidate.change_in(self.group, quantity))
        });
        changes.any(|change| {
            text::is_far_away(change.interval.low) || text::is_far_away(change.interval.high)
        })
    }

    /// Returns words such as "without delay, 20 cells".
    fn group_with_cells(&self) -> String {
        match self.group {
            Some(group) => self.candidates[0].groups[group].words_with_cells(),
            None => count(self.verdict.cells, "cell"),
        }
    }

    fn row(&self, quantity: Quantity) -> Row {
        self.row_of_changes(quantity, &self.verdict.threshold, |candidate| {
            candidate.change_in(self.group, quantity)
        })
    }

    /// The row of the time beyond another threshold.
    pub(crate) fn row_beyond(&self, threshold_ns: u64) -> Option<Row> {
        let beyond = Quantity::by_metric(Metric::BeyondMsPerS)?;
        let threshold = duration(threshold_ns);
        Some(self.row_of_changes(beyond, &threshold, |candidate| {
            candidate.beyond_in(self.group, threshold_ns)
        }))
    }

    fn row_of_changes(
        &self,
        quantity: Quantity,
        threshold: &str,
        change_by: impl Fn(&'a Candidate) -> Option<&'a QuantityChange>,
    ) -> Row {
        let level = |value: f64| format!("{} {}", number(value), quantity.metric.info().unit);
        let candidates = self.candidates.iter().copied();
        let first = candidates.clone().find_map(&change_by);
        let before = first.and_then(|change| Some(level(change.levels?[0])));
        let words = quantity.words_beyond(threshold);
        let row =
            Row::new(capitalised(&self.group_with_cells()), words).with_optional("before", before);
        candidates.fold(row, |row, candidate| {
            let change = change_by(candidate);
            let after = change.and_then(|change| Some(level(change.levels?[1])));
            row.with_optional(quoted(&candidate.label), after)
                .with("change", change.map_or_else(words::not_compared, field))
        })
    }
}

/// Returns every change that decides about a candidate with the field in which a table shows it.
#[cfg(test)]
pub(crate) fn changes(candidate: &Candidate) -> Vec<(QuantityChange, String)> {
    let changes = candidate.deciding().into_iter();
    changes.map(|change| (change, field(&change))).collect()
}

const NOT_RESOLVED: &str = "not resolved";

/// The field of a change. If the interval includes zero, only the interval is shown.
fn field(change: &QuantityChange) -> String {
    let text = emphasised(change);
    match text.split_once('[') {
        Some((_, interval)) if change.interval.covers(0.0) => format!("{NOT_RESOLVED} [{interval}"),
        _ => text,
    }
}

/// The change with its interval, in bold if the whole interval is beyond the margin.
pub(super) fn emphasised(change: &QuantityChange) -> String {
    match change.is(Outcome::Better) || change.is(Outcome::Worse) {
        true => format!("**{}**", change.in_words()),
        false => change.in_words(),
    }
}

/// Whether the field of a change says nothing that a reader could act on.
pub(crate) fn is_open(change: &str) -> bool {
    change.starts_with(NOT_RESOLVED) || change == words::not_compared()
}

/// The tables for a terminal of 100 columns, with the first candidate only.
pub(crate) fn for_terminal(verdict: &Verdict) -> Vec<String> {
    let tables = tables(verdict);
    let first = tables
        .iter()
        .filter_map(|effects| effects.by_candidate().next());
    let lines = first.flat_map(|effects| {
        let rows = effects.rows();
        let titles = rows.first().map(|row| {
            let fields = row.fields.iter();
            let mut titles: Vec<&str> = fields.map(|field| &*field.title).collect();
            // The sentence above the tables has the whole name.
            if let Some(label) = titles.get_mut(2)
                && label.chars().count() > WIDEST_VALUE
            {
                *label = "after";
            }
            line(&titles)
        });
        let texts = rows.iter().map(|row| {
            let fields = row.fields.iter();
            line(&fields.map(|field| &*field.text).collect::<Vec<_>>())
        });
        titles.into_iter().chain(texts).collect::<Vec<String>>()
    });
    lines.collect()
}

const WIDEST_VALUE: usize = 17;

fn line(fields: &[&str]) -> String {
    let plain = |at: usize| fields.get(at).map(|field| field.replace(['*', '`'], ""));
    let [words, before, after] = [0, 1, 2].map(|at| plain(at).unwrap_or_default());
    let change = fields.get(3).unwrap_or(&"");
    format!("{words:<38}{before:>WIDEST_VALUE$}  {after:>WIDEST_VALUE$}  {change}")
}
