//! All cells together: what differs from the baseline, by how much, and whether it is resolved.

mod compare;
pub(crate) mod identity;
pub(crate) mod sweeps;
pub(crate) mod table;

use std::collections::{BTreeMap, BTreeSet};

use polars_core::runtime::RAYON;
use rayon::prelude::*;

use self::identity::Identity;
use crate::{
    failure::{Failure, bad_input},
    grid::{Axes, Cell},
    load::{
        Sweep,
        variant::{Role, Variant},
    },
    measure::{
        CellMeasured, Question, SlowPolls, State,
        breakdown::{Breakdown, Curve},
        checks::Checks,
        metric::{Better, Metric, What},
        quantity::scale,
    },
    options::Options,
    site::Site,
    stats::{Calibration, Estimate, Interval, Uncertain},
};

/// Amounts that come in steps, as a few requests a slice, can agree by luck in fewer blocks.
pub(crate) const FEWEST_BLOCKS: usize = 4;

/// How sure intervals are.
pub(crate) const CONFIDENCE: f64 = 0.95;

/// What a sweep says.
pub(crate) struct Summary {
    pub(crate) identity: Identity,
    pub(crate) axes: Axes,
    /// The first is the baseline.
    pub(crate) variants: Vec<Variant>,
    /// Of the whole grid, in its order.
    pub(crate) cells: Vec<CellSummary>,
    /// What the twin of the baseline says of the intervals.
    pub(crate) calibrations: BTreeMap<What, Calibration>,
}

/// A cell.
pub(crate) struct CellSummary {
    pub(crate) cell: Cell,
    pub(crate) state: State,
    pub(crate) flaws: Vec<String>,
    pub(crate) runs: usize,
    pub(crate) blocks: usize,
    pub(crate) at_cap: bool,
    pub(crate) slow_polls: BTreeMap<Site, SlowPolls>,
    /// By variant.
    pub(crate) figures: BTreeMap<What, Vec<Option<Figure>>>,
    pub(crate) checks: Checks,
    pub(crate) breakdown: Option<Breakdown>,
    pub(crate) curves: Vec<Curve>,
}

/// A metric of a cell under a variant, in the metric's unit.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Figure {
    pub(crate) value: f64,
    /// Absent where nothing says how sure the value is.
    pub(crate) interval: Option<Interval>,
    pub(crate) level: Option<Uncertain>,
    /// Against the baseline; absent for the baseline itself.
    pub(crate) change: Option<ChangeFigure>,
}

/// A difference to the baseline.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ChangeFigure {
    pub(crate) value: f64,
    /// Absent where nothing says how sure the value is.
    pub(crate) difference: Option<Uncertain>,
    /// The difference by the baseline, in percent.
    pub(crate) relative: Option<Uncertain>,
    pub(crate) resolved: Resolved,
}

/// Whether a difference is one, many cells having been looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Resolved {
    Lower,
    Higher,
    No,
}

impl Resolved {
    /// A difference in the direction of `value`, if it is one at all.
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

    pub(crate) fn is_good(self, better: Better) -> bool {
        matches!(
            (self, better),
            (Resolved::Lower, Better::Lower) | (Resolved::Higher, Better::Higher)
        )
    }

    pub(crate) fn is_bad(self, better: Better) -> bool {
        matches!(
            (self, better),
            (Resolved::Lower, Better::Higher) | (Resolved::Higher, Better::Lower)
        )
    }
}

impl ChangeFigure {
    pub(crate) fn interval(&self) -> Option<Interval> {
        self.difference.map(|of| of.interval(CONFIDENCE))
    }
}

impl Summary {
    /// Reads every run of a sweep.
    pub(crate) fn of(sweep: &Sweep, options: &Options) -> Result<Summary, Failure> {
        let measured = measure(sweep, options)?;
        let variants = sweep.manifest.config.compared();
        let (mut cells, estimates) = split(measured);
        let calibrations = compare::with_baseline(&mut cells, &estimates, &variants);
        Ok(Summary {
            identity: Identity::of(sweep),
            axes: sweep.manifest.config.axes.clone().sorted(),
            variants,
            cells,
            calibrations,
        })
    }

    /// The variants that are to be judged, by index.
    pub(crate) fn candidates(&self) -> impl Iterator<Item = (usize, &Variant)> {
        self.with_role(Role::Candidate)
    }

    pub(crate) fn twin(&self) -> Option<(usize, &Variant)> {
        self.with_role(Role::Twin).next()
    }

    fn with_role(&self, role: Role) -> impl Iterator<Item = (usize, &Variant)> {
        self.variants
            .iter()
            .enumerate()
            .filter(move |(_, variant)| variant.role == role)
    }

    /// Those that were measured, with the most time in slow polls of the baseline first.
    pub(crate) fn by_slow_time(&self, site: Site) -> Vec<&CellSummary> {
        let what = What::of(site, Metric::SlowMsPerS);
        let slow_ms = |cell: &CellSummary| cell.value(what, 0).unwrap_or(0.0);
        let mut cells: Vec<&CellSummary> = self.measured().collect();
        cells.sort_by(|a, b| slow_ms(b).total_cmp(&slow_ms(a)));
        cells
    }

    /// Whether the baseline has it in any cell.
    pub(crate) fn has(&self, what: What) -> bool {
        self.measured().any(|cell| cell.figure(what, 0).is_some())
    }

    pub(crate) fn measured(&self) -> impl Iterator<Item = &CellSummary> {
        self.cells
            .iter()
            .filter(|cell| cell.state == State::Measured)
    }
}

impl CellSummary {
    pub(crate) fn figure(&self, what: What, variant: usize) -> Option<&Figure> {
        self.figures.get(&what)?.get(variant)?.as_ref()
    }

    /// Of the baseline.
    pub(crate) fn slow_polls(&self, site: Site) -> Option<SlowPolls> {
        self.slow_polls.get(&site).copied()
    }

    pub(crate) fn value(&self, what: What, variant: usize) -> Option<f64> {
        self.figure(what, variant).map(|figure| figure.value)
    }

    pub(crate) fn change(&self, what: What, variant: usize) -> Option<ChangeFigure> {
        self.figure(what, variant)?.change
    }
}

impl Figure {
    /// Of an estimate of `what`, whose standard errors are too small by `inflation`.
    fn of(what: What, estimate: &Estimate, inflation: f64) -> Figure {
        let scale = scale(what.metric);
        let estimate = estimate.clone().inflated(inflation);
        let interval = estimate.interval(CONFIDENCE);
        Figure {
            value: estimate.value() * scale,
            interval: interval.map(|of| Interval {
                low: of.low * scale,
                high: of.high * scale,
            }),
            level: estimate.level().map(|level| scaled(level, scale)),
            change: None,
        }
    }
}

fn scaled(of: Uncertain, scale: f64) -> Uncertain {
    Uncertain {
        value: of.value * scale,
        standard_error: of.standard_error * scale,
        ..of
    }
}

pub(crate) fn measure(sweep: &Sweep, options: &Options) -> Result<Vec<CellMeasured>, Failure> {
    let question = Question {
        budgets: sweep.manifest.config.variants.len(),
        subjects: sweep.manifest.config.subjects.len().max(1),
        repeat: sweep.manifest.config.repeat,
        threshold_ns: options.threshold,
    };
    // On the threads of polars: a worker of another pool would hand every table over to those, and begin
    // another cell while it waits for each.
    let measured: Vec<CellMeasured> = RAYON
        .install(|| {
            // One by one: a worker with several left would be alone with them at the end.
            let cells = sweep.cells.par_iter().with_max_len(1);
            let measured = cells.map(|files| CellMeasured::of(files, &question));
            measured.collect::<Result<_, _>>()
        })
        .map_err(bad_input)?;
    if measured.iter().all(|cell| cell.state != State::Measured) {
        return Err(bad_input(anyhow::anyhow!(
            "{}: no cell has a complete block, so there is nothing to report",
            sweep.dir.display()
        )));
    }
    Ok(measured)
}

/// By variant.
type Estimates = BTreeMap<What, Vec<Option<Estimate>>>;

/// What is known of each cell by itself, and what is still to be compared.
fn split(measured: Vec<CellMeasured>) -> (Vec<CellSummary>, Vec<Estimates>) {
    let split = |cell: CellMeasured| {
        let summary = CellSummary {
            cell: cell.cell,
            state: cell.state,
            flaws: cell.flaws,
            runs: cell.runs,
            blocks: cell.blocks,
            at_cap: cell.at_cap,
            slow_polls: cell.slow_polls,
            figures: BTreeMap::new(),
            checks: cell.checks,
            breakdown: cell.breakdown,
            curves: cell.curves,
        };
        (summary, cell.estimates)
    };
    measured.into_iter().map(split).unzip()
}

/// Everything that was estimated in any cell.
fn whats(estimates: &[Estimates]) -> BTreeSet<What> {
    let keys = estimates.iter().flat_map(|of_cell| of_cell.keys().copied());
    keys.collect()
}
