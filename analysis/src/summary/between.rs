//! Compares one variant of two sweeps, cell by cell.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use run_format::{Axes, Budgets};

use super::calibrate::resolve;
use super::{CellFigure, CellSummary, ChangeFigure, Resolved, Summary};
use crate::load::{ComparedRole, ComparedVariant};
use crate::metrics::{CellData, CellState, MetricKey};
use crate::stats::{self, BareEstimate};
use crate::text::unique;

impl Summary {
    fn with_budgets(&self, budgets: Budgets) -> Option<usize> {
        self.variants
            .iter()
            .position(|variant| variant.budgets == budgets)
    }

    /// The budgets that both sides have, in the order of this side.
    pub(crate) fn shared_budgets(&self, other: &Summary) -> Vec<Budgets> {
        let own = self.variants.iter().map(|variant| variant.budgets);
        unique(own.filter(|budgets| other.with_budgets(*budgets).is_some()))
    }

    pub(crate) fn shared_cells(&self, other: &Summary) -> usize {
        let is_there = |cell: &&CellSummary| other.cell(cell.cell()).is_some();
        self.cells.iter().filter(is_there).count()
    }
}

/// The variant of a comparison that has the figures of the later sweep. The earlier sweep is the baseline.
pub(crate) const AFTER: usize = 1;

/// The change of a variant from one sweep to another, as a summary with two variants. Both sweeps have these budgets.
pub(crate) fn between(before: &Summary, after: &Summary, budgets: Budgets) -> Summary {
    let sides = [before, after];
    let variants = sides.map(|side| side.with_budgets(budgets).expect("both have them"));
    let all = after.cells.iter();
    let pairs = all.filter_map(|after| Some([before.cell(after.cell())?, after]));
    let cells = pairs.map(|pair| {
        // A figure that only one side has cannot be compared.
        let [before, after] = pair.map(|cell| &cell.figures);
        let keys = after.keys().filter(|key| before.contains_key(key));
        let figures = keys.map(|key| (*key, figures_between(*key, sides, pair, variants)));
        CellSummary {
            figures: figures.collect(),
            data: Arc::new(data_of_both(pair)),
            ..CellSummary::default()
        }
    });
    let mut cells: Vec<CellSummary> = cells.collect();
    let keys = cells.iter().flat_map(|cell| cell.figures.keys().copied());
    for key in BTreeSet::from_iter(keys) {
        resolve(&mut cells, key, AFTER, |_| true);
    }
    let variant = |side: &Summary, when: &str, role| ComparedVariant {
        label: format!("{when} ({}, {budgets})", side.identity.name),
        role,
        budgets,
        subject: 0,
    };
    Summary {
        identity: after.identity.clone(),
        axes: Axes::of_cells(cells.iter().map(|cell| &cell.data.cell)),
        variants: vec![
            variant(before, "before", ComparedRole::Baseline),
            variant(after, "after", ComparedRole::Candidate),
        ],
        cells,
        calibrations: BTreeMap::new(),
    }
}

fn data_of_both(pair: [&CellSummary; 2]) -> CellData {
    let [before, after] = pair.map(|cell| &cell.data);
    CellData {
        state: match &before.state {
            CellState::Measured => after.state.clone(),
            other => other.clone(),
        },
        flaws: [before.flaws.clone(), after.flaws.clone()].concat(),
        launch_count: before.launch_count.min(after.launch_count),
        at_cap: before.at_cap || after.at_cap,
        checks: after.checks.clone(),
        ..CellData::of_one_launch(after.cell, before.blocks.min(after.blocks))
    }
}

/// The figures before and after. The latter has the change between the sweeps instead of that within its own sweep.
fn figures_between(
    key: MetricKey,
    sides: [&Summary; 2],
    cells: [&CellSummary; 2],
    variants: [usize; 2],
) -> Vec<Option<CellFigure>> {
    let estimates = [0, 1].map(|side| Some(&cells[side].figure(key, variants[side])?.estimate));
    let change = match estimates {
        [Some(was), Some(is)] => {
            // Nothing is calibrated between sweeps.
            let raw = |side: &Summary, estimate: &BareEstimate| {
                estimate.clone().inflated(1.0 / side.inflation(key))
            };
            change_between(&raw(sides[0], was), &raw(sides[1], is))
        }
        _ => None,
    };
    let [was, is] = estimates.map(|estimate| estimate.cloned());
    let figure = |estimate, change| CellFigure { estimate, change };
    vec![
        was.map(|was| figure(was, None)),
        is.map(|is| figure(is, change)),
    ]
}

/// A change that is not yet resolved. It has no uncertainty if a side has only one group of blocks or no interval.
fn change_between(was: &BareEstimate, is: &BareEstimate) -> Option<ChangeFigure> {
    if was.is_of_one_group || is.is_of_one_group {
        return Some(ChangeFigure {
            value: is.value - was.value,
            difference: None,
            relative: None,
            is_bounded: true,
            resolved: Resolved::No,
        });
    }
    Some(ChangeFigure::scaled(&stats::change_between(was, is)?, 1.0))
}
