//! All variants in one table for each group of cells, the best first. If subjects are compared under several budgets, there is
//! a table of what each subject changes, and one of what each budget changes in its subject.

use run_format::BASELINE;

use super::effects::emphasised;
use super::markdown::{Row, details, table};
use crate::load::{ComparedRole, ComparedVariant};
use crate::metrics::{Metric, MetricKey, Quantity, ReportPart, Side};
use crate::prose::{self, prose};
use crate::stats::{self, CONFIDENCE};
use crate::summary::{CellSummary, Summary};
use crate::text::{capitalised, confidence, number, quoted};
use crate::verdict::{Candidate, GroupChanges, QuantityChange, Verdict, words};

pub(super) fn text(summary: &Summary, verdict: &Verdict) -> String {
    let groups = verdict.group_count();
    let mut tables: Vec<Option<String>> = match groups {
        0 => {
            let candidates = best_first(verdict, None, &verdict.quantities);
            vec![Some(table(rows_of_changes("variant", verdict, candidates)))]
        }
        _ => (0..groups)
            .map(|group| Some(table(in_group(verdict, group))))
            .collect(),
    };
    if has_subjects_and_budgets(summary) {
        tables = vec![
            Some("What each subject changes without a budget:".to_owned()),
            Some(table(subjects(summary, verdict))),
            Some(
                "What each budget changes in its subject, each interval with 95 % by itself:"
                    .to_owned(),
            ),
            Some(table(budgets(summary, verdict))),
        ];
    }
    tables.push(Some(notes(summary, verdict)));
    details("All variants", tables)
}

fn has_subjects_and_budgets(summary: &Summary) -> bool {
    let has = |differs: fn(&ComparedVariant) -> bool| {
        let mut candidates = summary.candidates();
        candidates.any(|(_, variant)| differs(variant))
    };
    has(|variant| variant.subject > 0) && has(|variant| !variant.budgets.is_none())
}

fn fired(verdict: &Verdict) -> Vec<&Candidate> {
    let candidates = verdict.candidates.iter();
    candidates
        .filter(|candidate| !candidate.never_fired)
        .collect()
}

/// The candidates that fired, sorted by their change in the first of these quantities.
fn best_first<'a>(
    verdict: &'a Verdict,
    group: Option<usize>,
    quantities: &[Quantity],
) -> Vec<&'a Candidate> {
    let mut candidates = fired(verdict);
    let loss = |candidate: &Candidate| {
        let quantity = *quantities.first()?;
        Some(quantity.loss(candidate.change_in(group, quantity)?.value))
    };
    candidates.sort_by(|a, b| {
        let [a, b] = [a, b].map(|candidate| loss(candidate).unwrap_or(f64::INFINITY));
        a.total_cmp(&b)
    });
    candidates
}

/// The rows of one group of cells. The A/A control comes last.
fn in_group(verdict: &Verdict, group: usize) -> Vec<Row> {
    let rows = verdict.rows();
    let candidates = best_first(verdict, Some(group), &rows).into_iter();
    let rows = candidates.chain(&verdict.control).map(|candidate| {
        let in_group = candidate.groups.get(group);
        let words = in_group.map_or_else(String::new, GroupChanges::words_with_cells);
        let row = Row::new(capitalised(&words), label(verdict, candidate));
        rows.iter().fold(row, |row, quantity| {
            let change = candidate.change_in(Some(group), *quantity);
            let text = change.map_or_else(words::not_compared, emphasised);
            row.with(quantity.words(), text)
        })
    });
    rows.collect()
}

/// The label of a candidate, in bold if it gains something and no other variant at the same ends is shown to be better.
fn label(verdict: &Verdict, candidate: &Candidate) -> String {
    let leaders = verdict.leaders().into_iter();
    let mut leaders = leaders.map(|at| verdict.candidates[at].variant);
    match leaders.any(|leader| leader == candidate.variant) {
        true => format!("**{}**", quoted(&candidate.label)),
        false => quoted(&candidate.label),
    }
}

fn subjects(summary: &Summary, verdict: &Verdict) -> Vec<Row> {
    let mut candidates = fired(verdict);
    candidates.retain(|candidate| summary.variants[candidate.variant].budgets.is_none());
    rows_of_changes("subject", verdict, candidates)
}

/// Compares each budget with the same subject without one.
fn budgets(summary: &Summary, verdict: &Verdict) -> Vec<Row> {
    let variants = || summary.variants.iter().enumerate();
    let rows = variants().filter_map(|(at, variant)| {
        if variant.budgets.is_none() || variant.role != ComparedRole::Candidate {
            return None;
        }
        let is_without = |(_, other): &(usize, &ComparedVariant)| {
            other.subject == variant.subject && other.budgets.is_none()
        };
        let (without, _) = variants().find(is_without)?;
        let changes = verdict.changes_between(summary, Side::Variant(without), at, CONFIDENCE);
        let row = Row::new("subject and budget", quoted(&variant.label));
        Some(with_quantities(row, verdict, &changes, emphasised))
    });
    rows.collect()
}

fn with_quantities(
    row: Row,
    verdict: &Verdict,
    changes: &[QuantityChange],
    show: impl Fn(&QuantityChange) -> String,
) -> Row {
    let quantities = verdict.quantities.iter();
    quantities.fold(row, |row, quantity| {
        let change = changes.iter().find(|change| change.quantity == *quantity);
        row.with(quantity.words(), change.map_or_else(words::absent, &show))
    })
}

/// The changes over all cells, with a row for each of these candidates. The A/A control comes last. The first column has this
/// title.
pub(crate) fn rows_of_changes<'a>(
    title: &str,
    verdict: &Verdict,
    candidates: impl IntoIterator<Item = &'a Candidate>,
) -> Vec<Row> {
    let row = |candidate: &Candidate, label: String, result: &str| {
        let row = Row::new(title, label).with("yields per 1,000 polls", candidate.firing());
        let show = match candidate.never_fired {
            true => QuantityChange::in_words,
            false => emphasised,
        };
        with_quantities(row, verdict, &candidate.changes, show).with("result", result)
    };
    let candidates = candidates.into_iter();
    let rows =
        candidates.map(|candidate| row(candidate, label(verdict, candidate), candidate.result()));
    let control = verdict.control.iter();
    let last = control.map(|control| row(control, quoted(&control.label), "A/A control"));
    rows.chain(last).collect()
}

fn notes(summary: &Summary, verdict: &Verdict) -> String {
    let candidates = &verdict.candidates;
    // Not all cells have all quantities.
    let fewer_cells = verdict.quantities.iter().filter_map(|quantity| {
        let overall = candidates
            .iter()
            .filter_map(|candidate| candidate.overall_change(quantity.metric));
        let cells = overall.map(|change| change.cells).min()?;
        (cells < verdict.cells).then(|| format!("{} over {cells}", quantity.words()))
    });
    let margin =
        |quantity: &Quantity| format!("{} {}", quantity.words(), quantity.margin_with_unit());
    // No cell has the metric of the floor if `idle.csv` is missing.
    let level = |metric: Metric| {
        let mean = stats::mean(summary.values(MetricKey { site: None, metric }, BASELINE))?;
        let info = metric.info();
        Some(format!("{} {} {}", info.words, number(mean), info.unit))
    };
    let has = |cell: &CellSummary, metric| cell.worker_figure(metric, BASELINE).is_some();
    let is_unknown = |cell: &&CellSummary| {
        has(cell, Metric::WholeCpuUsPerRequest) && !has(cell, Metric::CpuUsPerRequest)
    };
    let never_fired =
        |candidate: &Candidate| candidate.never_fired.then(|| quoted(&candidate.label));
    let copy = |variant: &ComparedVariant| {
        (variant.role == ComparedRole::NotJudged).then(|| quoted(&variant.label))
    };
    prose::text(&prose!('a "variants_notes.txt" {
        summary: &'a Summary = summary,
        verdict: &'a Verdict = verdict,
        fewer_cells: Vec<String> = fewer_cells.collect(),
        confidence: String = confidence(verdict.confidence),
        fired: usize = fired(verdict).iter().filter(|candidate| !candidate.changes.is_empty()).count(),
        groups: usize = verdict.group_count(),
        never_fired: Vec<String> = candidates.iter().filter_map(never_fired).collect(),
        copies: Vec<String> = summary.variants.iter().filter_map(copy).collect(),
        margins: Vec<String> = verdict.quantities.iter().map(margin).collect(),
        has_floor: bool = level(Metric::CotenantFloorUs).is_some(),
        levels: Vec<String> = Metric::shown_in(ReportPart::Levels).into_iter().filter_map(level).collect(),
        unknown: usize = summary.measured_cells().filter(is_unknown).count(),
        uncompared: usize = summary.measured_cells().count().saturating_sub(verdict.cells),
    }))
}
