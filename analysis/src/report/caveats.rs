//! What limits the conclusions from this run. Only caveats that apply are written.

use std::slice::from_ref;

use run_format::Site;
use run_format::config::{LabConfig, Measurement};
use run_format::manifest::{Machine, Manifest, Tool};
use run_format::network::{DelayBackend, Sharing};
use run_format::subject::SiteLevel;
use run_format::variant::Role;

use super::markdown::quoted;
use super::{application, method};
use crate::load::name_in_files;
use crate::measure::{CellState, slow_from_ns};
use crate::options::Options;
use crate::stats::FEWEST_PAIRS;
use crate::summary::{CellSummary, FEWEST_BLOCKS, Summary};
use crate::text::{capitalised, count, joined, number};

pub(crate) fn of_sweep(summary: &Summary, options: &Options) -> Vec<String> {
    let mut caveats = Vec::new();
    if let Some(manifest) = &summary.identity.manifest {
        if let Some(shard) = manifest.config.shard {
            let parts = shard.of;
            caveats.push(format!(
                "This is one of {parts} parts of a sweep. `analysis merge` puts them together."
            ));
        }
        if manifest.config.measurement == Measurement::BesideTcp {
            caveats.push(ONE_LAUNCH.to_owned());
        } else {
            launches(&mut caveats, summary);
        }
        network(&mut caveats, summary, manifest);
        let config = &manifest.config;
        let amiss = config.lab.placement.too_few_cores(config.runtime.workers);
        caveats.extend(amiss.map(|amiss| format!("{}.", capitalised(&amiss))));
        machines(&mut caveats, summary, &config.lab);
        build(&mut caveats, &manifest.tool);
        caveats.extend(not_recorded(manifest));
        caveats.extend(summary.identity.without_lines.iter().cloned());
    }
    if let Some(application) = &summary.identity.application {
        caveats.extend(application::caveats(application));
    }
    if let runs @ 1.. = summary.identity.unsealed {
        caveats.push(format!(
            "Without checksums: {}. Files of theirs that were changed or mixed up may go unnoticed.",
            count(runs, "run")
        ));
    }
    if let Some(shown) = summary.what_is_shown() {
        caveats.push(format!(
            "Pictures and the page show {shown}, with every second value of long axes or fewer. `summary.csv` has all \
             cells, and all other figures are of all cells."
        ));
    }
    let few = |cell: &&CellSummary| cell.measured.blocks < FEWEST_BLOCKS;
    if let few @ 1.. = summary.measured().filter(few).count() {
        caveats.push(format!(
            "Number of cells with fewer than {FEWEST_BLOCKS} blocks: {few}. Their intervals are somewhat too narrow. No \
             change of throughput or CPU time is called resolved there."
        ));
    }
    statistics(&mut caveats, summary, options);
    problems(&mut caveats, summary);
    caveats
}

/// What a sweep lacks that was interrupted or goes on, and how to measure it. None if it lacks nothing.
pub(crate) fn incomplete(summary: &Summary) -> Option<String> {
    let program = method::program(summary.identity.manifest.as_ref()?);
    let cells = || summary.cells.iter().map(|cell| &cell.measured);
    let (missing, begun): (Vec<_>, Vec<_>) = cells().partition(|it| it.state == CellState::Missing);
    let cut_short = begun.iter().filter(|it| it.is_unfinished).count();
    let missing = missing.len();
    let all = summary.cells.len();
    (missing + cut_short > 0).then(|| {
        format!(
            "This measurement is not complete: it was interrupted, or goes on. Cells without a measurement: {missing} of \
             {all}. Cells with a run that was cut short or did not begin: {cut_short}. `{program} --resume DIR` measures \
             them, where DIR is the folder of this measurement."
        )
    })
}

/// What the sources of a subject do not let anybody record, one line for each site.
fn not_recorded(manifest: &Manifest) -> Vec<String> {
    let mut lines = Vec::new();
    let subjects = manifest.config.subjects.iter();
    for subject in subjects.filter(|subject| subject.role != Role::Control) {
        let levels = || subject.build.iter().flat_map(|build| &build.levels);
        for site in Site::ALL {
            let missing = || levels().filter(|it| it.site == site && it.not_there.is_some());
            if let Some(reason) = missing().find_map(|it| it.not_there.as_deref()) {
                let what = missing().map(|it| match it.level {
                    SiteLevel::Outer => "durations of polls",
                    SiteLevel::Inner => "iterations and children",
                    SiteLevel::Budget => "the effect of budgets",
                });
                let (what, label) = (joined(what, "; "), &subject.label);
                lines.push(format!(
                    "Not recorded of the site `{site}` of {label}: {what}. Reason: {reason}."
                ));
            }
        }
    }
    lines
}

/// Of `rr`, which launches no cell again and ends when its time is over.
const ONE_LAUNCH: &str = "Each payload has one launch. Absolute values and their intervals describe that launch; another \
    may differ by ±30 %. Differences and ratios are measured inside one launch.";

fn launches(caveats: &mut Vec<String>, summary: &Summary) {
    if summary.measured().any(|cell| cell.measured.runs < 2) {
        caveats.push(String::from(
            "Some or all cells were launched only once. Launches of one configuration differ by up to ±30 %, and the \
             intervals of such a cell's absolute values do not include that. Differences between variants are \
             measured inside a launch, where this cancels out. How much the differences themselves change from \
             launch to launch was not measured; `--repeat 3` measures it.",
        ));
    }
    let at_cap = summary.measured().filter(|cell| cell.measured.at_cap);
    if let at_cap @ 1.. = at_cap.count() {
        let cells = count(at_cap, "cell");
        caveats.push(format!(
            "{cells} reached the time limit before all changes were known as precisely as requested."
        ));
    }
}

fn network(caveats: &mut Vec<String>, summary: &Summary, manifest: &Manifest) {
    let config = &manifest.config;
    if summary.identity.backends.contains(&DelayBackend::Nfqueue) {
        let late = summary.checks().filter_map(|it| it.delay_late_us);
        let late = late.reduce(f64::max).map_or_else(String::new, |us| {
            let us = number(us);
            format!(" In the worst cell its packets are {us} µs late on average.")
        });
        caveats.push(format!(
            "A program in user space (NFQUEUE) delays the packets, because the kernel has no netem or because it was \
             asked to. It runs on the peers' cores.{late}"
        ));
    }
    if config.lab.peer_hosts.is_some() {
        caveats.push(String::from(
            "The network is real. Its round trips were timed only before each run, and other traffic can change them. \
             What the peers' hosts did meanwhile is not recorded.",
        ));
    }
    let peers = config.axes.peers.iter().max().copied().unwrap_or(0);
    let is_lab = config.lab.peer_hosts.is_none();
    if is_lab && manifest.machine.cores.is_some_and(|cores| peers >= cores) {
        caveats.push(format!(
            "Up to {peers} peers share {}. With many peers, the peers rather than central limit the load.",
            config.lab.placement.peers.in_words()
        ));
    }
    if config.axes.rtt_ms.iter().any(|rtt_ms| !rtt_ms.is_zero()) {
        caveats.push(String::from(
            "Over long links a request can be sent under one variant and answered under another. This mixes request \
             latencies between variants, but not polls and throughput.",
        ));
    }
}

fn machines(caveats: &mut Vec<String>, summary: &Summary, lab: &LabConfig) {
    let hosts = &summary.identity.hosts;
    if hosts.len() > 1 {
        let of_several = summary.measured().filter(|cell| cell.measured.hosts > 1);
        caveats.push(format!(
            "{} measured. Measured by several of them: {} of {}, whose intervals are over hosts. Any other cell tells of \
             one host only, and absolute values of two cells may differ because their hosts do.",
            count(hosts.len(), "host"),
            of_several.count(),
            count(summary.measured().count(), "cell")
        ));
    }
    for caveat in hosts.iter().flat_map(|host| machine(lab, host)) {
        if !caveats.contains(&caveat) {
            caveats.push(caveat);
        }
    }
}

pub(super) fn machine(lab: &LabConfig, machine: &Machine) -> Vec<String> {
    let mut caveats = Vec::new();
    let sharing = lab.placement.sharing;
    if sharing != Sharing::Nothing && lab.peer_hosts.is_none() {
        caveats.push(format!(
            "Central's core shares {} with the peers' cores.",
            name_in_files(sharing)
        ));
    }
    if machine.governor.is_none() {
        caveats.push(String::from(
            "The CPU frequency is not under control: the kernel shows no frequency governor, most likely because this \
             is a virtual machine.",
        ));
    }
    let clock = machine.clock_source.as_deref().unwrap_or("unknown");
    if clock != "tsc" {
        caveats.push(format!(
            "The clock source is {clock}, not the time-stamp counter."
        ));
    }
    caveats
}

pub(super) fn build(caveats: &mut Vec<String>, tool: &Tool) {
    if tool.profile != "release" {
        let profile = &tool.profile;
        caveats.push(format!(
            "**Measured with a {profile} build. Real nodes are release builds.**"
        ));
    }
    match tool.commit.as_deref() {
        None => caveats.push("The tool was not built from a git checkout.".to_owned()),
        Some(commit) if commit.ends_with("-dirty") => {
            caveats.push("The tool was built from a checkout with uncommitted changes.".to_owned());
        }
        Some(_) => {}
    }
}

fn statistics(caveats: &mut Vec<String>, summary: &Summary, options: &Options) {
    let mut calibrations = summary.calibrations.values();
    if calibrations.all(|calibration| calibration.factor.is_none()) {
        caveats.push(format!(
            "Fewer than {FEWEST_PAIRS} pairs of variants differ by noise only. Intervals are therefore not widened to \
             cover that noise."
        ));
    }
    match slow_from_ns(options.figures.threshold) {
        Some(from_ns) if from_ns != options.figures.threshold => caveats.push(format!(
            "The time of slow polls is recorded in bands of poll length. Where this report says where that time goes, \
             slow polls are those over {} µs instead of {}.",
            from_ns / 1000,
            options.threshold_text()
        )),
        Some(_) => {}
        None => caveats.push(String::from(
            "No recorded band of poll length lies above the threshold, so the report cannot say where the time of slow \
             polls goes.",
        )),
    }
}

fn problems(caveats: &mut Vec<String>, summary: &Summary) {
    const MOST: usize = 12;
    let mut found = Vec::new();
    for CellSummary { measured, .. } in &summary.cells {
        let cell = measured.cell;
        let (kind, reasons) = match &measured.state {
            CellState::Invalid(reason) => ("invalid: ", from_ref(reason)),
            CellState::Failed(reason) => ("failed: ", from_ref(reason)),
            CellState::Missing => continue,
            CellState::Measured => ("", &measured.flaws[..]),
        };
        let reasons = reasons.iter().map(quoted);
        found.extend(reasons.map(|reason| format!("{cell}: {kind}{reason}")));
    }
    let all = found.len();
    caveats.extend(found.into_iter().take(MOST));
    if let more @ 1.. = all.saturating_sub(MOST) {
        caveats.push(format!(
            "The `run.json` files of the runs have {more} more such problems."
        ));
    }
}
