//! Variants against the baseline of the same sweep: metric by metric, over all cells.

use std::collections::BTreeMap;

use polars_core::runtime::RAYON;
use rayon::prelude::*;

use super::{
    CONFIDENCE, CellSummary, ChangeFigure, Estimates, FEWEST_BLOCKS, Figure, Resolved, scaled,
    whats,
};
use crate::{
    budget::Budget,
    load::variant::{Role, Variant},
    measure::{
        metric::{Metric, What},
        quantity::scale,
    },
    stats::{self, Calibration, Change, Estimate},
};

/// Fills in the figures of all cells.
pub(super) fn with_baseline(
    cells: &mut [CellSummary],
    estimates: &[Estimates],
    variants: &[Variant],
) -> BTreeMap<What, Calibration> {
    let sweep = Compared {
        blocks: cells.iter().map(|cell| cell.blocks).collect(),
        estimates,
        idle: idle_variants(estimates, variants),
        variants: variants.len(),
    };
    let whats: Vec<What> = whats(estimates).into_iter().collect();
    let judged: Vec<Judged> = RAYON.install(|| {
        let judged = whats.par_iter().map(|what| sweep.judged(*what));
        judged.collect()
    });
    let mut calibrations = BTreeMap::new();
    for (what, judged) in whats.into_iter().zip(judged) {
        for (cell, figures) in cells.iter_mut().zip(judged.figures) {
            if !figures.is_empty() {
                cell.figures.insert(what, figures);
            }
        }
        calibrations.insert(what, judged.calibration);
    }
    calibrations
}

/// What is known of all cells.
struct Compared<'a> {
    /// By cell, as all of these.
    blocks: Vec<usize>,
    estimates: &'a [Estimates],
    /// Variants that can differ from the baseline by chance only.
    idle: Vec<Vec<usize>>,
    variants: usize,
}

/// One metric.
struct Judged {
    calibration: Calibration,
    /// By cell, then by variant; none in a cell that does not have it.
    figures: Vec<Vec<Option<Figure>>>,
}

impl Compared<'_> {
    fn judged(&self, what: What) -> Judged {
        let of_cells: Vec<&[Option<Estimate>]> = self
            .estimates
            .iter()
            .map(|of_cell| of_cell.get(&what).map_or(&[][..], Vec::as_slice))
            .collect();
        let changes: Vec<Vec<Option<Change>>> = of_cells.iter().map(|cell| changes(cell)).collect();
        let pairs: Vec<Change> = changes
            .iter()
            .zip(&self.idle)
            .flat_map(|(of_cell, idle)| idle.iter().filter_map(|variant| *of_cell.get(*variant)?))
            .collect();
        let calibration = stats::calibrate(&pairs);
        let inflation = calibration.inflation();
        let figure = |estimate: &Option<Estimate>| {
            let estimate = estimate.as_ref()?;
            Some(Figure::of(what, estimate, inflation))
        };
        let mut figures: Vec<Vec<Option<Figure>>> = of_cells
            .iter()
            .map(|of_cell| of_cell.iter().map(figure).collect())
            .collect();
        for variant in 1..self.variants {
            let known = changes.iter().zip(&of_cells).map(|(of_cell, estimates)| {
                let is_bounded = [0, variant]
                    .iter()
                    .all(|at| estimates.get(*at).is_some_and(|it| is_bounded(it.as_ref())));
                let change = *of_cell.get(variant)?;
                Some((change?.inflated(inflation), is_bounded))
            });
            let resolved = self.resolved(what, known.collect());
            for (of_cell, change) in figures.iter_mut().zip(resolved) {
                if let Some(Some(figure)) = of_cell.get_mut(variant) {
                    figure.change = change;
                }
            }
        }
        Judged {
            calibration,
            figures,
        }
    }

    /// One variant: which of its changes are resolved depends on all cells. Beside each change is whether
    /// it can be resolved at all.
    fn resolved(
        &self,
        what: What,
        changes: Vec<Option<(Change, bool)>>,
    ) -> Vec<Option<ChangeFigure>> {
        let p_value = |change: &Option<(Change, bool)>| {
            let (change, _) = change.filter(|(_, may)| *may)?;
            Some(change.p_value())
        };
        let p_values: Vec<Option<f64>> = changes.iter().map(p_value).collect();
        let adjusted = stats::adjusted_p_values(&p_values);
        let cells = self.blocks.iter().zip(changes).zip(adjusted);
        let figures = cells.map(|((blocks, change), p_value)| {
            let enough = what.metric.kind_is_sure() || *blocks >= FEWEST_BLOCKS;
            let is_resolved = enough && p_value.is_some_and(stats::is_resolved);
            let (change, _) = change?;
            Some(change_figure(what, &change, is_resolved))
        });
        figures.collect()
    }
}

/// Of every variant against the first.
fn changes(estimates: &[Option<Estimate>]) -> Vec<Option<Change>> {
    let Some(Some(baseline)) = estimates.first() else {
        return vec![None; estimates.len()];
    };
    estimates
        .iter()
        .map(|estimate| stats::change(baseline, estimate.as_ref()?))
        .collect()
}

/// For each cell the variants that can differ from the baseline by chance only: its twin, and those whose
/// budget not one poll of the cell spent.
fn idle_variants(estimates: &[Estimates], variants: &[Variant]) -> Vec<Vec<usize>> {
    let is_idle = |of_cell: &Estimates, variant: usize| match variants[variant].role {
        Role::Baseline => false,
        Role::Twin => true,
        Role::Candidate => {
            let budgets = Budget::all(&variants[variant].budgets);
            // Another program can differ however seldom its budget is spent.
            variants[variant].subject == 0
                && !budgets.is_empty()
                && budgets.iter().all(|budget| {
                    let what = What::of(budget.site, Metric::YieldsPer1000);
                    let yields = of_cell.get(&what).and_then(|of| of.get(variant)?.as_ref());
                    yields.is_some_and(|yields| yields.value() == 0.0)
                })
        }
    };
    let of_cell = |of_cell| {
        let variants = 0..variants.len();
        variants
            .filter(|variant| is_idle(of_cell, *variant))
            .collect()
    };
    estimates.iter().map(of_cell).collect()
}

/// Whether the data set both ends: of a percentile with too little beyond it, they did not, and how far
/// it is from another is not known either.
fn is_bounded(estimate: Option<&Estimate>) -> bool {
    let interval = estimate.and_then(|estimate| estimate.interval(CONFIDENCE));
    interval.is_none_or(|interval| interval.high.is_finite())
}

/// In the metric's unit, and in percent.
pub(super) fn change_figure(what: What, change: &Change, is_resolved: bool) -> ChangeFigure {
    const PERCENT: f64 = 100.0;
    let difference = scaled(change.difference, scale(what.metric));
    ChangeFigure {
        value: difference.value,
        difference: Some(difference),
        relative: change.relative.map(|relative| scaled(relative, PERCENT)),
        resolved: Resolved::new(is_resolved, difference.value),
    }
}
