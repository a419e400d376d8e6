//! Reads a sweep and compares variants with the baseline, metric by metric over all cells.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::bail;
use program::{Failure, bad_input, reject};
use rayon::prelude::*;
use run_format::files::SITES;
use run_format::{BASELINE, Site};

use super::calibrate::calibrate_changes;
use super::identity::Identity;
use super::{CellFigure, CellSummary, ChangeFigure, Summary, shown};
use crate::load::{CellRuns, ComparedRole, Sweep};
use crate::metrics::details::PageDetails;
use crate::metrics::sums::with_changes;
use crate::metrics::{
    ByVariant, CellData, CellState, Estimates, LaunchSites, MetricKey, Side, SweepSetup,
};
use crate::options::Options;
use crate::stats::{self, CONFIDENCE, CellEstimate};
use crate::text::joined_any;

impl Summary {
    /// Measures the cells of a sweep, several at a time, and keeps only their figures.
    pub(crate) fn read(sweep: Sweep, options: &Options) -> Result<Summary, Failure> {
        let variants = sweep.compared();
        let axes = sweep.manifest.config.axes.clone().sorted();
        let identity = Identity::from_sweep(&sweep);
        let mut cells = compute_cells(sweep, options, options.judged_site(&identity.sites))?;
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

fn compute_cells(sweep: Sweep, options: &Options, site: Site) -> Result<Vec<CellSummary>, Failure> {
    let mut variants = sweep.compared().into_iter();
    let control = variants.position(|variant| variant.role == ComparedRole::Control);
    let subjects = &sweep.manifest.config.subjects;
    let labels = subjects.iter().map(|subject| subject.label.clone());
    let setup = SweepSetup {
        variants_per_subject: sweep.manifest.config.variants.len(),
        subjects: subjects.len().max(1),
        labels: labels.collect(),
        repeat: sweep.manifest.config.repeat,
        threshold_ns: options.figures.threshold_ns,
        site,
        control,
    };
    let shown = shown::axes(&sweep.manifest.config.axes);
    // Each worker takes one cell at a time. A worker with several cells left would work alone at the end.
    let cells = sweep.cells.into_par_iter().with_max_len(1);
    let compare_cell = |files: CellRuns| -> anyhow::Result<CellSummary> {
        let (mut data, estimates) = CellData::compute(&files, &setup)?;
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

/// Whether the data determine both ends of the interval. They do not for a percentile with too few values beyond it. The
/// distance of such a percentile from another one is not known either.
fn is_bounded(estimate: &CellEstimate) -> bool {
    let interval = estimate.interval(CONFIDENCE);
    interval.is_none_or(|interval| interval.high.is_finite())
}
