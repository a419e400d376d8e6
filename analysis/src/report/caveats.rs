//! Says what limits the conclusions from a run. Only caveats that apply are written.

use std::slice::from_ref;
use std::sync::Arc;

use run_format::{
    DelayBackend, LabConfig, Machine, Manifest, Measurement, Role, Sharing, Site, SiteLevel,
};

use super::method;
use crate::metrics::{CellData, CellState, slow_from_ns};
use crate::options::Options;
use crate::prose::{self, prose};
use crate::stats::FEWEST_CONTROLS;
use crate::summary::{CellSummary, FEWEST_BLOCKS, Summary};
use crate::text::{capitalised, joined, quoted, unique};

const MOST_PROBLEMS: usize = 12;

pub(crate) fn sentences(summary: &Summary, options: &Options) -> Vec<String> {
    let identity = &summary.identity;
    let manifest = identity.manifest.as_ref();
    let config = manifest.map(|manifest| &manifest.config);
    let cells = || summary.measured_cells().map(|cell| &cell.data);
    let is_beside_tcp =
        config.is_some_and(|config| config.measurement == Measurement::Libp2pAndRawTcp);
    let is_real = config.is_some_and(|config| config.lab.peer_hosts.is_some());
    let cores = manifest.and_then(|manifest| manifest.machine.cores);
    let most_peers = config.and_then(|config| config.axes.peers.iter().max().copied());
    let is_crowded = |peers: &usize| !is_real && cores.is_some_and(|cores| *peers >= cores);
    let amiss =
        config.and_then(|config| config.lab.placement.too_few_cores(config.runtime.workers));
    let lates = summary.checks().filter_map(|checks| checks.delay_late_us);
    let mut calibrations = summary.calibrations.values();
    prose::sentences(&prose!('a "caveats.txt" {
        summary: &'a Summary = summary,
        options: &'a Options = options,
        is_beside_tcp: bool = is_beside_tcp,
        has_single_launches: bool = !is_beside_tcp && cells().any(|cell| cell.has_single_launch()),
        at_cap: usize = cells().filter(|cell| !is_beside_tcp && cell.at_cap).count(),
        is_nfqueue: bool = identity.backends.contains(&DelayBackend::Nfqueue),
        delay_late_us: Option<f64> = lates.reduce(f64::max),
        is_real: bool = is_real,
        crowded_peers: Option<usize> = most_peers.or(Some(0)).filter(is_crowded),
        is_far: bool = config.is_some_and(|config| config.axes.rtt_ms.iter().any(|rtt| !rtt.is_zero())),
        too_few_cores: Option<String> = amiss.map(|amiss| capitalised(&amiss)),
        of_several: usize = cells().filter(|cell| cell.hosts > 1).count(),
        few: usize = cells().filter(|cell| cell.blocks < FEWEST_BLOCKS).count(),
        is_calibrated: bool = calibrations.any(|calibration| calibration.factor.is_some()),
        slow_from_ns: Option<u64> = slow_from_ns(options.figures.threshold_ns),
        problems: Vec<String> = problems(summary),
    }))
}

/// Says what a sweep lacks that was interrupted or goes on, and how to measure the rest. Empty if the sweep is complete.
pub(crate) fn incomplete(summary: &Summary) -> Vec<String> {
    let Some(manifest) = &summary.identity.manifest else {
        return Vec::new();
    };
    let cells = || summary.cells.iter().map(|cell| &cell.data);
    let is_missing = |cell: &&Arc<CellData>| cell.state == CellState::Missing;
    prose::sentences(&prose!("incomplete.txt" {
        missing: usize = cells().filter(is_missing).count(),
        all: usize = cells().count(),
        cut_short: usize = cells().filter(|cell| !is_missing(cell) && cell.is_unfinished).count(),
        program: String = method::program(manifest),
    }))
}

/// A line for each site of a subject of which something could not be recorded, because its sources lack a place for it.
fn not_recorded(manifest: &Manifest) -> Vec<String> {
    let mut lines = Vec::new();
    let subjects = manifest.config.subjects.iter();
    for subject in subjects.filter(|subject| subject.role != Role::Control) {
        let levels = || subject.build.iter().flat_map(|build| &build.levels);
        for site in Site::ALL {
            let missing =
                || levels().filter(|level| level.site == site && level.not_there.is_some());
            if let Some(reason) = missing().find_map(|level| level.not_there.as_deref()) {
                let what = missing().map(|level| match level.level {
                    SiteLevel::Outer => "durations of polls",
                    SiteLevel::Inner => "iterations and children",
                    SiteLevel::Budget => "the effect of budgets",
                    SiteLevel::Counts => "counts of connections, streams or sockets",
                    SiteLevel::Remedies => "the effect of remedies",
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

/// The caveats of all machines, each once.
fn machines(hosts: &[Machine], lab: &LabConfig) -> Vec<String> {
    unique(hosts.iter().flat_map(|host| machine(lab, host)))
}

pub(super) fn machine(lab: &LabConfig, machine: &Machine) -> Vec<String> {
    prose::sentences(&prose!('a "machine.txt" {
        lab: &'a LabConfig = lab,
        machine: &'a Machine = machine,
        clock: &'a str = machine.clock_source.as_deref().unwrap_or("unknown"),
    }))
}

fn problems(summary: &Summary) -> Vec<String> {
    let mut found = Vec::new();
    for CellSummary { data, .. } in &summary.cells {
        let cell = data.cell;
        let (kind, reasons) = match &data.state {
            CellState::Invalid(reason) => ("invalid: ", from_ref(reason)),
            CellState::Failed(reason) => ("failed: ", from_ref(reason)),
            CellState::Missing => continue,
            CellState::Measured => ("", &data.flaws[..]),
        };
        let reasons = reasons.iter().map(quoted);
        found.extend(reasons.map(|reason| format!("{cell}: {kind}{reason}")));
    }
    found
}
