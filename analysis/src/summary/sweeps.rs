//! Compares one variant of two sweeps, cell by cell.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use run_format::{Axes, Budgets, Role};

use super::compare::resolve;
use super::{CellFigure, CellSummary, ChangeFigure, Resolved, Summary};
use crate::load::ComparedVariant;
use crate::measure::{CellMeasured, CellState, MetricKey};
use crate::stats::{self, BareEstimate};

impl Summary {
    fn with_budgets(&self, budgets: Budgets) -> Option<usize> {
        self.variants.iter().position(|it| it.budgets == budgets)
    }

    /// The budgets that both sides have, in the order of this one.
    pub(crate) fn shared_budgets(&self, other: &Summary) -> Vec<Budgets> {
        let mut shared: Vec<Budgets> = Vec::new();
        for variant in &self.variants {
            if other.with_budgets(variant.budgets).is_some() && !shared.contains(&variant.budgets) {
                shared.push(variant.budgets);
            }
        }
        shared
    }

    pub(crate) fn shared_cells(&self, other: &Summary) -> usize {
        let is_there = |cell: &&CellSummary| other.cell(cell.measured.cell).is_some();
        self.cells.iter().filter(is_there).count()
    }
}

pub(crate) fn between(before: &Summary, after: &Summary, budgets: Budgets) -> Option<Summary> {
    let sides = [before, after];
    let [from, to] = sides.map(|side| side.with_budgets(budgets));
    let variants = [from?, to?];
    let pairs = after.cells.iter();
    let pairs = pairs.filter_map(|after| Some([before.cell(after.measured.cell)?, after]));
    let cells = pairs.map(|pair| {
        // What one side alone has cannot be compared.
        let keys = pair[1].figures.keys();
        let keys = keys.filter(|key| pair[0].figures.contains_key(key));
        let figures = keys.map(|key| (*key, figures(*key, sides, pair, variants)));
        CellSummary {
            figures: figures.collect(),
            measured: Arc::new(measured(pair)),
            ..CellSummary::default()
        }
    });
    let mut cells: Vec<CellSummary> = cells.collect();
    let whats = cells.iter().flat_map(|cell| cell.figures.keys().copied());
    for what in BTreeSet::from_iter(whats) {
        resolve(&mut cells, what, 1, |_| true);
    }
    let variant = |side: &Summary, when: &str, role| ComparedVariant {
        label: format!("{when} ({}, {budgets})", side.identity.name),
        role,
        budgets,
        subject: 0,
    };
    Some(Summary {
        identity: after.identity.clone(),
        axes: Axes::of(cells.iter().map(|cell| &cell.measured.cell)),
        variants: vec![
            variant(before, "before", Role::Baseline),
            variant(after, "after", Role::Candidate),
        ],
        cells,
        calibrations: BTreeMap::new(),
    })
}

fn measured(pair: [&CellSummary; 2]) -> CellMeasured {
    let [before, after] = pair.map(|cell| &cell.measured);
    CellMeasured {
        state: match &before.state {
            CellState::Measured => after.state.clone(),
            other => other.clone(),
        },
        flaws: [before.flaws.clone(), after.flaws.clone()].concat(),
        runs: before.runs.min(after.runs),
        at_cap: before.at_cap || after.at_cap,
        checks: after.checks.clone(),
        ..CellMeasured::empty(after.cell, before.blocks.min(after.blocks))
    }
}

/// Before and after, the latter with its change instead of that within its own sweep.
fn figures(
    what: MetricKey,
    sides: [&Summary; 2],
    cells: [&CellSummary; 2],
    variants: [usize; 2],
) -> Vec<Option<CellFigure>> {
    let estimates = [0, 1].map(|at| Some(&cells[at].figure(what, variants[at])?.estimate));
    let change = match estimates {
        [Some(was), Some(is)] => {
            // Nothing is calibrated between sweeps.
            let raw = |side: &Summary, estimate: &BareEstimate| {
                estimate.clone().inflated(1.0 / side.inflation(what))
            };
            change(&raw(sides[0], was), &raw(sides[1], is))
        }
        _ => None,
    };
    let figures = estimates.into_iter().zip([None, change]);
    let figures = figures.map(|(estimate, change)| {
        let estimate = estimate?.clone();
        Some(CellFigure { estimate, change })
    });
    figures.collect()
}

/// A change that is not yet resolved. If a side has only one launch, or no estimates, it has no uncertainty.
fn change(was: &BareEstimate, is: &BareEstimate) -> Option<ChangeFigure> {
    if was.is_of_one_launch || is.is_of_one_launch {
        return Some(ChangeFigure {
            value: is.value - was.value,
            difference: None,
            relative: None,
            is_bounded: true,
            resolved: Resolved::No,
        });
    }
    Some(ChangeFigure::of(&stats::change_between(was, is)?, 1.0))
}
