//! The tables of what the best candidates do, one for each group of cells. The report, the comment, the page and the terminal
//! show the same rows.

use std::collections::BTreeSet;

use poll_probe::{Budget, Limit, Wake};

use super::markdown::{Row, table};
use crate::metrics::{Metric, Quantity};
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

/// The row of a quantity, with its change by each candidate.
pub(crate) struct EffectRow {
    /// The quantity, such as "time beyond 50 µs".
    pub(crate) quantity_words: String,
    /// The level that the changes start from. None if it is not known.
    pub(crate) before: Option<String>,
    pub(crate) candidates: Vec<EffectField>,
}

/// The change of a quantity by one candidate.
pub(crate) struct EffectField {
    pub(crate) label: String,
    /// The level after the change. None if it is not known.
    pub(crate) after: Option<String>,
    pub(crate) change: String,
    /// Whether the change was compared, and its interval excludes zero.
    pub(crate) excludes_zero: bool,
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
        threshold: &'a str = &effects.verdict.threshold_words,
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
    let tables = tables.iter().map(Effects::as_markdown);
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

    pub(crate) fn labels(&self) -> impl Iterator<Item = &str> {
        let candidates = self.candidates.iter();
        candidates.map(|candidate| &*candidate.label)
    }

    /// The quantities of the rows.
    pub(crate) fn quantities(&self) -> impl Iterator<Item = Quantity> {
        self.verdict.rows().into_iter()
    }

    pub(crate) fn rows(&self) -> Vec<EffectRow> {
        self.quantities()
            .map(|quantity| self.row(quantity))
            .collect()
    }

    /// The table as Markdown.
    pub(crate) fn as_markdown(&self) -> String {
        let title = self.title();
        table(self.rows().into_iter().map(|row| {
            let begun = Row::new(&title, row.quantity_words).with_optional("before", row.before);
            row.candidates.into_iter().fold(begun, |begun, field| {
                begun
                    .with_optional(quoted(&field.label), field.after)
                    .with("change", field.change)
            })
        }))
    }

    /// The table for a terminal, with the first candidate only.
    fn as_lines(&self) -> Vec<String> {
        let Some(candidate) = self.candidates.first() else {
            return Vec::new();
        };
        let label = quoted(&candidate.label);
        // The sentence above the tables has the whole name.
        let after = match label.chars().count() > WIDEST_VALUE {
            true => "after",
            false => &label,
        };
        let mut lines = vec![line([&self.title(), "before", after], "change")];
        lines.extend(self.rows().iter().filter_map(|row| {
            let field = row.candidates.first()?;
            let [before, after] = [&row.before, &field.after];
            let [before, after] = [before, after].map(|level| level.as_deref().unwrap_or("–"));
            Some(line([&row.quantity_words, before, after], &field.change))
        }));
        lines
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

    /// The title of the table, such as "Without delay, 20 cells".
    pub(crate) fn title(&self) -> String {
        capitalised(&match self.group {
            Some(group) => self.candidates[0].groups[group].words_with_cells(),
            None => count(self.verdict.cells, "cell"),
        })
    }

    fn row(&self, quantity: Quantity) -> EffectRow {
        self.row_of_changes(quantity, &self.verdict.threshold_words, |candidate| {
            candidate.change_in(self.group, quantity)
        })
    }

    /// The row of the time beyond another threshold.
    pub(crate) fn row_beyond(&self, threshold_ns: u64) -> Option<EffectRow> {
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
    ) -> EffectRow {
        let level = |value: f64| format!("{} {}", number(value), quantity.metric.info().unit);
        let candidates = self.candidates.iter().copied();
        let first = candidates.clone().find_map(&change_by);
        let fields = candidates.map(|candidate| {
            let change = change_by(candidate);
            EffectField {
                label: candidate.label.clone(),
                after: change.and_then(|change| Some(level(change.levels?.after))),
                change: change.map_or_else(words::not_compared, field),
                excludes_zero: change.is_some_and(excludes_zero),
            }
        });
        EffectRow {
            quantity_words: quantity.words_beyond(threshold),
            before: first.and_then(|change| Some(level(change.levels?.before))),
            candidates: fields.collect(),
        }
    }
}

/// Returns every change that decides about a candidate with the field in which a table shows it.
#[cfg(test)]
pub(crate) fn changes(candidate: &Candidate) -> Vec<(QuantityChange, String)> {
    let changes = candidate.deciding().into_iter();
    changes.map(|change| (change, field(&change))).collect()
}

/// The field of a change. If the interval includes zero, only the interval is shown.
fn field(change: &QuantityChange) -> String {
    match excludes_zero(change) {
        true => emphasised(change),
        false => format!("not resolved {}", change.interval_in_words()),
    }
}

fn excludes_zero(change: &QuantityChange) -> bool {
    !change.interval.covers(0.0)
}

/// The change with its interval, in bold if the whole interval is beyond the margin.
pub(super) fn emphasised(change: &QuantityChange) -> String {
    match change.is(Outcome::Better) || change.is(Outcome::Worse) {
        true => format!("**{}**", change.in_words()),
        false => change.in_words(),
    }
}

/// The tables for a terminal of 100 columns, with the first candidate only.
pub(crate) fn for_terminal(verdict: &Verdict) -> Vec<String> {
    tables(verdict).iter().flat_map(Effects::as_lines).collect()
}

const WIDEST_VALUE: usize = 17;

/// A line without marks, except those of the change.
fn line(fields: [&str; 3], change: &str) -> String {
    let [words, before, after] = fields.map(|field| field.replace(['*', '`'], ""));
    format!("{words:<38}{before:>WIDEST_VALUE$}  {after:>WIDEST_VALUE$}  {change}")
}
