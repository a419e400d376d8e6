//! One variant of two sweeps: what is different after, cell by cell.

use std::collections::BTreeMap;

use super::{
    CellSummary, ChangeFigure, Estimates, Figure, Resolved, Summary, compare,
    compare::change_figure, identity::Identity, measure, split,
};
use crate::{
    failure::Failure,
    grid::Axes,
    load::{
        Sweep,
        variant::{Role, Variant},
    },
    measure::metric::What,
    options::Options,
    stats::{self, BetweenSweeps},
};

/// A sweep with what is needed to compare it with another.
pub(crate) struct Side {
    pub(crate) identity: Identity,
    pub(crate) variants: Vec<Variant>,
    cells: Vec<CellSummary>,
    /// By cell; empty for figures that were published without what they were made from.
    estimates: Vec<Estimates>,
}

impl Side {
    pub(crate) fn of(sweep: &Sweep, options: &Options) -> Result<Side, Failure> {
        let variants = sweep.manifest.config.compared();
        let (mut cells, estimates) = split(measure(sweep, options)?);
        compare::with_baseline(&mut cells, &estimates, &variants);
        Ok(Side {
            identity: Identity::of(sweep),
            variants,
            cells,
            estimates,
        })
    }

    pub(crate) fn of_figures(summary: Summary) -> Side {
        Side {
            identity: summary.identity,
            variants: summary.variants,
            estimates: summary.cells.iter().map(|_| Estimates::new()).collect(),
            cells: summary.cells,
        }
    }

    fn variant(&self, budgets: &str) -> Option<usize> {
        self.variants.iter().position(|it| it.budgets == budgets)
    }

    /// The budgets that both sides have, in the order of this one.
    pub(crate) fn shared_budgets(&self, other: &Side) -> Vec<String> {
        let mut shared: Vec<String> = Vec::new();
        for variant in &self.variants {
            if other.variant(&variant.budgets).is_some() && !shared.contains(&variant.budgets) {
                shared.push(variant.budgets.clone());
            }
        }
        shared
    }

    pub(crate) fn shared_cells(&self, other: &Side) -> usize {
        let is_there = |cell: &&CellSummary| other.cells.iter().any(|it| it.cell == cell.cell);
        self.cells.iter().filter(is_there).count()
    }
}

/// What a variant with these budgets does after, as if before were its baseline.
pub(crate) fn between(before: &Side, after: &Side, budgets: &str) -> Option<Summary> {
    let pair = Pair {
        before,
        after,
        variants: [before.variant(budgets)?, after.variant(budgets)?],
    };
    let (mut cells, changes): (Vec<_>, Vec<_>) = pair.cells().into_iter().unzip();
    judge(&mut cells, &changes);
    let variant = |side: &Side, when: &str, role| Variant {
        label: format!("{when} ({}, {budgets})", side.identity.name),
        role,
        budgets: budgets.to_owned(),
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

struct Pair<'a> {
    before: &'a Side,
    after: &'a Side,
    /// Before and after.
    variants: [usize; 2],
}

type Changes = BTreeMap<What, BetweenSweeps>;

impl Pair<'_> {
    /// The cells that both have.
    fn cells(&self) -> Vec<(CellSummary, Changes)> {
        let after = self.after.cells.iter().zip(&self.after.estimates);
        let before = self.before.cells.iter().zip(&self.before.estimates);
        let pairs = after.filter_map(|after| {
            let mut same = before.clone();
            let before = same.find(|(cell, _)| cell.cell == after.0.cell)?;
            Some(self.cell(before, after))
        });
        pairs.collect()
    }

    fn cell(
        &self,
        before: (&CellSummary, &Estimates),
        after: (&CellSummary, &Estimates),
    ) -> (CellSummary, Changes) {
        let [was, is] = self.variants;
        let mut figures = BTreeMap::new();
        let mut changes = Changes::new();
        for (&what, of_after) in &after.0.figures {
            let now = of_after.get(is).cloned().flatten();
            let then = before.0.figure(what, was).cloned();
            if let Some(change) = change(what, (before.1, was), (after.1, is), &then, &now) {
                changes.insert(what, change);
            }
            figures.insert(what, vec![then.map(bare), now.map(bare)]);
        }
        let summary = CellSummary {
            cell: after.0.cell,
            state: worse(before.0, after.0).state.clone(),
            flaws: [before.0.flaws.clone(), after.0.flaws.clone()].concat(),
            runs: before.0.runs.min(after.0.runs),
            blocks: before.0.blocks.min(after.0.blocks),
            at_cap: before.0.at_cap || after.0.at_cap,
            slow_polls: BTreeMap::new(),
            figures,
            checks: after.0.checks.clone(),
            breakdown: None,
            curves: Vec::new(),
        };
        (summary, changes)
    }
}

/// Without the change inside its own sweep.
fn bare(figure: Figure) -> Figure {
    Figure {
        change: None,
        ..figure
    }
}

/// The one that was not measured, if either.
fn worse<'a>(before: &'a CellSummary, after: &'a CellSummary) -> &'a CellSummary {
    if before.state == crate::measure::State::Measured {
        after
    } else {
        before
    }
}

/// Where a side has no estimates, only the difference of the values is known.
fn change(
    what: What,
    before: (&Estimates, usize),
    after: (&Estimates, usize),
    then: &Option<Figure>,
    now: &Option<Figure>,
) -> Option<BetweenSweeps> {
    let estimate = |(of, variant): (&Estimates, usize)| of.get(&what)?.get(variant)?.clone();
    match (estimate(before), estimate(after)) {
        (Some(before), Some(after)) => stats::change_between(&before, &after),
        _ => Some(BetweenSweeps::LaunchesUnknown {
            difference: (now.as_ref()?.value - then.as_ref()?.value)
                / crate::measure::quantity::scale(what.metric),
        }),
    }
}

/// Decides which changes are resolved, metric by metric over all cells.
fn judge(cells: &mut [CellSummary], changes: &[Changes]) {
    let whats: std::collections::BTreeSet<What> = changes
        .iter()
        .flat_map(|of_cell| of_cell.keys().copied())
        .collect();
    for what in whats {
        let p_value = |of_cell: &Changes| match of_cell.get(&what)? {
            BetweenSweeps::Compared(change) => Some(change.p_value()),
            BetweenSweeps::LaunchesUnknown { .. } => None,
        };
        let p_values: Vec<Option<f64>> = changes.iter().map(p_value).collect();
        let adjusted = stats::adjusted_p_values(&p_values);
        for ((cell, changes), p_value) in cells.iter_mut().zip(changes).zip(adjusted) {
            let figures = cell.figures.get_mut(&what);
            let figure = figures.and_then(|figures| figures.get_mut(1)?.as_mut());
            if let (Some(figure), Some(change)) = (figure, changes.get(&what)) {
                figure.change = Some(figure_of(what, change, p_value));
            }
        }
    }
}

fn figure_of(what: What, change: &BetweenSweeps, p_value: Option<f64>) -> ChangeFigure {
    match change {
        BetweenSweeps::Compared(change) => {
            change_figure(what, change, p_value.is_some_and(stats::is_resolved))
        }
        BetweenSweeps::LaunchesUnknown { difference } => ChangeFigure {
            value: difference * crate::measure::quantity::scale(what.metric),
            difference: None,
            relative: None,
            resolved: Resolved::No,
        },
    }
}
