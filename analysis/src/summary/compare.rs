//! Compares variants with the baseline of the same sweep: metric by metric, over all cells.

use std::{
    collections::{BTreeMap, BTreeSet},
    iter,
};

use program::{Failure, bad_input, reject};
use rayon::prelude::*;
use run_format::{
    Budgets,
    variant::{BASELINE, Role},
};

use super::{
    CONFIDENCE, CellFigure, CellSummary, ChangeFigure, FEWEST_BLOCKS, Resolved, Summary,
    VariantEstimates, identity::Identity,
};
use crate::{
    load::{Sweep, blocks::Disturbed, compared::ComparedVariant},
    measure::{
        CellMeasured, CellState, Question,
        metric::{Metric, What},
    },
    options::Options,
    stats::{self, Calibration, CellEstimate, Change},
};

impl Summary {
    /// Reads every run of a sweep.
    pub(crate) fn of(sweep: &Sweep, options: &Options) -> Result<Summary, Failure> {
        let variants = sweep.compared();
        let mut cells = measure(sweep, options)?;
        let calibrations = with_baseline(&mut cells, &variants);
        Ok(Summary {
            identity: Identity::of(sweep),
            axes: sweep.manifest.config.axes.clone().sorted(),
            variants,
            cells,
            calibrations,
        })
    }
}

impl Summary {
    /// With disturbed blocks, as far as a verdict needs it. None if no block was set aside.
    pub(crate) fn with_disturbed(&self) -> Option<Summary> {
        let mut cells = self.cells.iter();
        cells.find(|cell| cell.with_disturbed.is_some())?;
        let cells = self.cells.iter().map(|cell| {
            let estimates = cell.with_disturbed.as_ref().unwrap_or(&cell.estimates);
            CellSummary::from(CellMeasured {
                state: cell.state.clone(),
                slow_polls: cell.slow_polls.clone(),
                estimates: estimates.clone(),
                turns: cell.turns.clone(),
                checks: cell.checks.clone(),
                ..CellMeasured::empty(cell.cell, cell.blocks)
            })
        });
        let mut cells: Vec<CellSummary> = cells.collect();
        let calibrations = with_baseline(&mut cells, &self.variants);
        Some(Summary {
            identity: self.identity.clone(),
            axes: self.axes.clone(),
            variants: self.variants.clone(),
            cells,
            calibrations,
        })
    }
}

/// The facts about each cell, and the estimates that are yet to be compared.
fn measure(sweep: &Sweep, options: &Options) -> Result<Vec<CellSummary>, Failure> {
    let roles = sweep.compared();
    let control = roles.iter().position(|it| it.role == Role::Control);
    let question = Question {
        budgets: sweep.manifest.config.variants.len(),
        subjects: sweep.manifest.config.subjects.len().max(1),
        repeat: sweep.manifest.config.repeat,
        threshold_ns: options.threshold,
        disturbed: match (options.keep_disturbed, sweep.manifest.config.subjects.len()) {
            (true, _) => Disturbed::Kept,
            (false, 0) => Disturbed::SetAside,
            (false, _) => Disturbed::KeptIfWaiting,
        },
        reference: iter::once(BASELINE).chain(control).collect(),
    };
    // One by one: a worker with several cells left would work alone at the end.
    let cells = sweep.cells.par_iter().with_max_len(1);
    let measured: Vec<CellMeasured> = cells
        .map(|files| CellMeasured::of(files, &question))
        .collect::<Result<_, _>>()
        .map_err(bad_input)?;
    if measured
        .iter()
        .all(|cell| cell.state != CellState::Measured)
    {
        reject!(
            "{}: no cell has a complete block, so there is nothing to report",
            sweep.dir.display()
        );
    }
    Ok(measured.into_iter().map(CellSummary::from).collect())
}

/// Fills in the figures of all cells.
pub(crate) fn with_baseline(
    cells: &mut [CellSummary],
    variants: &[ComparedVariant],
) -> BTreeMap<What, Calibration> {
    let sweep = AllCells {
        cells,
        idle: idle_variants(cells, variants),
        variants: variants.len(),
        control: variants.iter().position(|it| it.role == Role::Control),
    };
    let whats = cells.iter().flat_map(|cell| cell.estimates.keys().copied());
    let whats: Vec<What> = BTreeSet::from_iter(whats).into_iter().collect();
    let of_whats = whats.par_iter().map(|what| sweep.figures(*what));
    let of_whats: Vec<_> = of_whats.collect();
    let mut calibrations = BTreeMap::new();
    for (what, (figures, calibration)) in whats.into_iter().zip(of_whats) {
        for (cell, figures) in cells.iter_mut().zip(figures) {
            if !figures.is_empty() {
                cell.figures.insert(what, figures);
            }
        }
        calibrations.insert(what, calibration);
    }
    calibrations
}

/// What the comparison needs from all cells.
struct AllCells<'a> {
    cells: &'a [CellSummary],
    /// By cell, variants that differ from the baseline by noise only.
    idle: Vec<Vec<usize>>,
    variants: usize,
    control: Option<usize>,
}

impl AllCells<'_> {
    /// The figures of one metric, by cell and then by variant. A cell without the metric has no figures.
    fn figures(&self, what: What) -> (Vec<Vec<Option<CellFigure>>>, Calibration) {
        let of_cells: Vec<&[Option<CellEstimate>]> = self
            .cells
            .iter()
            .map(|cell| cell.estimates.get(&what).map_or(&[][..], Vec::as_slice))
            .collect();
        let changes: Vec<Vec<Option<Change>>> = of_cells
            .iter()
            .zip(self.cells)
            .map(|(estimates, cell)| match cell.turns.blur(what.metric) {
                true => vec![None; estimates.len()],
                false => changes(estimates, self.control),
            })
            .collect();
        let pairs: Vec<Change> = changes
            .iter()
            .zip(&self.idle)
            .flat_map(|(of_cell, idle)| idle.iter().filter_map(|variant| *of_cell.get(*variant)?))
            .collect();
        let calibration = stats::calibrate(&pairs);
        let inflation = calibration.inflation();
        let figure = |estimate: &Option<CellEstimate>| {
            let estimate = estimate.as_ref()?;
            Some(CellFigure::of(what, estimate, inflation))
        };
        let mut figures: Vec<Vec<Option<CellFigure>>> = of_cells
            .iter()
            .map(|of_cell| of_cell.iter().take(self.variants).map(figure).collect())
            .collect();
        // Changes are from here, so this is the level that they start at.
        for (of_cell, estimates) in figures.iter_mut().zip(&of_cells) {
            if let (Some(level), Some(reference)) = (of_cell.first_mut(), estimates.last()) {
                *level = figure(reference);
            }
        }
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
        (figures, calibration)
    }

    /// The changes of one variant. Which of them are resolved depends on all cells; the flag says whether a change
    /// can be resolved at all.
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
        let cells = self.cells.iter().zip(changes).zip(adjusted);
        let figures = cells.map(|((cell, change), p_value)| {
            let enough = what.metric.has_error_floor || cell.blocks >= FEWEST_BLOCKS;
            let is_resolved = enough && p_value.is_some_and(stats::is_resolved);
            let (change, _) = change?;
            Some(change_figure(what, &change, is_resolved))
        });
        figures.collect()
    }
}

/// The change of every variant: of the A/A control from the baseline, of candidates from both together.
fn changes(estimates: &[Option<CellEstimate>], control: Option<usize>) -> Vec<Option<Change>> {
    let Some((reference, variants)) = estimates.split_last() else {
        return Vec::new();
    };
    let change = |(variant, estimate): (usize, &Option<CellEstimate>)| {
        let from = if Some(variant) == control {
            &estimates[BASELINE]
        } else {
            reference
        };
        stats::change(from.as_ref()?, estimate.as_ref()?)
    };
    variants.iter().enumerate().map(change).collect()
}

/// For each cell, the variants that differ from the baseline by noise only: the A/A control, and budgets that never
/// fired in the cell.
fn idle_variants(cells: &[CellSummary], variants: &[ComparedVariant]) -> Vec<Vec<usize>> {
    let is_idle = |of_cell: &VariantEstimates, variant: usize| match variants[variant].role {
        Role::Baseline => false,
        Role::Control => true,
        Role::Candidate => {
            let budgets = variants[variant].budgets;
            // Another program can differ even if its budget never fires.
            variants[variant].subject == 0
                && budgets != Budgets::NONE
                && variants[variant].bounds().all(|(site, _)| {
                    let what = What::of(site, Metric::YieldsPer1000);
                    let yields = of_cell.get(&what).and_then(|of| of.get(variant)?.as_ref());
                    yields.is_some_and(|yields| yields.value() == 0.0)
                })
        }
    };
    let of_cell = |cell: &CellSummary| {
        let variants = 0..variants.len();
        variants
            .filter(|variant| !cell.turns.are_fewer(*variant))
            .filter(|variant| is_idle(&cell.estimates, *variant))
            .collect()
    };
    cells.iter().map(of_cell).collect()
}

/// Whether the data determine both ends of the interval. They do not for a percentile with too few values beyond it;
/// then its distance from another percentile is not known either.
fn is_bounded(estimate: Option<&CellEstimate>) -> bool {
    let interval = estimate.and_then(|estimate| estimate.interval(CONFIDENCE));
    interval.is_none_or(|interval| interval.high.is_finite())
}

/// In the metric's unit, and in percent.
pub(super) fn change_figure(what: What, change: &Change, is_resolved: bool) -> ChangeFigure {
    const PERCENT: f64 = 100.0;
    let difference = change.difference.times(what.metric.scale);
    ChangeFigure {
        value: difference.value,
        difference: Some(difference),
        relative: change.relative.map(|relative| relative.times(PERCENT)),
        resolved: Resolved::new(is_resolved, difference.value),
    }
}
