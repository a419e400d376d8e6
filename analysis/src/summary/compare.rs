//! Variants against the baseline of the same sweep: metric by metric, over all cells.

use std::collections::BTreeMap;

use super::{CellSummary, ChangeFigure, Estimates, Figure, Resolved, scaled, whats};
use crate::{
    load::manifest::{Role, Variant},
    measure::{metric::What, quantity::scale},
    stats::{self, Calibration, Change, Estimate},
};

/// Fills in the figures of all cells.
pub(super) fn with_baseline(
    cells: &mut [CellSummary],
    estimates: &[Estimates],
    variants: &[Variant],
) -> BTreeMap<What, Calibration> {
    let twin = variants.iter().position(|it| it.role == Role::Twin);
    let mut calibrations = BTreeMap::new();
    for what in whats(estimates) {
        let of_cells: Vec<&[Option<Estimate>]> = estimates
            .iter()
            .map(|of_cell| of_cell.get(&what).map_or(&[][..], Vec::as_slice))
            .collect();
        let changes: Vec<Vec<Option<Change>>> = of_cells.iter().map(|cell| changes(cell)).collect();
        let pairs: Vec<Change> = changes
            .iter()
            .filter_map(|of_cell| *of_cell.get(twin?)?)
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
            judge(cells, what, variant, &changes, inflation);
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

/// One variant: which of its changes are resolved depends on all cells.
fn judge(
    cells: &mut [CellSummary],
    what: What,
    variant: usize,
    changes: &[Vec<Option<Change>>],
    inflation: f64,
) {
    let inflated: Vec<Option<Change>> = changes
        .iter()
        .map(|of_cell| Some((*of_cell.get(variant)?)?.inflated(inflation)))
        .collect();
    let p_values: Vec<Option<f64>> = inflated
        .iter()
        .map(|change| change.map(|change| change.p_value()))
        .collect();
    let adjusted = stats::adjusted_p_values(&p_values);
    for ((cell, change), p_value) in cells.iter_mut().zip(inflated).zip(adjusted) {
        let figures = cell.figures.get_mut(&what);
        let figure = figures.and_then(|figures| figures.get_mut(variant)?.as_mut());
        if let (Some(figure), Some(change), Some(p_value)) = (figure, change, p_value) {
            figure.change = Some(change_figure(what, &change, stats::is_resolved(p_value)));
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
