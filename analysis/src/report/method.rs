//! How a sweep was measured, and the command that repeats it.

use run_format::{
    ApplicationFile, ApplicationOutcome, Machine, Manifest, Measurement, Pace, ReceiveOn,
    Scheduler, SweepConfig, Tool, Transport, Workload,
};

use crate::load::application::Application;
use crate::prose::{self, prose};
use crate::summary::{Summary, host_words, tool_words, upstream_words};
use crate::text::{capitalised, date, joined, quoted};

pub(super) fn text(summary: &Summary) -> Option<String> {
    if let Some(application) = &summary.identity.application {
        return Some(application_text(summary, application));
    }
    let manifest = summary.identity.manifest.as_ref()?;
    let config = &manifest.config;
    let payloads = summary.axes.payload_bytes.iter();
    let cells = || summary.measured_cells().map(|cell| &cell.data);
    let mut calibrations = summary.calibrations.values();
    Some(prose::text(&prose!('a "method.txt" {
        summary: &'a Summary = summary,
        manifest: &'a Manifest = manifest,
        config: &'a SweepConfig = config,
        payloads: Vec<String> = payloads.map(|payload| payload.in_words()).collect(),
        runs: usize = cells().map(|cell| cell.launch_count).sum(),
        blocks: usize = cells().map(|cell| cell.blocks).sum(),
        delay: String = capitalised(&summary.identity.delay()),
        labels: String = labels(summary),
        is_widened: bool = calibrations.any(|calibration| calibration.factor.is_some()),
        has_settings: bool = config.subjects.iter().any(|subject| subject.runtime.is_some()),
    })))
}

fn application_text(summary: &Summary, Application { file, .. }: &Application) -> String {
    prose::text(&prose!('a "application.txt" {
        file: &'a ApplicationFile = file,
        blocks: usize = summary.measured_cells().map(|cell| cell.data.blocks).sum(),
        labels: String = labels(summary),
        limit_s: f64 = file.limit_ms as f64 / 1000.0,
        hosts: &'a [Machine] = &summary.identity.hosts,
    }))
}

fn labels(summary: &Summary) -> String {
    let variants = summary.variants.iter();
    joined(variants.map(|variant| quoted(&variant.label)), ", ")
}

/// Says how the comparison in an application ended, unless it ended as planned. Empty for a sweep.
pub(super) fn ended(summary: &Summary) -> Vec<String> {
    let Some(Application { run, .. }) = &summary.identity.application else {
        return Vec::new();
    };
    prose::sentences(&prose!('a "application_in_short.txt" {
        ended: Option<&'a ApplicationOutcome> = run.as_ref().map(|run| &run.outcome),
    }))
}

pub(super) fn pace(config: &SweepConfig) -> String {
    prose::text(&prose!('a "pace.txt" { config: &'a SweepConfig = config }))
}

pub(super) fn command(manifest: &Manifest) -> String {
    let (command, tool) = (&manifest.command, &manifest.tool);
    typed(command, tool, manifest.config.seed, &program(manifest))
}

pub(super) fn program(manifest: &Manifest) -> String {
    match manifest.config.measurement {
        Measurement::Libp2pAndRawTcp => format!("{BENCHMARK}rr"),
        _ => "./sweep.sh".to_owned(),
    }
}

/// The command before a verb of the tool.
pub(super) const BENCHMARK: &str = "cargo run --profile tools -p latency-benchmark -- ";

/// The command that repeats a measurement: the checkout of its commit, the program, the arguments and the seed.
pub(super) fn typed(command: &[String], tool: &Tool, seed: u64, program: &str) -> String {
    // The first two words are the program and its verb.
    let arguments = command.iter().skip(2);
    let mut words: Vec<String> = arguments.map(|word| for_shell(word)).collect();
    if !words.iter().any(|word| word.starts_with("--seed")) {
        words.push(format!("--seed {seed}"));
    }
    let commit = tool.commit.as_deref();
    let checkout = commit.map_or_else(String::new, |commit| {
        let commit = for_shell(commit.trim_end_matches("-dirty"));
        format!("git checkout {commit}\n")
    });
    format!("{checkout}{program} {}", words.join(" "))
}

fn for_shell(word: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_=./,:%+@".contains(letter);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}
