//! Compares one variant of two sweeps, cell by cell.

use std::collections::{BTreeMap, BTreeSet};

use run_format::{Budgets, grid::Axes, variant::Role};

use super::{CellFigure, CellSummary, ChangeFigure, Resolved, Summary, compare::change_figure};
use crate::{
    load::compared::ComparedVariant,
    measure::{CellMeasured, CellState, metric::What},
    stats::{self, BetweenSweeps, CellEstimate},
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
        let is_there = |cell: &&CellSummary| other.cells.iter().any(|it| it.cell == cell.cell);
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
    let (mut cells, p_values): (Vec<_>, Vec<_>) = pair.cells().into_iter().unzip();
    resolve(&mut cells, &p_values);
    let variant = |side: &Summary, when: &str, role| ComparedVariant {
        label: format!("{when} ({}, {budgets})", side.identity.name),
        role,
        budgets,
        subject: 0,
    };
    Some(Summary {
        identity: after.identity.clone(),
        axes: Axes::of(cells.iter().map(|cell| &cell.cell)),
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

type PValues = BTreeMap<What, f64>;

impl SweepPair<'_> {
    /// The cells that both sweeps have, with the p-values of their changes.
    fn cells(&self) -> Vec<(CellSummary, PValues)> {
        let pairs = self.after.cells.iter().filter_map(|after| {
            let mut same = self.before.cells.iter();
            let before = same.find(|cell| cell.cell == after.cell)?;
            Some(self.cell(before, after))
        });
        pairs.collect()
    }

    fn cell(&self, before: &CellSummary, after: &CellSummary) -> (CellSummary, PValues) {
        let mut figures = BTreeMap::new();
        let mut p_values = PValues::new();
        // What one side alone has cannot be compared.
        let is_shared = |what: &&What| before.figures.contains_key(what);
        for &what in after.figures.keys().filter(is_shared) {
            let side = |cell: &CellSummary, side: usize| {
                let variant = self.variants[side];
                // Without the change within its own sweep.
                let figure = cell.figure(what, variant).map(|figure| CellFigure {
                    change: None,
                    ..figure.clone()
                });
                let estimate = cell
                    .estimates
                    .get(&what)
                    .and_then(|of| of.get(variant)?.clone());
                (figure, estimate)
            };
            let (then, mut now) = (side(before, 0), side(after, 1));
            let change = change(what, &then, &now);
            if let (Some(now), Some((change, p_value))) = (&mut now.0, change) {
                now.change = Some(change);
                p_values.extend(p_value.map(|p_value| (what, p_value)));
            }
            figures.insert(what, vec![then.0, now.0]);
        }
        let measured = CellMeasured {
            state: match &before.state {
                CellState::Measured => after.state.clone(),
                other => other.clone(),
            },
            flaws: [before.flaws.clone(), after.flaws.clone()].concat(),
            runs: before.runs.min(after.runs),
            at_cap: before.at_cap || after.at_cap,
            checks: after.checks.clone(),
            ..CellMeasured::empty(after.cell, before.blocks.min(after.blocks))
        };
        (CellSummary { measured, figures }, p_values)
    }
}

/// A change that is not yet resolved, and its p-value. If a side has no estimates, or only one launch, there is no
/// p-value.
fn change(
    what: What,
    (then, was): &(Option<CellFigure>, Option<CellEstimate>),
    (now, is): &(Option<CellFigure>, Option<CellEstimate>),
) -> Option<(ChangeFigure, Option<f64>)> {
    let value = match was.as_ref().zip(is.as_ref()) {
        Some((was, is)) => match stats::change_between(was, is)? {
            BetweenSweeps::Compared(change) => {
                return Some((change_figure(what, &change, false), Some(change.p_value())));
            }
            BetweenSweeps::LaunchesUnknown { difference } => difference * what.metric.scale,
        },
        None => now.as_ref()?.value - then.as_ref()?.value,
    };
    let change = ChangeFigure {
        value,
        difference: None,
        relative: None,
        resolved: Resolved::No,
    };
    Some((change, None))
}

/// Decides which changes are resolved, metric by metric over all cells.
fn resolve(cells: &mut [CellSummary], p_values: &[PValues]) {
    let whats: BTreeSet<What> = p_values.iter().flat_map(|it| it.keys().copied()).collect();
    for what in whats {
        let of_what: Vec<Option<f64>> = p_values.iter().map(|it| it.get(&what).copied()).collect();
        let adjusted = stats::adjusted_p_values(&of_what);
        for (cell, p_value) in cells.iter_mut().zip(adjusted) {
            let figures = cell.figures.get_mut(&what);
            let figure = figures.and_then(|figures| figures.get_mut(1)?.as_mut());
            if let Some(change) = figure.and_then(|figure| figure.change.as_mut()) {
                let is_resolved = p_value.is_some_and(stats::is_resolved);
                change.resolved = Resolved::new(is_resolved, change.value);
            }
        }
    }
}
