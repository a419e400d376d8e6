//! Compares one variant of two sweeps, cell by cell.

use std::collections::{BTreeMap, BTreeSet};

use run_format::{Budgets, grid::Axes, variant::Role};

use super::{CellFigure, CellSummary, ChangeFigure, Resolved, Summary, compare::resolve};
use crate::{
    load::compared::ComparedVariant,
    measure::{CellMeasured, CellState, metric::MetricKey},
    stats::{self, BareEstimate, BetweenSweeps},
};

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
        let is_there = |cell: &&CellSummary| {
            other
                .cells
                .iter()
                .any(|it| it.measured.cell == cell.measured.cell)
        };
        self.cells.iter().filter(is_there).count()
    }
}

/// The variant with these budgets, with the earlier sweep as its baseline.
pub(crate) fn between(before: &Summary, after: &Summary, budgets: Budgets) -> Option<Summary> {
    let pair = SweepPair {
        before,
        after,
        variants: [before.with_budgets(budgets)?, after.with_budgets(budgets)?],
    };
    let mut cells = pair.cells();
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

struct SweepPair<'a> {
    before: &'a Summary,
    after: &'a Summary,
    /// Before and after.
    variants: [usize; 2],
}

impl SweepPair<'_> {
    fn cells(&self) -> Vec<CellSummary> {
        let pairs = self.after.cells.iter().filter_map(|after| {
            let mut same = self.before.cells.iter();
            let before = same.find(|cell| cell.measured.cell == after.measured.cell)?;
            Some(self.cell(before, after))
        });
        pairs.collect()
    }

    fn cell(&self, before: &CellSummary, after: &CellSummary) -> CellSummary {
        // What one side alone has cannot be compared.
        let is_shared = |what: &&MetricKey| before.figures.contains_key(what);
        let figures = after.figures.keys().filter(is_shared);
        let figures = figures.map(|what| (*what, self.figures(*what, [before, after])));
        let measured = CellMeasured {
            state: match &before.measured.state {
                CellState::Measured => after.measured.state.clone(),
                other => other.clone(),
            },
            flaws: [before.measured.flaws.clone(), after.measured.flaws.clone()].concat(),
            runs: before.measured.runs.min(after.measured.runs),
            at_cap: before.measured.at_cap || after.measured.at_cap,
            checks: after.measured.checks.clone(),
            ..CellMeasured::empty(
                after.measured.cell,
                before.measured.blocks.min(after.measured.blocks),
            )
        };
        CellSummary {
            figures: figures.collect(),
            ..measured.into()
        }
    }

    /// Before and after, the latter with its change.
    fn figures(&self, what: MetricKey, cells: [&CellSummary; 2]) -> Vec<Option<CellFigure>> {
        let figure = |side: usize| {
            let figure = cells[side].figure(what, self.variants[side])?;
            // Without the change within its own sweep.
            Some(CellFigure {
                estimate: figure.estimate.clone(),
                change: None,
            })
        };
        let mut figures = vec![figure(0), figure(1)];
        if let [Some(then), Some(now)] = &mut figures[..] {
            // Nothing is calibrated between sweeps.
            let [was, is] =
                [(self.before, &*then), (self.after, &*now)].map(|(summary, figure)| {
                    figure
                        .estimate
                        .clone()
                        .inflated(1.0 / summary.inflation(what))
                });
            now.change = change(&was, &is);
        }
        figures
    }
}

/// A change that is not yet resolved. If a side has only one launch, or no estimates, it has no uncertainty.
fn change(was: &BareEstimate, is: &BareEstimate) -> Option<ChangeFigure> {
    Some(match stats::change_between(was, is)? {
        BetweenSweeps::Compared(change) => ChangeFigure::of(&change, 1.0),
        BetweenSweeps::LaunchesUnknown { difference } => ChangeFigure {
            value: difference,
            difference: None,
            relative: None,
            is_bounded: true,
            resolved: Resolved::No,
        },
    })
}
