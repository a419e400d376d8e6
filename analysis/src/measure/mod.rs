//! From the slices of a cell to what is said of it: estimates of every metric under every variant, where
//! the time goes, and what tells whether to believe it. Cells know nothing of each other here.

pub(crate) mod breakdown;
pub(crate) mod checks;
pub(crate) mod metric;
pub(crate) mod quantity;

use std::collections::BTreeMap;

use anyhow::Result;

use self::{
    breakdown::{Breakdown, Curve},
    checks::Checks,
    metric::What,
    quantity::Quantity,
};
use crate::{
    grid::Cell,
    load::{
        CellRuns,
        counts::AboveLimit,
        run::{Run, RunFiles},
        run_row::{End, RunRow, Stop},
        slice::Slice,
    },
    site::Site,
    stats::{self, Counts, Estimate},
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
    pub(crate) variants: usize,
    /// How many runs a cell should have.
    pub(crate) repeat: u32,
    pub(crate) threshold_ns: u64,
}

impl CellMeasured {
    pub(crate) fn of(files: &CellRuns, question: &Question) -> Result<CellMeasured> {
        let mut runs = Vec::new();
        for file in &files.runs {
            if is_readable(file) {
                match file.read(question.variants) {
                    Ok(run) => runs.push(run),
                    // A run that failed may have left anything.
                    Err(_) if has_failed(file) => {}
                    Err(error) => return Err(error),
                }
            }
        }
        runs.retain(|run| !run.blocks.is_empty());
        let rows: Vec<&RunRow> = files
            .runs
            .iter()
            .filter_map(|file| file.row.as_ref())
            .collect();
        let measured = !runs.is_empty();
        Ok(CellMeasured {
            cell: files.cell,
            state: state(&rows, measured),
            flaws: flaws(files, question.repeat),
            runs: runs.len(),
            blocks: runs.iter().map(|run| run.blocks.len()).sum(),
            at_cap: rows
                .iter()
                .any(|row| row.end == End::Ok { stop: Stop::Cap }),
            slow_polls: slow_polls(&runs, question.threshold_ns),
            estimates: estimates(&runs, question),
            checks: Checks::of(&rows, &runs),
            breakdown: measured
                .then(|| Breakdown::of(&runs, question.threshold_ns))
                .transpose()?,
            curves: curves(&runs, question),
        })
    }
}

/// A failed run holds what was measured before.
fn is_readable(file: &RunFiles) -> bool {
    !matches!(&file.row, Some(row) if matches!(row.end, End::Invalid { .. }))
        && file.dir.join("slices.csv").is_file()
}

/// Counts over all blocks, of a site without a budget.
fn slow_polls(runs: &[Run], threshold_ns: u64) -> BTreeMap<Site, SlowPolls> {
    let mut slow_polls = BTreeMap::<Site, SlowPolls>::new();
    for slice in by_block(runs, 0, Some).into_iter().flatten().flatten() {
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

fn flaws(files: &CellRuns, repeat: u32) -> Vec<String> {
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
    let missing = repeat as usize - files.runs.len();
    let some_missing = (missing > 0 && !files.runs.is_empty())
        .then(|| format!("{} of {repeat} runs are missing", missing));
    files
        .runs
        .iter()
        .filter_map(flaw)
        .chain(some_missing)
        .collect()
}

fn estimates(runs: &[Run], question: &Question) -> BTreeMap<What, Vec<Option<Estimate>>> {
    let mut estimates = BTreeMap::new();
    if runs.is_empty() {
        return estimates;
    }
    for what in What::all(&Site::ALL) {
        let quantity = Quantity::of(what, question.threshold_ns);
        let by_variant = (0..question.variants).map(|variant| estimate(&quantity, runs, variant));
        estimates.insert(what, by_variant.collect());
    }
    estimates
}

fn estimate(quantity: &Quantity, runs: &[Run], variant: usize) -> Option<Estimate> {
    match quantity {
        Quantity::Ratio { parts, kind } => stats::ratio(&by_block(runs, variant, parts)?, *kind),
        Quantity::Quantile { counts, at } => {
            let counts = by_block(runs, variant, |slice| counts(slice).cloned())?;
            stats::quantile(&counts, *at)
        }
    }
}

/// A variant's part of every complete block of every run; absent if any slice has none.
fn by_block<'a, T>(
    runs: &'a [Run],
    variant: usize,
    part: impl Fn(&'a Slice) -> Option<T>,
) -> Option<Vec<Vec<T>>> {
    let of_run = |run: &'a Run| {
        let blocks = run.blocks.iter();
        blocks
            .map(|block| part(&run.slices[block[variant]]))
            .collect()
    };
    runs.iter().map(of_run).collect()
}

fn curves(runs: &[Run], question: &Question) -> Vec<Curve> {
    let mut curves = Vec::new();
    for variant in 0..question.variants {
        for site in Site::ALL {
            let counts = by_block(runs, variant, |slice| {
                slice.site(site).map(|of| of.duration_ns.clone())
            });
            let counts: Vec<Counts> = counts.into_iter().flatten().flatten().collect();
            curves.extend(Curve::of(variant, site, &counts));
        }
    }
    curves
}
