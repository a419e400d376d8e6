//! What a reader has to know before believing this very run. Only what applies is said.

use super::markdown::Document;
use crate::{
    load::manifest::Manifest,
    measure::{State, breakdown::slow_from_ns},
    options::Options,
    stats::FEWEST_PAIRS,
    summary::{FEWEST_BLOCKS, Summary},
    text::{count, number},
};

pub(crate) fn write(document: &mut Document, summary: &Summary, options: &Options) {
    let mut caveats = Vec::new();
    if let Some(manifest) = &summary.identity.manifest {
        launches(&mut caveats, summary, manifest);
        place(&mut caveats, summary, manifest);
        build(&mut caveats, manifest);
    }
    few_blocks(&mut caveats, summary);
    statistics(&mut caveats, summary, options);
    incomplete(&mut caveats, summary);
    document.list(caveats);
}

fn launches(caveats: &mut Vec<String>, summary: &Summary, manifest: &Manifest) {
    if summary.measured().any(|cell| cell.runs < 2) {
        caveats.push(
            "One launch per cell (in at least one cell): intervals of levels are of that launch alone. Launches \
             of one configuration differ by up to ±30 %; differences between variants are measured inside one \
             launch and are not touched by that; that another launch would have the same differences is assumed. \
             `--repeat 3` measures launches too."
                .to_owned(),
        );
    }
    let at_cap = summary.measured().filter(|cell| cell.at_cap).count();
    if at_cap > 0 {
        caveats.push(format!(
            "{} ended at the cap of {} s before every slow ratio was as precise as asked.",
            count(at_cap, "cell"),
            manifest.config.max_cell_ms / 1000
        ));
    }
}

fn few_blocks(caveats: &mut Vec<String>, summary: &Summary) {
    let few = summary
        .measured()
        .filter(|cell| cell.blocks < FEWEST_BLOCKS)
        .count();
    if few > 0 {
        caveats.push(format!(
            "{} have fewer than {FEWEST_BLOCKS} blocks: intervals there are somewhat too certain, and no change of throughput or \
             CPU time is called resolved.",
            count(few, "cell")
        ));
    }
}

fn place(caveats: &mut Vec<String>, summary: &Summary, manifest: &Manifest) {
    let config = &manifest.config;
    if summary.identity.backends.iter().any(|it| it == "nfqueue") {
        let late: Vec<f64> = summary
            .measured()
            .filter_map(|cell| cell.checks.delay_late_us)
            .collect();
        let late = late.into_iter().reduce(f64::max);
        caveats.push(format!(
            "The delay is made by a delay line in user space (NFQUEUE), since this kernel has no netem or it was \
             not asked for. It shares the peers' cores{}.",
            late.map_or_else(String::new, |us| format!(
                "; its packets are at most {} µs late on average in any cell",
                number(us)
            ))
        ));
    }
    let peers = config.axes.peers.iter().max().copied().unwrap_or(0);
    if manifest.machine.cores.is_some_and(|cores| peers >= cores) {
        caveats.push(format!(
            "Up to {peers} peers share core {}: with many of them the load is bound by the peers, not by central.",
            config.lab.placement.peers
        ));
    }
    machine(caveats, manifest);
    if config.axes.rtt_ms.iter().any(|rtt_ms| *rtt_ms > 0.0) {
        caveats.push(
            "Over long links a request can be sent under one variant and answered under another: latencies there \
             are blurred between variants; polls and throughput are not."
                .to_owned(),
        );
    }
}

/// The machine that a run was made on, whatever was measured.
pub(super) fn machine(caveats: &mut Vec<String>, manifest: &Manifest) {
    let config = &manifest.config;
    if config.lab.placement.sharing != "nothing" {
        caveats.push(format!(
            "Central's core shares {} with the peers'.",
            config.lab.placement.sharing
        ));
    }
    if manifest.machine.governor.is_none() {
        caveats.push(
            "The CPU's frequency is not under control here (no governor to be seen; a virtual machine, most \
             likely)."
                .to_owned(),
        );
    }
    if manifest.machine.clock_source.as_deref() != Some("tsc") {
        caveats.push(format!(
            "The clock source is {}, not the time-stamp counter.",
            manifest
                .machine
                .clock_source
                .as_deref()
                .unwrap_or("unknown")
        ));
    }
}

pub(super) fn build(caveats: &mut Vec<String>, manifest: &Manifest) {
    if manifest.tool.profile != "release" {
        caveats.push(format!(
            "**Measured with a {} build, which is not how nodes are built.**",
            manifest.tool.profile
        ));
    }
    match manifest.tool.commit.as_deref() {
        None => caveats.push("The tool was not built from a git checkout.".to_owned()),
        Some(commit) if commit.ends_with("-dirty") => {
            caveats.push("The tool's checkout had changes that are not committed.".to_owned());
        }
        Some(_) => {}
    }
}

fn statistics(caveats: &mut Vec<String>, summary: &Summary, options: &Options) {
    let mut calibrations = summary.calibrations.values();
    if calibrations.all(|calibration| calibration.factor.is_none()) {
        caveats.push(format!(
            "Fewer than {FEWEST_PAIRS} pairs of variants that can differ by chance only: intervals are not calibrated."
        ));
    }
    match slow_from_ns(options.threshold) {
        Some(from_ns) if from_ns != options.threshold => caveats.push(format!(
            "Where the time of slow polls goes is known by bands: there, polls over {} µs are slow, not those \
             over {}.",
            from_ns / 1000,
            options.threshold_text()
        )),
        Some(_) => {}
        None => caveats.push("No band is above the threshold: where slow polls' time goes is not known.".to_owned()),
    }
}

fn incomplete(caveats: &mut Vec<String>, summary: &Summary) {
    let missing = summary
        .cells
        .iter()
        .filter(|cell| cell.state == State::Missing)
        .count();
    if missing > 0 {
        caveats.push(format!(
            "{} of {} cells were not measured (yet): `./sweep.sh --resume` goes on.",
            missing,
            summary.cells.len()
        ));
    }
    const MOST: usize = 12;
    let mut flawed = Vec::new();
    for cell in &summary.cells {
        match &cell.state {
            State::Invalid(reason) => {
                flawed.push(format!("{}: invalid: {}", cell.cell, plain(reason)))
            }
            State::Failed(reason) => {
                flawed.push(format!("{}: failed: {}", cell.cell, plain(reason)))
            }
            State::Measured | State::Missing => {}
        }
        if cell.state == State::Measured {
            flawed.extend(
                cell.flaws
                    .iter()
                    .map(|flaw| format!("{}: {}", cell.cell, plain(flaw))),
            );
        }
    }
    let more = flawed.len().saturating_sub(MOST);
    caveats.extend(flawed.into_iter().take(MOST));
    if more > 0 {
        caveats.push(format!(
            "{more} more of that kind are in the runs' `run.json`."
        ));
    }
}

/// What a program said, as text and nothing else.
pub(super) fn plain(words: &str) -> String {
    let words = words.replace(['`', '\n'], " ");
    format!("`{words}`")
}
