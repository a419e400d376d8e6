//! Compares variants with the baseline of the same sweep, metric by metric over all cells. Also compares one variant of two
//! sweeps, cell by cell.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use anyhow::bail;
use program::{Failure, bad_input, reject};
use rayon::prelude::*;
use run_format::files::SITES;
use run_format::{Axes, BASELINE, Budgets, Site};

use super::identity::Identity;
use super::{CellFigure, CellSummary, ChangeFigure, FEWEST_BLOCKS, Resolved, Summary, shown};
use crate::load::{CellRuns, ComparedRole, ComparedVariant, Sweep};
use crate::measure::curve::{CurvePoint, CurveValue};
use crate::measure::details::PageDetails;
use crate::measure::sums::with_changes;
use crate::measure::{
    ByVariant, CellData, CellState, Estimates, LaunchSites, Metric, MetricKey, Side, SweepSetup,
};
use crate::options::Options;
use crate::stats::{self, BareEstimate, CONFIDENCE, Calibration, CellEstimate, RatioKind};
use crate::text::{joined_any, unique};

impl Summary {
    /// Measures the cells of a sweep, several at a time, and keeps only their figures.
    pub(crate) fn read(sweep: Sweep, options: &Options) -> Result<Summary, Failure> {
        let variants = sweep.compared();
        let axes = sweep.manifest.config.axes.clone().sorted();
        let identity = Identity::from_sweep(&sweep);
        let mut cells = measure(sweep, options, options.first_site(&identity.sites))?;
        let calibrations = calibrate_changes(&mut cells, &variants);
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
    /// Compares the variants of a cell. Keeps only the estimates that decide a verdict about this site.
    pub(crate) fn compare(
        data: CellData,
        mut estimates: Estimates,
        control: Option<usize>,
        site: Site,
    ) -> Self {
        let by_key = estimates
            .iter()
            .map(|(key, by_variant)| (*key, figures(*key, by_variant, control, &data)));
        let all_figures = by_key.collect();
        estimates.retain(|key, _| {
            key.metric.info().verdict.is_some() && *key == MetricKey::new(site, key.metric)
        });
        CellSummary {
            data: Arc::new(data),
            estimates,
            figures: all_figures,
        }
    }
}

fn measure(sweep: Sweep, options: &Options, site: Site) -> Result<Vec<CellSummary>, Failure> {
    let mut variants = sweep.compared().into_iter();
    let control = variants.position(|variant| variant.role == ComparedRole::Control);
    let subjects = &sweep.manifest.config.subjects;
    let labels = subjects.iter().map(|subject| subject.label.clone());
    let setup = SweepSetup {
        budgets: sweep.manifest.config.variants.len(),
        subjects: subjects.len().max(1),
        labels: labels.collect(),
        repeat: sweep.manifest.config.repeat,
        threshold_ns: options.figures.threshold,
        site,
        control,
    };
    let shown = shown::axes(&sweep.manifest.config.axes);
    // Each worker takes one cell at a time. A worker with several cells left would work alone at the end.
    let cells = sweep.cells.into_par_iter().with_max_len(1);
    let compare_cell = |files: CellRuns| -> anyhow::Result<CellSummary> {
        let (mut data, estimates) = CellData::measure(&files, &setup)?;
        if !shown::has(&shown, &data.cell) {
            data.details = PageDetails::default();
        }
        Ok(CellSummary::compare(data, estimates, control, site))
    };
    let read: anyhow::Result<Vec<_>> = cells.map(compare_cell).collect();
    let compared = read.map_err(bad_input)?;
    let sites = compared.iter().flat_map(|cell| &cell.data.sites_by_launch);
    check_sites(sites).map_err(bad_input)?;
    let is_measured = |cell: &CellSummary| cell.data.state == CellState::Measured;
    if !compared.iter().any(is_measured) {
        reject!(
            "{}: no cell has a complete block, so there is nothing to report",
            sweep.dir.display()
        );
    }
    Ok(compared)
}

/// Refuses launches of one subject that recorded different sites. All launches of a subject record the same sites.
fn check_sites<'a>(launches: impl Iterator<Item = &'a LaunchSites>) -> anyhow::Result<()> {
    let mut by_subject: BTreeMap<usize, &LaunchSites> = BTreeMap::new();
    for launch in launches {
        let first = by_subject.entry(launch.subject).or_insert(launch);
        if launch.sites != first.sites {
            let in_words = |launch: &LaunchSites| joined_any(&launch.sites, ", ");
            let [ours, theirs] =
                [launch, first].map(|launch| in_words(launch).unwrap_or_else(|| "none".to_owned()));
            let (path, first) = (launch.dir.join(SITES), first.dir.join(SITES));
            let (path, first) = (path.display(), first.display());
            bail!("{path}: its sites are {ours}, but those in {first} are {theirs}");
        }
    }
    Ok(())
}

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

fn figures(
    key: MetricKey,
    estimates: &ByVariant<Option<CellEstimate>>,
    control: Option<usize>,
    cell: &CellData,
) -> Vec<Option<CellFigure>> {
    let is_mixed = cell.turns.mixes_variants(key.metric);
    let baseline = estimates.value_of(Side::Variant(BASELINE));
    let figure = |(estimate, change): (&CellEstimate, Option<stats::Change>)| CellFigure {
        change: change.filter(|_| !is_mixed).map(|change| ChangeFigure {
            is_bounded: baseline.is_none_or(is_bounded) && is_bounded(estimate),
            ..ChangeFigure::scaled(&change, key.metric.info().scale)
        }),
        ..CellFigure::without_change(key, estimate.bare())
    };
    let estimates = with_changes(estimates, control).into_iter();
    estimates.map(|estimate| estimate.map(figure)).collect()
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
            !cell.data.turns.fewer.contains(variant) && is_only_noise(cell, *variant)
        };
        (0..variants.len()).filter(is_same).collect()
    };
    cells.iter().map(noise_only_variants_of_cell).collect()
}

/// Whether the data determine both ends of the interval. They do not for a percentile with too few values beyond it. The
/// distance of such a percentile from another one is not known either.
fn is_bounded(estimate: &CellEstimate) -> bool {
    let interval = estimate.interval(CONFIDENCE);
    interval.is_none_or(|interval| interval.high.is_finite())
}

impl Summary {
    fn with_budgets(&self, budgets: Budgets) -> Option<usize> {
        self.variants
            .iter()
            .position(|variant| variant.budgets == budgets)
    }

    /// The budgets that both sides have, in the order of this side.
    pub(crate) fn shared_budgets(&self, other: &Summary) -> Vec<Budgets> {
        let own = self.variants.iter().map(|variant| variant.budgets);
        unique(own.filter(|budgets| other.with_budgets(*budgets).is_some()))
    }

    pub(crate) fn shared_cells(&self, other: &Summary) -> usize {
        let is_there = |cell: &&CellSummary| other.cell(cell.cell()).is_some();
        self.cells.iter().filter(is_there).count()
    }
}

/// The change of a variant from one sweep to another, as a summary with two variants. Both sweeps have these budgets.
pub(crate) fn between(before: &Summary, after: &Summary, budgets: Budgets) -> Summary {
    let sides = [before, after];
    let variants = sides.map(|side| side.with_budgets(budgets).expect("both have them"));
    let all = after.cells.iter();
    let pairs = all.filter_map(|after| Some([before.cell(after.cell())?, after]));
    let cells = pairs.map(|pair| {
        // A figure that only one side has cannot be compared.
        let [before, after] = pair.map(|cell| &cell.figures);
        let keys = after.keys().filter(|key| before.contains_key(key));
        let figures = keys.map(|key| (*key, figures_between(*key, sides, pair, variants)));
        CellSummary {
            figures: figures.collect(),
            data: Arc::new(data_of_both(pair)),
            ..CellSummary::default()
        }
    });
    let mut cells: Vec<CellSummary> = cells.collect();
    let keys = cells.iter().flat_map(|cell| cell.figures.keys().copied());
    for key in BTreeSet::from_iter(keys) {
        resolve(&mut cells, key, 1, |_| true);
    }
    let variant = |side: &Summary, when: &str, role| ComparedVariant {
        label: format!("{when} ({}, {budgets})", side.identity.name),
        role,
        budgets,
        subject: 0,
    };
    Summary {
        identity: after.identity.clone(),
        axes: Axes::of_cells(cells.iter().map(|cell| &cell.data.cell)),
        variants: vec![
            variant(before, "before", ComparedRole::Baseline),
            variant(after, "after", ComparedRole::Candidate),
        ],
        cells,
        calibrations: BTreeMap::new(),
    }
}

fn data_of_both(pair: [&CellSummary; 2]) -> CellData {
    let [before, after] = pair.map(|cell| &cell.data);
    CellData {
        state: match &before.state {
            CellState::Measured => after.state.clone(),
            other => other.clone(),
        },
        flaws: [before.flaws.clone(), after.flaws.clone()].concat(),
        launch_count: before.launch_count.min(after.launch_count),
        at_cap: before.at_cap || after.at_cap,
        checks: after.checks.clone(),
        ..CellData::of_one_launch(after.cell, before.blocks.min(after.blocks))
    }
}

/// The figures before and after. The latter has the change between the sweeps instead of that within its own sweep.
fn figures_between(
    key: MetricKey,
    sides: [&Summary; 2],
    cells: [&CellSummary; 2],
    variants: [usize; 2],
) -> Vec<Option<CellFigure>> {
    let estimates = [0, 1].map(|side| Some(&cells[side].figure(key, variants[side])?.estimate));
    let change = match estimates {
        [Some(was), Some(is)] => {
            // Nothing is calibrated between sweeps.
            let raw = |side: &Summary, estimate: &BareEstimate| {
                estimate.clone().inflated(1.0 / side.inflation(key))
            };
            change_between(&raw(sides[0], was), &raw(sides[1], is))
        }
        _ => None,
    };
    let [was, is] = estimates.map(|estimate| estimate.cloned());
    let figure = |estimate, change| CellFigure { estimate, change };
    vec![
        was.map(|was| figure(was, None)),
        is.map(|is| figure(is, change)),
    ]
}

/// A change that is not yet resolved. It has no uncertainty if a side has only one launch or no interval.
fn change_between(was: &BareEstimate, is: &BareEstimate) -> Option<ChangeFigure> {
    if was.is_of_one_group || is.is_of_one_group {
        return Some(ChangeFigure {
            value: is.value - was.value,
            difference: None,
            relative: None,
            is_bounded: true,
            resolved: Resolved::No,
        });
    }
    Some(ChangeFigure::scaled(&stats::change_between(was, is)?, 1.0))
}
