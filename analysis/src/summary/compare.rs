//! Compares variants with the baseline of the same sweep, metric by metric, over all cells; and one variant of two sweeps, cell by
//! cell.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::{iter, mem};

use anyhow::bail;
use program::{Failure, bad_input, reject};
use rayon::prelude::*;
use run_format::files::SITES;
use run_format::{Axes, BASELINE, Budgets, Site};

use super::identity::Identity;
use super::{
    CONFIDENCE, CellFigure, CellSummary, ChangeFigure, FEWEST_BLOCKS, Resolved, Summary, shown,
};
use crate::load::{CellRuns, ComparedRole, ComparedVariant, Sweep};
use crate::measure::details::PageDetails;
use crate::measure::sums::with_changes;
use crate::measure::{CellMeasured, CellState, LaunchSites, Metric, MetricKey, SweepSetup};
use crate::options::Options;
use crate::stats::{self, BareEstimate, Calibration, CellEstimate, RatioKind};
use crate::text::{joined_any, unique};

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
}

impl CellSummary {
    pub(crate) fn of(mut measured: CellMeasured, control: Option<usize>, site: Site) -> Self {
        let mut estimates = mem::take(&mut measured.estimates);
        let figures = estimates.iter().map(|(key, estimates)| {
            let figures = figures_of(*key, estimates, control, &measured);
            (*key, figures)
        });
        let figures = figures.collect();
        estimates.retain(|key, _| {
            key.metric.info().verdict.is_some() && *key == MetricKey::new(site, key.metric)
        });
        CellSummary {
            measured: Arc::new(measured),
            estimates,
            figures,
        }
    }
}

fn measure(sweep: &mut Sweep, options: &Options, site: Site) -> Result<Vec<CellSummary>, Failure> {
    let mut variants = sweep.compared().into_iter();
    let control = variants.position(|variant| variant.role == ComparedRole::Control);
    let subjects = &sweep.manifest.config.subjects;
    let setup = SweepSetup {
        budgets: sweep.manifest.config.variants.len(),
        subjects: subjects.len().max(1),
        labels: subjects
            .iter()
            .map(|subject| subject.label.clone())
            .collect(),
        repeat: sweep.manifest.config.repeat,
        threshold_ns: options.figures.threshold,
        site,
        reference: iter::once(BASELINE).chain(control).collect(),
    };
    let shown = shown::axes(&sweep.manifest.config.axes);
    // One by one: a worker with several cells left would work alone at the end.
    let cells = mem::take(&mut sweep.cells).into_par_iter().with_max_len(1);
    let of_cell = |files: CellRuns| -> anyhow::Result<CellSummary> {
        let mut measured = CellMeasured::of(&files, &setup)?;
        if !shown::has(&shown, &measured.cell) {
            measured.details = PageDetails::default();
        }
        Ok(CellSummary::of(measured, control, site))
    };
    let measured: anyhow::Result<Vec<_>> = cells.map(of_cell).collect();
    let measured = measured.map_err(bad_input)?;
    let launches = measured.iter().flat_map(|cell| &cell.measured.launches);
    check_sites(launches).map_err(bad_input)?;
    let is_measured = |cell: &CellSummary| cell.measured.state == CellState::Measured;
    if !measured.iter().any(is_measured) {
        reject!(
            "{}: no cell has a complete block, so there is nothing to report",
            sweep.dir.display()
        );
    }
    Ok(measured)
}

/// Launches of one program record the same sites, whatever they measure.
fn check_sites<'a>(launches: impl Iterator<Item = &'a LaunchSites>) -> anyhow::Result<()> {
    let mut of_subject: BTreeMap<usize, &LaunchSites> = BTreeMap::new();
    for launch in launches {
        let first = of_subject.entry(launch.subject).or_insert(launch);
        let [ours, theirs] = [launch, first].map(|it| joined_any(&it.sites, ", "));
        if ours != theirs {
            let [ours, theirs] = [ours, theirs].map(|it| it.unwrap_or_else(|| "none".to_owned()));
            let (path, first) = (launch.dir.join(SITES), first.dir.join(SITES));
            let (path, first) = (path.display(), first.display());
            bail!("{path}: its sites are {ours}, but those in {first} are {theirs}");
        }
    }
    Ok(())
}

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
            // Chance alone gives errors of counts and percentiles a lower bound, but not those of amounts.
            let has_floor = what.metric.ratio_kind() != Some(RatioKind::Amount);
            resolve(cells, what, variant, |cell| {
                has_floor || cell.measured.blocks >= FEWEST_BLOCKS
            });
        }
        (what, calibration)
    };
    whats.map(calibrate).collect()
}

/// Decides which changes of a variant are resolved. That depends on all cells, and a cell by itself may have too few blocks.
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

fn figures_of(
    what: MetricKey,
    estimates: &[Option<CellEstimate>],
    control: Option<usize>,
    cell: &CellMeasured,
) -> Vec<Option<CellFigure>> {
    let is_blurred = cell.turns.blur(what.metric);
    let baseline = estimates.first().and_then(Option::as_ref);
    let figure = |(estimate, change): (&CellEstimate, Option<stats::Change>)| {
        let change = change.filter(|_| !is_blurred);
        CellFigure {
            change: change.map(|change| ChangeFigure {
                is_bounded: baseline.is_none_or(is_bounded) && is_bounded(estimate),
                ..ChangeFigure::of(&change, what.metric.info().scale)
            }),
            ..CellFigure::of(what, estimate.bare())
        }
    };
    let estimates = with_changes(estimates, control).into_iter();
    estimates.map(|estimate| estimate.map(figure)).collect()
}

/// For each cell, the variants that differ from the baseline by noise only: the A/A control, and budgets that never fired.
fn idle_variants(cells: &[CellSummary], variants: &[ComparedVariant]) -> Vec<Vec<usize>> {
    let is_idle = |cell: &CellSummary, variant: usize| match variants[variant].role {
        ComparedRole::Baseline => false,
        ComparedRole::Control => true,
        ComparedRole::Candidate | ComparedRole::Copy => {
            variants[variant].acts_by_firing()
                && variants[variant].bounds().all(|(site, _)| {
                    let what = MetricKey::new(site, Metric::YieldsPer1000);
                    cell.value(what, variant) == Some(0.0)
                })
        }
    };
    let of_cell = |cell: &CellSummary| {
        let is_one = |at: &usize| !cell.measured.turns.fewer.contains(at) && is_idle(cell, *at);
        (0..variants.len()).filter(is_one).collect()
    };
    cells.iter().map(of_cell).collect()
}

/// Whether the data determine both ends of the interval. They do not for a percentile with too few values beyond it;
/// then its distance from another percentile is not known either.
fn is_bounded(estimate: &CellEstimate) -> bool {
    let interval = estimate.interval(CONFIDENCE);
    interval.is_none_or(|interval| interval.high.is_finite())
}

impl Summary {
    fn with_budgets(&self, budgets: Budgets) -> Option<usize> {
        self.variants.iter().position(|it| it.budgets == budgets)
    }

    /// The budgets that both sides have, in the order of this one.
    pub(crate) fn shared_budgets(&self, other: &Summary) -> Vec<Budgets> {
        let own = self.variants.iter().map(|it| it.budgets);
        unique(own.filter(|it| other.with_budgets(*it).is_some()))
    }

    pub(crate) fn shared_cells(&self, other: &Summary) -> usize {
        let is_there = |cell: &&CellSummary| other.cell(cell.measured.cell).is_some();
        self.cells.iter().filter(is_there).count()
    }
}

pub(crate) fn between(before: &Summary, after: &Summary, budgets: Budgets) -> Option<Summary> {
    let sides = [before, after];
    let [from, to] = sides.map(|side| side.with_budgets(budgets));
    let variants = [from?, to?];
    let pairs = after.cells.iter();
    let pairs = pairs.filter_map(|after| Some([before.cell(after.measured.cell)?, after]));
    let cells = pairs.map(|pair| {
        // What one side alone has cannot be compared.
        let keys = pair[1].figures.keys();
        let keys = keys.filter(|key| pair[0].figures.contains_key(key));
        let figures = keys.map(|key| (*key, figures(*key, sides, pair, variants)));
        CellSummary {
            figures: figures.collect(),
            measured: Arc::new(measured(pair)),
            ..CellSummary::default()
        }
    });
    let mut cells: Vec<CellSummary> = cells.collect();
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
        axes: Axes::of_cells(cells.iter().map(|cell| &cell.measured.cell)),
        variants: vec![
            variant(before, "before", ComparedRole::Baseline),
            variant(after, "after", ComparedRole::Candidate),
        ],
        cells,
        calibrations: BTreeMap::new(),
    })
}

fn measured(pair: [&CellSummary; 2]) -> CellMeasured {
    let [before, after] = pair.map(|cell| &cell.measured);
    CellMeasured {
        state: match &before.state {
            CellState::Measured => after.state.clone(),
            other => other.clone(),
        },
        flaws: [before.flaws.clone(), after.flaws.clone()].concat(),
        runs: before.runs.min(after.runs),
        at_cap: before.at_cap || after.at_cap,
        checks: after.checks.clone(),
        ..CellMeasured::empty(after.cell, before.blocks.min(after.blocks))
    }
}

/// Before and after, the latter with its change instead of that within its own sweep.
fn figures(
    what: MetricKey,
    sides: [&Summary; 2],
    cells: [&CellSummary; 2],
    variants: [usize; 2],
) -> Vec<Option<CellFigure>> {
    let estimates = [0, 1].map(|at| Some(&cells[at].figure(what, variants[at])?.estimate));
    let change = match estimates {
        [Some(was), Some(is)] => {
            // Nothing is calibrated between sweeps.
            let raw = |side: &Summary, estimate: &BareEstimate| {
                estimate.clone().inflated(1.0 / side.inflation(what))
            };
            change(&raw(sides[0], was), &raw(sides[1], is))
        }
        _ => None,
    };
    let figures = estimates.into_iter().zip([None, change]);
    let figures = figures.map(|(estimate, change)| {
        let estimate = estimate?.clone();
        Some(CellFigure { estimate, change })
    });
    figures.collect()
}

/// A change that is not yet resolved. If a side has only one launch, or no estimates, it has no uncertainty.
fn change(was: &BareEstimate, is: &BareEstimate) -> Option<ChangeFigure> {
    if was.is_of_one_launch || is.is_of_one_launch {
        return Some(ChangeFigure {
            value: is.value - was.value,
            difference: None,
            relative: None,
            is_bounded: true,
            resolved: Resolved::No,
        });
    }
    Some(ChangeFigure::of(&stats::change_between(was, is)?, 1.0))
}
