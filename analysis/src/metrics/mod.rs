//! Computes the figures of each cell by itself from its slices: estimates of every metric under every variant, the breakdown
//! of time, and checks of the measurement.

mod breakdown;
mod by_variant;
mod catalogue;
pub(crate) mod checks;
pub(crate) mod curve;
pub(crate) mod details;
mod metric;
pub(crate) mod parallel;
pub(crate) mod predicted;
mod quantity;
pub(crate) mod sums;
pub(crate) mod turns;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use anyhow::Result;
use run_format::files::SLICES;
use run_format::{Cell, Disturbance, RunOutcome, RunRow, Site, Stop};

use self::breakdown::Breakdown;
pub(crate) use self::breakdown::{OWN, slow_from_ns};
pub(crate) use self::by_variant::{ByVariant, Side};
pub(crate) use self::checks::Checks;
use self::curve::CurvePoint;
use self::details::PageDetails;
pub(crate) use self::metric::{Better, Metric, MetricKey, ReportPart};
use self::parallel::{JobsOfCell, Workers, jobs, workers};
use self::predicted::Prediction;
pub(crate) use self::quantity::{Margin, Quantity};
use self::sums::{CellBlocks, CellSums};
pub(crate) use self::sums::{Estimates, SweepSetup};
use self::turns::Turns;
use crate::load::{self, CellRuns, LoadedRun, LoadedSlice, RunFiles};
use crate::stats::{self, RatioKind, RatioPart, Uncertain};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum CellState {
    #[default]
    Measured,
    /// The network was not as configured.
    Invalid(String),
    /// The cell failed before there was a complete block.
    Failed(String),
    Missing,
}

#[derive(Default)]
pub(crate) struct CellData {
    pub(crate) cell: Cell,
    pub(crate) state: CellState,
    pub(crate) flaws: Vec<String>,
    /// Whether a run did not come to its end, or did not begin.
    pub(crate) is_unfinished: bool,
    /// The number of launches of each subject that have complete blocks.
    pub(crate) launch_count: usize,
    pub(crate) hosts: usize,
    pub(crate) blocks: usize,
    /// Whether the time limit came before all changes were as precise as requested.
    pub(crate) at_cap: bool,
    /// The slow polls of the baseline, by site.
    pub(crate) slow_polls: BTreeMap<Site, SlowPollCounts>,
    /// The curve of the site that the verdict is about.
    pub(crate) curve: Vec<CurvePoint>,
    pub(crate) after_switch: AfterSwitch,
    pub(crate) turns: Turns,
    pub(crate) checks: Checks,
    pub(crate) breakdown: Breakdown,
    pub(crate) predictions: Vec<Prediction>,
    pub(crate) details: PageDetails,
    pub(crate) workers: Vec<Workers>,
    pub(crate) jobs: JobsOfCell,
    pub(crate) sites_by_launch: Vec<LaunchSites>,
}

/// The sites of one launch, which are compared with those of the other launches.
#[derive(Clone, Debug)]
pub(crate) struct LaunchSites {
    pub(crate) dir: PathBuf,
    pub(crate) subject: usize,
    pub(crate) sites: Vec<Site>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SlowPollCounts {
    pub(crate) polls: u64,
    pub(crate) by_one_iteration: u64,
}

impl CellData {
    /// Computes the figures of a cell. Its estimates are apart from the other data, because they take much memory and few of them are kept.
    pub(crate) fn compute(files: &CellRuns, setup: &SweepSetup) -> Result<(CellData, Estimates)> {
        let mut runs = read_runs(files, setup)?;
        let sites_by_launch = sites_by_launch(&runs);
        load::set_benchmark_cpu(&mut runs);
        let mut set_aside = runs.iter().flat_map(|run| run.set_aside.keys());
        let disturbed = set_aside.next().copied();
        runs.retain(|run| !run.blocks.is_empty());
        let blocks = CellBlocks::collect(&runs, setup);
        let sums = CellSums::add_up(&blocks, setup);
        let is_first = |run: &&LoadedRun| run.subject == 0;
        let first_subject: Vec<&LoadedRun> = runs.iter().filter(is_first).collect();
        let ended = files.runs.iter().filter_map(|file| file.row.as_ref());
        let rows: Vec<&RunRow> = ended.collect();
        let hosts: BTreeSet<_> = runs.iter().map(LoadedRun::host).collect();
        let is_measured = !blocks.is_empty();
        let data = CellData {
            cell: files.cell,
            state: state(&rows, is_measured, disturbed),
            flaws: flaws(files, setup),
            is_unfinished: is_unfinished(files, setup),
            launch_count: blocks.launch_count,
            hosts: hosts.len(),
            blocks: blocks.blocks(),
            at_cap: is_at_cap(&rows, setup),
            slow_polls: slow_polls(&first_subject, setup.threshold_ns),
            curve: curve::curve(&blocks, setup),
            after_switch: after_switch(&runs, &blocks, setup),
            turns: Turns::examine(&runs, setup.variants_per_subject),
            checks: Checks::make(&rows, &runs),
            breakdown: match is_measured {
                true => breakdown::break_down(&first_subject, setup.threshold_ns),
                false => Breakdown::default(),
            },
            predictions: predicted::predict(&first_subject, setup),
            details: PageDetails::collect(&blocks, &sums, &rows, setup.threshold_ns),
            jobs: jobs(files, setup.variants_per_subject)?,
            workers: workers(&runs, setup),
            sites_by_launch,
        };
        Ok((data, sums.estimates()))
    }

    /// Whether the figures tell of one moment of the machine.
    pub(crate) fn has_single_launch(&self) -> bool {
        self.launch_count < 2
    }

    /// The data of a cell of which nothing is known but that one launch measured these blocks.
    pub(crate) fn of_one_launch(cell: Cell, blocks: usize) -> CellData {
        CellData {
            cell,
            launch_count: 1,
            hosts: 1,
            blocks,
            ..CellData::default()
        }
    }
}

/// Reads the runs that measured something.
fn read_runs(files: &CellRuns, setup: &SweepSetup) -> Result<Vec<LoadedRun>> {
    let mut runs = Vec::new();
    for file in &files.runs {
        let end = file.row.as_ref().map(|row| &row.outcome);
        if matches!(end, Some(RunOutcome::Invalid { .. })) || !file.dir.join(SLICES).is_file() {
            continue;
        }
        match file.read(setup.variants_per_subject) {
            Ok(run) => runs.push(run),
            // A run that failed holds what was measured before, and may have left anything.
            Err(_) if matches!(end, Some(RunOutcome::Failed { .. })) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(runs)
}

fn sites_by_launch(runs: &[LoadedRun]) -> Vec<LaunchSites> {
    let with_slices = runs.iter().filter(|run| !run.slices.is_empty());
    let sites = with_slices.map(|run| LaunchSites {
        dir: run.dir.clone(),
        subject: run.subject,
        sites: run.sites(),
    });
    sites.collect()
}

fn is_unfinished(files: &CellRuns, setup: &SweepSetup) -> bool {
    files.runs.len() < wanted_runs(files, setup) || files.runs.iter().any(|file| file.row.is_none())
}

/// With several subjects a launch need not be precise by itself.
fn is_at_cap(rows: &[&RunRow], setup: &SweepSetup) -> bool {
    let is_capped = |row: &&RunRow| row.outcome == RunOutcome::Ok { stop: Stop::Cap };
    setup.subjects == 1 && rows.iter().any(is_capped)
}

fn slow_polls(runs: &[&LoadedRun], threshold_ns: u64) -> BTreeMap<Site, SlowPollCounts> {
    let mut slow_polls = BTreeMap::<Site, SlowPollCounts>::new();
    for run in runs {
        let slices = run.blocks.iter().map(|block| &run.slices[block.baseline()]);
        for site in slices.flat_map(LoadedSlice::sites) {
            if let Some(longest) = &site.longest_iteration_ns {
                let slow = slow_polls.entry(site.row.site).or_default();
                slow.polls += site.duration_ns.above(threshold_ns);
                slow.by_one_iteration += longest.above(threshold_ns);
            }
        }
    }
    slow_polls
}

/// The state of a cell. If it has no block, `disturbed` says why a block was set aside.
fn state(rows: &[&RunRow], is_measured: bool, disturbed: Option<Disturbance>) -> CellState {
    if is_measured {
        return CellState::Measured;
    }
    if let Some(disturbance) = disturbed {
        let how = disturbance.clause();
        return CellState::Failed(format!("every block was disturbed and set aside: {how}"));
    }
    match rows.last().map(|row| &row.outcome) {
        None => CellState::Missing,
        Some(RunOutcome::Invalid { reason }) => CellState::Invalid(reason.clone()),
        Some(RunOutcome::Failed { stage, reason }) => {
            CellState::Failed(format!("{stage}: {reason}"))
        }
        Some(RunOutcome::Ok { .. }) => {
            CellState::Failed("ended before a complete block".to_owned())
        }
    }
}

/// Says what is wrong with the runs of a cell, of which subject they are, and how often it happened.
fn flaws(files: &CellRuns, setup: &SweepSetup) -> Vec<String> {
    let sentence = |file: &RunFiles| {
        let flaw = match &file.row {
            None => Some("was cut short; its complete blocks count".to_owned()),
            Some(row) => load::flaw(&row.outcome),
        };
        let label = setup.labels.get(file.subject);
        let whose = label.map_or_else(String::new, |label| format!(" of {label}"));
        Some(format!("a run{whose} {}", flaw?))
    };
    let mut times = BTreeMap::<String, usize>::new();
    for flaw in files.runs.iter().filter_map(sentence) {
        *times.entry(flaw).or_default() += 1;
    }
    let counted = times.into_iter().map(|(flaw, times)| match times {
        1 => flaw,
        _ => format!("{flaw} ({times} times)"),
    });
    let mut flaws: Vec<String> = counted.collect();
    let (found, wanted) = (files.runs.len(), wanted_runs(files, setup));
    if (1..wanted).contains(&found) {
        flaws.push(format!("{} of {wanted} runs are missing", wanted - found));
    }
    let rows = files.runs.iter().filter_map(|file| file.row.as_ref());
    flaws.extend(rows.flat_map(missed_messages));
    flaws
}

fn wanted_runs(files: &CellRuns, setup: &SweepSetup) -> usize {
    files.wanted_launches as usize * setup.subjects
}

fn missed_messages(row: &RunRow) -> impl Iterator<Item = String> {
    let by_variant = row.messages.iter().zip(&row.config.variants);
    by_variant.filter_map(|(messages, variant)| {
        let (label, expected, delivered) = (&variant.label, messages.expected, messages.delivered);
        (delivered < expected)
            .then(|| format!("{label}: central received {delivered} of {expected} messages"))
    })
}

/// How the share of polls of `Connection::poll` over 50 µs differs from that of the baseline and its control together, by the
/// time since the change of variant. The key is the lower end of a range in ms, and the values are by variant.
pub(crate) type AfterSwitch = BTreeMap<u64, Vec<Option<Uncertain>>>;

fn after_switch(runs: &[LoadedRun], blocks: &CellBlocks, setup: &SweepSetup) -> AfterSwitch {
    let estimate_range = |from_ms: u64, variants: &[usize]| {
        let slow_polls = |_: &_, slice: &LoadedSlice| {
            let mut ranges = slice.after_switch.iter();
            let range = ranges.find(|range| range.from_ms == from_ms);
            let part = range.map(|range| RatioPart::from_counts(range.slow_polls, range.polls));
            Some(part.unwrap_or_default())
        };
        let parts = blocks.sums_by_block(variants, slow_polls, RatioPart::sum)?;
        stats::ratio(&parts, RatioKind::Share)
    };
    let slices = runs.iter().flat_map(|run| &run.slices);
    let rows = slices.flat_map(|slice| &slice.after_switch);
    let ranges: BTreeSet<u64> = rows.map(|range| range.from_ms).collect();
    let changes = |from_ms: u64| {
        let reference = estimate_range(from_ms, &setup.reference());
        let change = |variant| {
            let estimate = estimate_range(from_ms, &[variant])?;
            Some(stats::paired_change(reference.as_ref()?, &estimate)?.difference)
        };
        setup.variants().map(change).collect()
    };
    let ranges = ranges.into_iter();
    ranges.map(|from_ms| (from_ms, changes(from_ms))).collect()
}
