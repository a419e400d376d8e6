//! Calibrates the changes of all cells by those that are only noise, and decides which of them are resolved.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rayon::prelude::*;
use run_format::Site;

use super::{CellFigure, CellSummary, ChangeFigure, FEWEST_BLOCKS, Resolved, Summary};
use crate::load::{ComparedRole, ComparedVariant};
use crate::metrics::curve::{CurvePoint, CurveValue};
use crate::metrics::{Metric, MetricKey};
use crate::stats::{self, Calibration, RatioKind};

/// Calibrates the changes of all cells and decides which of them are resolved. Returns the calibration of each metric.
pub(crate) fn calibrate_changes(
    cells: &mut [CellSummary],
    variants: &[ComparedVariant],
) -> BTreeMap<MetricKey, Calibration> {
    let noise_only = noise_only_variants(cells, variants);
    let keys = cells.iter().flat_map(|cell| cell.figures.keys().copied());
    let sorted_keys = BTreeSet::from_iter(keys).into_iter();
    let with_calibration = |key| (key, calibrate(cells, &noise_only, key, variants.len()));
    sorted_keys.map(with_calibration).collect()
}

/// Calibrates the changes of one metric by the variants of each cell that differ from the baseline by noise only, and decides
/// which changes are resolved.
fn calibrate(
    cells: &mut [CellSummary],
    noise_only: &[Vec<usize>],
    key: MetricKey,
    variants: usize,
) -> Calibration {
    let pairs = cells.iter().zip(noise_only).flat_map(|(cell, variants)| {
        let changes = variants.iter().map(|variant| cell.change(key, *variant));
        changes.filter_map(|change| change?.difference)
    });
    let calibration = stats::calibrate(&pairs.collect::<Vec<_>>());
    let figures = cells
        .iter_mut()
        .filter_map(|cell| cell.figures.get_mut(&key));
    for figure in figures.flatten() {
        *figure = figure
            .take()
            .map(|figure| figure.inflated(calibration.inflation()));
    }
    for variant in 1..variants {
        // Chance alone gives errors of counts and percentiles a lower bound, but not those of amounts.
        let has_floor = key.metric.ratio_kind() != Some(RatioKind::Amount);
        resolve(cells, key, variant, |cell| {
            has_floor || cell.data.blocks >= FEWEST_BLOCKS
        });
    }
    calibration
}

impl Summary {
    /// The cells with a single figure: the time beyond another threshold of the curve, as a report with that threshold has it.
    pub(crate) fn beyond(&self, site: Site, threshold_ns: u64) -> Vec<CellSummary> {
        let key = MetricKey::new(site, Metric::BeyondMsPerS);
        let at_threshold = |cell: &CellSummary| {
            let mut points = cell.data.curve.iter();
            let point = points.find(|point| point.threshold_ns == threshold_ns);
            let figures = point.map(|point| (key, figures_at(point)));
            CellSummary {
                data: Arc::clone(&cell.data),
                figures: figures.into_iter().collect(),
                ..CellSummary::default()
            }
        };
        let mut cells: Vec<CellSummary> = self.cells.iter().map(at_threshold).collect();
        let noise_only = noise_only_variants(&self.cells, &self.variants);
        calibrate(&mut cells, &noise_only, key, self.variants.len());
        cells
    }
}

fn figures_at(point: &CurvePoint) -> Vec<Option<CellFigure>> {
    let figure = |value: &CurveValue| CellFigure {
        estimate: value.level.clone(),
        change: value.difference.map(|difference| ChangeFigure {
            value: difference.value,
            difference: Some(difference),
            relative: value.relative,
            is_bounded: true,
            resolved: Resolved::No,
        }),
    };
    let values = point.values.iter();
    values.map(|value| value.as_ref().map(figure)).collect()
}

/// Decides which changes of a variant are resolved, which depends on all cells. A change in a cell with too few blocks never
/// is.
pub(super) fn resolve(
    cells: &mut [CellSummary],
    key: MetricKey,
    variant: usize,
    has_enough: impl Fn(&CellSummary) -> bool,
) {
    let p_value = |cell: &CellSummary| {
        let change = cell
            .change(key, variant)
            .filter(|change| change.is_bounded)?;
        Some(change.difference?.p_value())
    };
    let p_values: Vec<Option<f64>> = cells.par_iter().map(p_value).collect();
    let adjusted = stats::adjusted_p_values(&p_values);
    for (cell, p_value) in cells.iter_mut().zip(adjusted) {
        let is_resolved = has_enough(cell) && p_value.is_some_and(stats::is_resolved);
        let figures = cell.figures.get_mut(&key);
        let figure = figures.and_then(|figures| figures.get_mut(variant)?.as_mut());
        if let Some(change) = figure.and_then(|figure| figure.change.as_mut()) {
            change.resolved = Resolved::new(is_resolved, change.value);
        }
    }
}

/// Returns the variants of each cell that differ from the baseline by noise only: the A/A control, and budgets that never
/// fired.
fn noise_only_variants(cells: &[CellSummary], variants: &[ComparedVariant]) -> Vec<Vec<usize>> {
    let is_only_noise = |cell: &CellSummary, variant: usize| match variants[variant].role {
        ComparedRole::Baseline => false,
        ComparedRole::Control => true,
        ComparedRole::Candidate | ComparedRole::NotJudged => {
            variants[variant].changes_nothing_unless_it_fires()
                && variants[variant].bounds().all(|(site, _)| {
                    let key = MetricKey::new(site, Metric::YieldsPer1000);
                    cell.value(key, variant) == Some(0.0)
                })
        }
    };
    let noise_only_variants_of_cell = |cell: &CellSummary| {
        let is_same = |variant: &usize| {
            !cell.data.turns.variants_with_fewer_turns.contains(variant)
                && is_only_noise(cell, *variant)
        };
        (0..variants.len()).filter(is_same).collect()
    };
    cells.iter().map(noise_only_variants_of_cell).collect()
}
