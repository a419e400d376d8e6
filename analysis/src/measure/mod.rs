//! From the slices of a cell to what is said of it: estimates of every metric under every variant, where
//! the time goes, and what tells whether to believe it. Cells know nothing of each other here.

pub(crate) mod breakdown;
pub(crate) mod checks;
pub(crate) mod metric;
pub(crate) mod quantity;
pub(crate) mod rr;
mod turns;

use std::{borrow::Cow, collections::BTreeMap};

use anyhow::Result;

use self::{
    breakdown::{Breakdown, Curve},
    checks::Checks,
    metric::What,
    quantity::{Distribution, Quantity},
    turns::Turns,
};
use crate::{
    grid::Cell,
    load::{
        CellRuns,
        run::{Run, RunFiles},
        run_row::{End, RunRow, Stop},
    },
    site::Site,
    stats::{self, Estimate, Launch},
};

/// What became of a cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Measured,
    /// The network was not as asked.
    Invalid(String),
    /// Something broke before there was anything to go by.
    Failed(String),
    /// Nothing was measured yet.
    Missing,
}

/// A cell, measured.
pub(crate) struct CellMeasured {
    pub(crate) cell: Cell,
    pub(crate) state: State,
    /// Runs that were begun but not brought to an end, and what is wrong with others.
    pub(crate) flaws: Vec<String>,
    pub(crate) runs: usize,
    pub(crate) blocks: usize,
    /// Whether the time was up before slow ratios were as precise as asked.
    pub(crate) at_cap: bool,
    /// Of the baseline, by site.
    pub(crate) slow_polls: BTreeMap<Site, SlowPolls>,
    /// By variant; absent where there was nothing to measure it by.
    pub(crate) estimates: BTreeMap<What, Vec<Option<Estimate>>>,
    pub(crate) checks: Checks,
    pub(crate) breakdown: Option<Breakdown>,
    pub(crate) curves: Vec<Curve>,
}

/// Slow polls, and those of them that have one iteration over the threshold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SlowPolls {
    pub(crate) polls: u64,
    pub(crate) by_one_iteration: u64,
}

/// What is asked of every cell.
#[derive(Clone, Debug)]
pub(crate) struct Question {
    /// Budgets that take turns inside a program.
    pub(crate) budgets: usize,
    /// Programs that take turns; 1 where there is one.
    pub(crate) subjects: usize,
    /// How many runs a cell should have.
    pub(crate) repeat: u32,
    pub(crate) threshold_ns: u64,
}

impl Question {
    /// Everything under comparison.
    fn variants(&self) -> usize {
        self.budgets * self.subjects
    }
}

impl CellMeasured {
    pub(crate) fn of(files: &CellRuns, question: &Question) -> Result<CellMeasured> {
        let mut runs = Vec::new();
        for file in &files.runs {
            if is_readable(file) {
                match file.read(question.budgets) {
                    Ok(run) => runs.push(run),
                    // A run that failed may have left anything.
                    Err(_) if has_failed(file) => {}
                    Err(error) => return Err(error),
                }
            }
        }
        runs.retain(|run| !run.blocks.is_empty());
        let turns = Turns::of_runs(&runs, question);
        let is_first = |run: &&Run| run.subject == 0;
        let of_first: Vec<&Run> = runs.iter().filter(is_first).collect();
        let rows: Vec<&RunRow> = files
            .runs
            .iter()
            .filter_map(|file| file.row.as_ref())
            .collect();
        let measured = !turns.is_empty();
        let launches = launches(&turns, question);
        Ok(CellMeasured {
            cell: files.cell,
            state: state(&rows, measured),
            flaws: flaws(files, question),
            runs: turns.runs(),
            blocks: turns.blocks(),
            // A launch among others is not to be precise by itself.
            at_cap: question.subjects == 1
                && rows
                    .iter()
                    .any(|row| row.end == End::Ok { stop: Stop::Cap }),
            slow_polls: slow_polls(&of_first, question.threshold_ns),
            estimates: estimates(&turns, &launches, question),
            checks: Checks::of(&rows, &runs),
            breakdown: measured.then(|| Breakdown::of(&of_first, question.threshold_ns)),
            curves: curves(&launches),
        })
    }
}

/// A failed run holds what was measured before.
fn is_readable(file: &RunFiles) -> bool {
    !matches!(&file.row, Some(row) if matches!(row.end, End::Invalid { .. }))
        && file.dir.join("slices.csv").is_file()
}

/// Counts over all blocks, of a site without a budget.
fn slow_polls(runs: &[&Run], threshold_ns: u64) -> BTreeMap<Site, SlowPolls> {
    let mut slow_polls = BTreeMap::<Site, SlowPolls>::new();
    let blocks = runs
        .iter()
        .flat_map(|run| run.blocks.iter().map(move |block| (run, block)));
    for (run, block) in blocks {
        let slice = &run.slices[block[0]];
        for site in Site::ALL {
            if let Some(of) = slice.site(site)
                && let Some(longest) = &of.longest_iteration_ns
            {
                let slow = slow_polls.entry(site).or_default();
                slow.polls += of.duration_ns.above(threshold_ns);
                slow.by_one_iteration += longest.above(threshold_ns);
            }
        }
    }
    slow_polls
}

fn state(rows: &[&RunRow], measured: bool) -> State {
    if measured {
        return State::Measured;
    }
    match rows.iter().map(|row| &row.end).next_back() {
        None => State::Missing,
        Some(End::Invalid { reason }) => State::Invalid(reason.clone()),
        Some(End::Failed { stage, reason }) => State::Failed(format!("{stage}: {reason}")),
        Some(End::Ok { .. }) => State::Failed("ended before a complete block".to_owned()),
    }
}

fn has_failed(file: &RunFiles) -> bool {
    matches!(&file.row, Some(row) if matches!(row.end, End::Failed { .. }))
}

fn flaws(files: &CellRuns, question: &Question) -> Vec<String> {
    let flaw = |file: &RunFiles| match &file.row {
        None => Some("a run was cut short; its complete blocks count".to_owned()),
        Some(row) => match &row.end {
            End::Ok {
                stop: Stop::Interrupted,
            } => Some("a run was interrupted".to_owned()),
            End::Ok { .. } => None,
            End::Invalid { reason } => Some(format!("a run is invalid: {reason}")),
            End::Failed { stage, reason } => Some(format!("a run failed: {stage}: {reason}")),
        },
    };
    // Launches of subjects end with the block in which all is known well enough.
    let blocks = if question.subjects == 1 {
        question.repeat
    } else {
        files.runs.iter().map(|file| file.number).max().unwrap_or(0)
    };
    let wanted = blocks as usize * question.subjects;
    let missing = wanted - files.runs.len();
    let some_missing = (missing > 0 && !files.runs.is_empty())
        .then(|| format!("{missing} of {wanted} runs are missing"));
    files
        .runs
        .iter()
        .filter_map(flaw)
        .chain(some_missing)
        .collect()
}

/// What every variant counted by value; absent where any slice could not.
type Launches<'a> = BTreeMap<Distribution, Vec<Option<Vec<Launch<'a>>>>>;

fn launches<'a>(turns: &Turns<'a>, question: &Question) -> Launches<'a> {
    let of_variant = |what: Distribution, variant: usize| {
        let counts = turns.of(variant, |slice| what.of(slice).map(Cow::Borrowed))?;
        Some(counts.into_iter().map(Launch::of).collect())
    };
    Distribution::all()
        .map(|what| {
            let by_variant = (0..question.variants()).map(|variant| of_variant(what, variant));
            (what, by_variant.collect())
        })
        .collect()
}

fn estimates(
    turns: &Turns,
    launches: &Launches,
    question: &Question,
) -> BTreeMap<What, Vec<Option<Estimate>>> {
    let mut estimates = BTreeMap::new();
    if turns.is_empty() {
        return estimates;
    }
    for what in What::all(&Site::ALL) {
        let quantity = Quantity::of(what, question.threshold_ns);
        let by_variant =
            (0..question.variants()).map(|variant| estimate(&quantity, turns, launches, variant));
        estimates.insert(what, by_variant.collect());
    }
    estimates
}

fn estimate(
    quantity: &Quantity,
    turns: &Turns,
    launches: &Launches,
    variant: usize,
) -> Option<Estimate> {
    match quantity {
        Quantity::Ratio { parts, kind } => stats::ratio(&turns.of(variant, parts)?, *kind),
        Quantity::Quantile { of, at } => {
            stats::quantile(launches.get(of)?.get(variant)?.as_ref()?, *at)
        }
    }
}

fn curves(launches: &Launches) -> Vec<Curve> {
    let mut curves = Vec::new();
    for (&what, by_variant) in launches {
        let Distribution::PollDuration(site) = what else {
            continue;
        };
        for (variant, launches) in by_variant.iter().enumerate() {
            let launches = launches.as_deref().unwrap_or_default();
            curves.extend(Curve::of(variant, site, launches));
        }
    }
    curves
}
