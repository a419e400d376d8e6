//! The figures of all cells: how much each variant differs from the baseline, and whether that is resolved.

pub(crate) mod between;
mod calibrate;
pub(crate) mod children;
mod identity;
pub(crate) mod predicted;
mod read;
mod shown;
pub(crate) mod table;

use std::collections::BTreeMap;
use std::sync::Arc;

use run_format::{Axes, BASELINE, Cell, Site};

#[cfg(test)]
pub(crate) use self::calibrate::calibrate_changes;
pub(crate) use self::identity::{
    Identity, host_words, node_words, real_network_words, tool_words, upstream_words,
};
pub(crate) use self::table::{CsvTable, tables};
use crate::load::{ComparedRole, ComparedVariant};
use crate::metrics::{
    CellData, CellState, Checks, Estimates, Metric, MetricKey, Side, SlowPollCounts,
};
use crate::options::Options;
use crate::stats::{self, BareEstimate, CONFIDENCE, Calibration, Change, Interval, Uncertain};

/// In fewer blocks, an amount with few distinct values can agree by chance. Runs that stop early have at least this many.
pub(crate) use run_format::plan::run::FEWEST_BLOCKS;

pub(crate) struct Summary {
    pub(crate) identity: Identity,
    pub(crate) axes: Axes,
    pub(crate) variants: Vec<ComparedVariant>,
    pub(crate) cells: Vec<CellSummary>,
    pub(crate) calibrations: BTreeMap<MetricKey, Calibration>,
}

/// A cell and its figures. Estimates with their blocks take most memory, so only those that decide a verdict are kept.
#[derive(Default)]
pub(crate) struct CellSummary {
    pub(crate) data: Arc<CellData>,
    pub(crate) estimates: Estimates,
    pub(crate) figures: Figures,
}

type Figures = BTreeMap<MetricKey, Vec<Option<CellFigure>>>;

#[derive(Clone, Debug)]
pub(crate) struct CellFigure {
    pub(crate) estimate: BareEstimate,
    /// The difference from the baseline, which for candidates is pooled with the A/A control. None for the baseline itself.
    pub(crate) change: Option<ChangeFigure>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ChangeFigure {
    pub(crate) value: f64,
    /// Absent if the uncertainty is unknown.
    pub(crate) difference: Option<Uncertain>,
    pub(crate) relative: Option<Uncertain>,
    /// Whether the data bound both intervals that the change compares. Otherwise it is never called resolved.
    is_bounded: bool,
    pub(crate) resolved: Resolved,
}

/// The numbers of cells in which a metric is resolved to be lower, and to be higher.
pub(crate) struct ResolvedCells {
    pub(crate) lower: usize,
    pub(crate) higher: usize,
}

/// Whether a difference is significant after correcting for the number of comparisons, and its direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Resolved {
    Lower,
    Higher,
    No,
}

impl Resolved {
    pub(crate) fn new(is_resolved: bool, value: f64) -> Resolved {
        match is_resolved {
            true if value < 0.0 => Resolved::Lower,
            true if value > 0.0 => Resolved::Higher,
            _ => Resolved::No,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Resolved::Lower => "lower",
            Resolved::Higher => "higher",
            Resolved::No => "no",
        }
    }
}

impl ChangeFigure {
    /// Makes a figure of a change, whose values the factor `scale` brings to their unit.
    fn scaled(change: &Change, scale: f64) -> ChangeFigure {
        const PERCENT: f64 = 100.0;
        let difference = change.difference.times(scale);
        ChangeFigure {
            value: difference.value,
            difference: Some(difference),
            relative: change.relative.map(|relative| relative.times(PERCENT)),
            is_bounded: true,
            resolved: Resolved::No,
        }
    }

    fn inflated(self, factor: f64) -> ChangeFigure {
        ChangeFigure {
            difference: self
                .difference
                .map(|difference| difference.inflated(factor)),
            relative: self.relative.map(|relative| relative.inflated(factor)),
            ..self
        }
    }

    pub(crate) fn interval(&self) -> Option<Interval> {
        self.difference
            .map(|difference| difference.interval(CONFIDENCE))
    }
}

impl Summary {
    pub(crate) fn function(&self, site: Site) -> &str {
        self.identity.sites.function(site)
    }

    pub(crate) fn judged_site(&self, options: &Options) -> Site {
        options.judged_site(&self.identity.sites)
    }

    pub(crate) fn candidates(&self) -> impl Iterator<Item = (usize, &ComparedVariant)> {
        self.with_role(ComparedRole::Candidate)
    }

    pub(crate) fn control(&self) -> Option<(usize, &ComparedVariant)> {
        self.with_role(ComparedRole::Control).next()
    }

    fn with_role(&self, role: ComparedRole) -> impl Iterator<Item = (usize, &ComparedVariant)> {
        let variants = self.variants.iter().enumerate();
        variants.filter(move |(_, variant)| variant.role == role)
    }

    /// The measured cells. Those with the most time beyond the threshold in the baseline come first.
    pub(crate) fn by_time_beyond(&self, site: Site) -> Vec<&CellSummary> {
        let key = MetricKey::new(site, Metric::BeyondMsPerS);
        let beyond_ms = |cell: &CellSummary| cell.value(key, BASELINE).unwrap_or(0.0);
        let mut cells: Vec<&CellSummary> = self.measured_cells().collect();
        cells.sort_by(|a, b| beyond_ms(b).total_cmp(&beyond_ms(a)));
        cells
    }

    pub(crate) fn values(&self, key: MetricKey, variant: usize) -> impl Iterator<Item = f64> {
        self.measured_cells()
            .filter_map(move |cell| cell.value(key, variant))
    }

    pub(crate) fn resolved(&self, key: MetricKey, variant: usize) -> ResolvedCells {
        let count = |wanted| {
            let changes = self
                .measured_cells()
                .filter_map(|cell| cell.change(key, variant));
            changes.filter(|change| change.resolved == wanted).count()
        };
        ResolvedCells {
            lower: count(Resolved::Lower),
            higher: count(Resolved::Higher),
        }
    }

    pub(crate) fn cell(&self, wanted: Cell) -> Option<&CellSummary> {
        let mut cells = self.cells.iter();
        cells.find(|cell| cell.cell() == wanted)
    }

    pub(crate) fn has(&self, key: MetricKey) -> bool {
        self.measured_cells()
            .any(|cell| cell.figure(key, BASELINE).is_some())
    }

    /// The change to a variant in each measured cell where both sides are known. Errors are calibrated.
    pub(crate) fn changes_by_cell(
        &self,
        key: MetricKey,
        from: Side,
        to: usize,
    ) -> Vec<ChangeFigure> {
        let inflation = self.inflation(key);
        let cells = self.measured_cells();
        let unmixed = cells.filter(|cell| !cell.data.turns.mixes_variants(key.metric));
        let changes = unmixed.filter_map(|cell| {
            let estimates = cell.estimates.get(&key)?;
            let [from, to] = [from, Side::Variant(to)].map(|side| estimates.value_of(side));
            let change = stats::paired_change(from?, to?)?.inflated(inflation);
            Some(ChangeFigure::scaled(&change, key.metric.info().scale))
        });
        changes.collect()
    }

    pub(crate) fn inflation(&self, key: MetricKey) -> f64 {
        let calibration = self.calibrations.get(&key);
        calibration.map_or(1.0, Calibration::inflation)
    }

    pub(crate) fn measured_cells(&self) -> impl Iterator<Item = &CellSummary> {
        let cells = self.cells.iter();
        cells.filter(|cell| cell.data.state == CellState::Measured)
    }

    pub(crate) fn checks(&self) -> impl Iterator<Item = &Checks> {
        self.measured_cells().map(|cell| &cell.data.checks)
    }
}

impl CellSummary {
    pub(crate) fn cell(&self) -> Cell {
        self.data.cell
    }

    pub(crate) fn figure(&self, key: MetricKey, variant: usize) -> Option<&CellFigure> {
        self.figures.get(&key)?.get(variant)?.as_ref()
    }

    pub(crate) fn worker_figure(&self, metric: Metric, variant: usize) -> Option<&CellFigure> {
        self.figure(MetricKey { site: None, metric }, variant)
    }

    /// The slow polls of the baseline.
    pub(crate) fn slow_polls(&self, site: Site) -> Option<SlowPollCounts> {
        self.data.slow_polls.get(&site).copied()
    }

    pub(crate) fn value(&self, key: MetricKey, variant: usize) -> Option<f64> {
        Some(self.figure(key, variant)?.estimate.value)
    }

    pub(crate) fn change(&self, key: MetricKey, variant: usize) -> Option<ChangeFigure> {
        self.figure(key, variant)?.change
    }
}

impl CellFigure {
    fn without_change(key: MetricKey, estimate: BareEstimate) -> CellFigure {
        CellFigure {
            estimate: estimate.times(key.metric.info().scale),
            change: None,
        }
    }

    /// Multiplies the standard errors by the factor of a calibration.
    fn inflated(self, factor: f64) -> CellFigure {
        CellFigure {
            estimate: self.estimate.inflated(factor),
            change: self.change.map(|change| change.inflated(factor)),
        }
    }

    pub(crate) fn interval(&self) -> Option<Interval> {
        self.estimate.interval(CONFIDENCE)
    }
}
