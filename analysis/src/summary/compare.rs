//! Compares variants with the baseline of the same sweep: metric by metric, over all cells.

use std::{
    collections::{BTreeMap, BTreeSet},
    iter, mem,
};

use program::{Failure, bad_input, reject};
use rayon::prelude::*;
use run_format::{
    Site,
    variant::{BASELINE, Role},
};

use super::{
    CONFIDENCE, CellFigure, CellSummary, ChangeFigure, FEWEST_BLOCKS, Figures, Resolved, Summary,
    identity::Identity, shown,
};
use crate::{
    load::{Sweep, blocks::Disturbed, compared::ComparedVariant},
    measure::{
        CellMeasured, CellState, Estimates, SweepSetup,
        details::PageDetails,
        metric::{Metric, MetricKey},
    },
    options::Options,
    stats::{self, Calibration, CellEstimate},
};

impl Summary {
    /// Reads every run of a sweep, and forgets each.
    pub(crate) fn of(sweep: &mut Sweep, options: &Options) -> Result<Summary, Failure> {
        let variants = sweep.compared();
        let axes = sweep.manifest.config.axes.clone().sorted();
        let identity = Identity::of(sweep);
        let mut cells = measure(sweep, options, options.first_site(&identity.sites))?;
        let calibrations = with_baseline(&mut cells, &variants);
        Ok(Summary {
            identity,
            axes,
            variants,
            cells,
            calibrations,
        })
    }

    /// With disturbed blocks, as far as a verdict about the site needs it. None if no block was set aside, or if it was
    /// taken before.
    pub(crate) fn take_disturbed(&mut self, site: Site) -> Option<Summary> {
        let mut cells = self.cells.iter();
        cells.find(|cell| cell.with_disturbed.is_some())?;
        let mut cells = mem::take(&mut self.cells);
        let with_disturbed = |cell: &mut CellSummary| match cell.with_disturbed.take() {
            Some(cell) => *cell,
            None => self.uncalibrated(cell, site),
        };
        let mut with: Vec<CellSummary> = cells.iter_mut().map(with_disturbed).collect();
        self.cells = cells;
        let calibrations = with_baseline(&mut with, &self.variants);
        Some(Summary {
            identity: self.identity.clone(),
            axes: self.axes.clone(),
            variants: self.variants.clone(),
            cells: with,
            calibrations,
        })
    }

    /// What a verdict about the site needs of a cell.
    fn uncalibrated(&self, cell: &CellSummary, site: Site) -> CellSummary {
        let figures = cell.figures.iter();
        let figures = figures.filter(|(what, _)| is_judged(**what, site));
        let figures = figures.map(|(what, figures)| {
            let figures = figures.iter().map(|figure| {
                let figure = figure.clone()?;
                Some(figure.inflated(1.0 / self.inflation(*what)))
            });
            (*what, figures.collect())
        });
        CellSummary {
            figures: figures.collect(),
            ..only_judged(&cell.measured).into()
        }
    }
}

/// Whether a verdict about the site needs it.
fn is_judged(what: MetricKey, site: Site) -> bool {
    what.site.is_none_or(|it| it == site) || what.metric == Metric::YieldsPer1000
}

/// Candidates are not compared with each other.
fn only_judged(cell: &CellMeasured) -> CellMeasured {
    CellMeasured {
        state: cell.state.clone(),
        slow_polls: cell.slow_polls.clone(),
        turns: cell.turns.clone(),
        checks: cell.checks.clone(),
        ..CellMeasured::empty(cell.cell, cell.blocks)
    }
}

impl CellSummary {
    /// Figures of a cell that is yet to be calibrated.
    pub(crate) fn of(
        mut measured: CellMeasured,
        control: Option<usize>,
        site: Site,
    ) -> CellSummary {
        let figures = |estimates: &Estimates| {
            let whats = estimates.iter();
            let figures = whats.map(|(what, it)| (*what, figures(*what, it, control, &measured)));
            figures.collect::<Figures>()
        };
        let with_disturbed = measured.with_disturbed.as_ref().map(|estimates| {
            let mut figures = figures(estimates);
            figures.retain(|what, _| is_judged(*what, site));
            Box::new(CellSummary {
                figures,
                ..only_judged(&measured).into()
            })
        });
        let figures = figures(&measured.estimates);
        measured.with_disturbed = None;
        measured.estimates.retain(|key, _| {
            key.metric.info().verdict.is_some() && *key == MetricKey::new(site, key.metric)
        });
        CellSummary {
            measured,
            figures,
            with_disturbed,
        }
    }
}

/// The facts about each cell, and its figures.
fn measure(sweep: &mut Sweep, options: &Options, site: Site) -> Result<Vec<CellSummary>, Failure> {
    let roles = sweep.compared();
    let control = roles.iter().position(|it| it.role == Role::Control);
    let setup = SweepSetup {
        budgets: sweep.manifest.config.variants.len(),
        subjects: sweep.manifest.config.subjects.len().max(1),
        repeat: sweep.manifest.config.repeat,
        threshold_ns: options.figures.threshold,
        site,
        disturbed: match (
            options.figures.keep_disturbed,
            sweep.manifest.config.subjects.len(),
        ) {
            (true, _) => Disturbed::Kept,
            (false, 0) => Disturbed::SetAside,
            (false, _) => Disturbed::KeptIfWaiting,
        },
        reference: iter::once(BASELINE).chain(control).collect(),
    };
    let shown = shown::axes(&sweep.manifest.config.axes);
    // One by one: a worker with several cells left would work alone at the end.
    let cells = mem::take(&mut sweep.cells).into_par_iter().with_max_len(1);
    let measured: Vec<CellSummary> = cells
        .map(|files| {
            let mut measured = CellMeasured::of(&files, &setup)?;
            if !shown::has(&shown, &measured.cell) {
                measured.details = PageDetails::default();
            }
            Ok(CellSummary::of(measured, control, site))
        })
        .collect::<anyhow::Result<_>>()
        .map_err(bad_input)?;
    if measured
        .iter()
        .all(|cell| cell.measured.state != CellState::Measured)
    {
        reject!(
            "{}: no cell has a complete block, so there is nothing to report",
            sweep.dir.display()
        );
    }
    Ok(measured)
}

/// Calibrates the figures of all cells, and decides which changes are resolved.
pub(crate) fn with_baseline(
    cells: &mut [CellSummary],
    variants: &[ComparedVariant],
) -> BTreeMap<MetricKey, Calibration> {
    let idle = idle_variants(cells, variants);
    let whats = cells.iter().flat_map(|cell| cell.figures.keys().copied());
    let whats = BTreeSet::from_iter(whats).into_iter();
    let calibrate = |what: MetricKey| {
        let pairs = cells.iter().zip(&idle).flat_map(|(cell, idle)| {
            let changes = idle.iter().map(|variant| cell.change(what, *variant));
            changes.filter_map(|change| change?.difference)
        });
        let calibration = stats::calibrate(&pairs.collect::<Vec<_>>());
        let figures = cells.iter_mut().filter_map(|it| it.figures.get_mut(&what));
        for figure in figures.flatten() {
            *figure = figure.take().map(|it| it.inflated(calibration.inflation()));
        }
        for variant in 1..variants.len() {
            resolve(cells, what, variant, |cell| {
                what.metric.has_error_floor() || cell.measured.blocks >= FEWEST_BLOCKS
            });
        }
        (what, calibration)
    };
    whats.map(calibrate).collect()
}

/// Decides which changes of a variant are resolved. That depends on all cells, and a cell by itself may have too few
/// blocks.
pub(super) fn resolve(
    cells: &mut [CellSummary],
    what: MetricKey,
    variant: usize,
    has_enough: impl Fn(&CellSummary) -> bool,
) {
    let p_value = |cell: &CellSummary| {
        let change = cell.change(what, variant).filter(|it| it.is_bounded)?;
        Some(change.difference?.p_value())
    };
    let p_values: Vec<Option<f64>> = cells.par_iter().map(p_value).collect();
    let adjusted = stats::adjusted_p_values(&p_values);
    for (cell, p_value) in cells.iter_mut().zip(adjusted) {
        let is_resolved = has_enough(cell) && p_value.is_some_and(stats::is_resolved);
        let figures = cell.figures.get_mut(&what);
        let figure = figures.and_then(|figures| figures.get_mut(variant)?.as_mut());
        if let Some(change) = figure.and_then(|figure| figure.change.as_mut()) {
            change.resolved = Resolved::new(is_resolved, change.value);
        }
    }
}

/// The figures of one metric, by variant. The change is that of the A/A control from the baseline, and of candidates
/// from both together.
fn figures(
    what: MetricKey,
    estimates: &[Option<CellEstimate>],
    control: Option<usize>,
    cell: &CellMeasured,
) -> Vec<Option<CellFigure>> {
    let Some((reference, variants)) = estimates.split_last() else {
        return Vec::new();
    };
    let baseline = &variants[BASELINE];
    let change = |variant: usize, estimate: &CellEstimate| {
        let from = if Some(variant) == control {
            baseline
        } else {
            reference
        };
        let change = stats::change(from.as_ref()?, estimate)?;
        Some(ChangeFigure {
            is_bounded: baseline.as_ref().is_none_or(is_bounded) && is_bounded(estimate),
            ..ChangeFigure::of(&change, what.metric.info().scale)
        })
    };
    let is_blurred = cell.turns.blur(what.metric);
    let figure = |(variant, estimate): (usize, &Option<CellEstimate>)| {
        if variant == BASELINE {
            // Changes are from here, so this is the level that they start at.
            return Some(CellFigure::of(what, reference.as_ref()?.bare()));
        }
        let estimate = estimate.as_ref()?;
        Some(CellFigure {
            change: change(variant, estimate).filter(|_| !is_blurred),
            ..CellFigure::of(what, estimate.bare())
        })
    };
    variants.iter().enumerate().map(figure).collect()
}

/// For each cell, the variants that differ from the baseline by noise only: the A/A control, and budgets that never
/// fired in the cell.
fn idle_variants(cells: &[CellSummary], variants: &[ComparedVariant]) -> Vec<Vec<usize>> {
    let is_idle = |cell: &CellSummary, variant: usize| match variants[variant].role {
        Role::Baseline => false,
        Role::Control => true,
        Role::Candidate => {
            variants[variant].acts_by_firing()
                && variants[variant].bounds().all(|(site, _)| {
                    let what = MetricKey::new(site, Metric::YieldsPer1000);
                    cell.value(what, variant) == Some(0.0)
                })
        }
    };
    let of_cell = |cell: &CellSummary| {
        let variants = 0..variants.len();
        variants
            .filter(|variant| !cell.measured.turns.are_fewer(*variant))
            .filter(|variant| is_idle(cell, *variant))
            .collect()
    };
    cells.iter().map(of_cell).collect()
}

/// Whether the data determine both ends of the interval. They do not for a percentile with too few values beyond it;
/// then its distance from another percentile is not known either.
fn is_bounded(estimate: &CellEstimate) -> bool {
    let interval = estimate.interval(CONFIDENCE);
    interval.is_none_or(|interval| interval.high.is_finite())
}
