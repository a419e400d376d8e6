//! Variants against the baseline of the same sweep: metric by metric, over all cells.

use std::collections::BTreeMap;

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
    let idle = idle_variants(estimates, variants);
    let mut calibrations = BTreeMap::new();
    for what in whats(estimates) {
        let of_cells: Vec<&[Option<Estimate>]> = estimates
            .iter()
            .map(|of_cell| of_cell.get(&what).map_or(&[][..], Vec::as_slice))
            .collect();
        let changes: Vec<Vec<Option<Change>>> = of_cells.iter().map(|cell| changes(cell)).collect();
        let pairs: Vec<Change> = changes
            .iter()
            .zip(&idle)
            .flat_map(|(of_cell, idle)| idle.iter().filter_map(|variant| *of_cell.get(*variant)?))
            .collect();
        let calibration = stats::calibrate(&pairs);
        let inflation = calibration.inflation();
        for (cell, of_cell) in cells.iter_mut().zip(&of_cells) {
            let figures = of_cell.iter().map(|estimate| {
                estimate
                    .as_ref()
                    .map(|estimate| Figure::of(what, estimate, inflation))
            });
            if !of_cell.is_empty() {
                cell.figures.insert(what, figures.collect());
            }
        }
        for variant in 1..variants.len() {
            let known = changes.iter().zip(&of_cells).map(|(of_cell, estimates)| {
                let is_bounded = [0, variant]
                    .iter()
                    .all(|at| estimates.get(*at).is_some_and(|it| is_bounded(it.as_ref())));
                let change = *of_cell.get(variant)?;
                Some((change?.inflated(inflation), is_bounded))
            });
            judge(cells, what, variant, known.collect());
        }
        calibrations.insert(what, calibration);
    }
    calibrations
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

/// One variant: which of its changes are resolved depends on all cells. Beside each change is whether it
/// can be resolved at all.
fn judge(
    cells: &mut [CellSummary],
    what: What,
    variant: usize,
    changes: Vec<Option<(Change, bool)>>,
) {
    let p_values: Vec<Option<f64>> = changes
        .iter()
        .map(|change| {
            change
                .filter(|(_, may)| *may)
                .map(|(change, _)| change.p_value())
        })
        .collect();
    let adjusted = stats::adjusted_p_values(&p_values);
    for ((cell, change), p_value) in cells.iter_mut().zip(changes).zip(adjusted) {
        let enough = what.metric.kind_is_sure() || cell.blocks >= FEWEST_BLOCKS;
        let figures = cell.figures.get_mut(&what);
        let figure = figures.and_then(|figures| figures.get_mut(variant)?.as_mut());
        if let (Some(figure), Some((change, _))) = (figure, change) {
            let is_resolved = enough && p_value.is_some_and(stats::is_resolved);
            figure.change = Some(change_figure(what, &change, is_resolved));
        }
    }
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
