//! Judges the variants of a sweep one by one. How they compare with each other is not known here.

use std::collections::BTreeMap;

use run_format::{BASELINE, Ends, Site};

use super::candidate::{Candidate, Firing, GroupChanges, from_baseline, over_cells, worse_cells};
use super::delay_group::{DelayGroup, group_words};
use super::outcome::{BeforeAfter, QuantityChange};
use super::threshold;
use crate::metrics::{Metric, MetricKey, Quantity, Side};
use crate::options::Options;
use crate::stats;
use crate::summary::{CellSummary, ChangeFigure, Summary};

pub(super) struct Judge<'a> {
    summary: &'a Summary,
    site: Site,
    quantities: &'a [Quantity],
    /// The groups of cells. Empty if all cells are in one group.
    groups: Vec<(DelayGroup, Vec<&'a CellSummary>)>,
    /// The confidence of each interval, so that all of them hold together.
    pub(super) confidence: f64,
    threshold_ns: u64,
}

/// The quantities that decide and were measured, with the margins of the options.
pub(super) fn measured_quantities(
    summary: &Summary,
    site: Site,
    options: &Options,
) -> Vec<Quantity> {
    let control = summary
        .control()
        .filter(|_| summary.candidates().count() == 0);
    let compared = summary.candidates().chain(control);
    let variants: Vec<usize> = compared.map(|(variant, _)| variant).collect();
    let is_measured = |quantity: &Quantity| {
        let mut variants = variants.iter();
        variants.any(|variant| has_change(summary, site, *quantity, *variant))
    };
    let mut quantities = Quantity::with_margins(&options.figures.margin);
    quantities.retain(is_measured);
    quantities
}

fn has_change(summary: &Summary, site: Site, quantity: Quantity, variant: usize) -> bool {
    let changes = from_baseline(summary.measured_cells(), site, quantity.metric, variant);
    !changes.is_empty()
}

impl<'a> Judge<'a> {
    /// `firings` are those of all candidates. The confidence counts the candidates that fired.
    pub(super) fn new(
        summary: &'a Summary,
        site: Site,
        quantities: &'a [Quantity],
        firings: &[(usize, Firing)],
        options: &Options,
    ) -> Judge<'a> {
        // A subject that failed in all launches has no intervals.
        let was_compared = |variant: usize| {
            let mut quantities = quantities.iter();
            quantities.any(|quantity| has_change(summary, site, *quantity, variant))
        };
        let compared = firings
            .iter()
            .filter(|(variant, firing)| !firing.never_fired && was_compared(*variant));
        let mut groups = DelayGroup::all(summary);
        if groups.len() < 2 {
            groups.clear();
        }
        let intervals = compared.count() * quantities.len() * (1 + groups.len());
        Judge {
            summary,
            site,
            quantities,
            groups,
            confidence: stats::confidence_of_each(intervals),
            threshold_ns: options.figures.threshold_ns,
        }
    }

    pub(super) fn candidate(&self, variant: usize, firing: Firing) -> Candidate {
        let summary = self.summary;
        let compared = &summary.variants[variant];
        let cells: Vec<&CellSummary> = summary.measured_cells().collect();
        let curve = threshold::curve(summary, self.site, variant);
        Candidate {
            variant,
            label: compared.label.clone(),
            ends: match summary.identity.is_at_both_ends(compared.subject) {
                true => Ends::Both,
                false => compared.budgets.ends,
            },
            yields: firing.yields,
            never_fired: firing.never_fired,
            changes: self.changes_in(&cells, variant),
            groups: self.changes_by_group(variant),
            beyond: self.beyond_in(&cells, variant),
            opposite: threshold::opposite(&curve, self.threshold_ns, self.beyond()),
            curve,
            worse_cells: worse_cells(summary, self.site, self.quantities, variant),
            is_of_application: summary.identity.application.is_some(),
        }
    }

    fn changes_by_group(&self, variant: usize) -> Vec<GroupChanges> {
        let all: Vec<DelayGroup> = self.groups.iter().map(|(group, _)| *group).collect();
        let in_group = |(group, cells): &(DelayGroup, Vec<&CellSummary>)| GroupChanges {
            group: *group,
            words: group_words(&[*group], &all),
            cells: cells.len(),
            changes: self.changes_in(cells, variant),
            beyond: self.beyond_in(cells, variant),
        };
        self.groups.iter().map(in_group).collect()
    }

    fn changes_in(&self, cells: &[&CellSummary], variant: usize) -> Vec<QuantityChange> {
        let levels = |metric: Metric| {
            let key = MetricKey::new(self.site, metric);
            let pair = |cell: &&CellSummary| {
                cell.change(key, variant)?;
                Some((cell.value(key, BASELINE)?, cell.value(key, variant)?))
            };
            let (before, after): (Vec<f64>, Vec<f64>) = cells.iter().filter_map(pair).unzip();
            Some(BeforeAfter {
                before: stats::mean(before)?,
                after: stats::mean(after)?,
            })
        };
        let mut changes = over_quantities(self.quantities, self.confidence, |metric| {
            from_baseline(cells.iter().copied(), self.site, metric, variant)
        });
        for change in &mut changes {
            change.levels = levels(change.quantity.metric);
        }
        changes
    }

    fn beyond_in(&self, cells: &[&CellSummary], variant: usize) -> BTreeMap<u64, QuantityChange> {
        let key = MetricKey::new(self.site, Metric::BeyondMsPerS);
        let inflation = self.summary.inflation(key);
        self.beyond().map_or_else(BTreeMap::new, |beyond| {
            threshold::changes(cells, variant, inflation, self.confidence, beyond)
        })
    }

    /// The time beyond the threshold, if it was measured.
    fn beyond(&self) -> Option<Quantity> {
        let mut quantities = self.quantities.iter().copied();
        quantities.find(|quantity| quantity.metric == Metric::BeyondMsPerS)
    }
}

/// The changes to a variant, in the cells where both sides were measured.
pub(super) fn changes_between(
    summary: &Summary,
    site: Site,
    quantities: &[Quantity],
    (from, to): (Side, usize),
    confidence: f64,
) -> Vec<QuantityChange> {
    over_quantities(quantities, confidence, |metric| {
        summary.changes_by_cell(MetricKey::new(site, metric), from, to)
    })
}

/// The mean change of each quantity. `changes` has the change of a metric in each cell.
fn over_quantities(
    quantities: &[Quantity],
    confidence: f64,
    changes: impl Fn(Metric) -> Vec<ChangeFigure>,
) -> Vec<QuantityChange> {
    let over_cells_of = |&quantity: &Quantity| {
        let changes = changes(quantity.metric);
        let mean = over_cells(quantity.metric, &changes)?;
        Some(QuantityChange {
            quantity,
            value: mean.value(),
            interval: mean.interval(confidence),
            cells: changes.len(),
            levels: None,
        })
    };
    quantities.iter().filter_map(over_cells_of).collect()
}
