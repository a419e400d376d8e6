//! How a sweep was measured, and the command that repeats it.

use run_format::config::{Measurement, Pace, Scheduler, SweepConfig, Transport, Workload};
use run_format::manifest::{Manifest, Tool};
use run_format::network::ReceiveOn;

use super::application;
use super::markdown::{Document, joined, quoted};
use crate::load::compared;
use crate::prose::prose;
use crate::summary::{Summary, of_hosts, of_tool, of_upstream};
use crate::text::{capitalised, date};

pub(crate) fn write(document: &mut Document, summary: &Summary) {
    if let Some(application) = &summary.identity.application {
        return application::method(document, summary, application);
    }
    let Some(manifest) = &summary.identity.manifest else {
        return;
    };
    let config = &manifest.config;
    let payloads = summary.axes.payload_bytes.iter();
    let cells = || summary.measured().map(|cell| &cell.measured);
    let labels = summary.variants.iter().map(|it| quoted(&it.label));
    let mut calibrations = summary.calibrations.values();
    document.prose(&prose!('a "method.txt" {
        summary: &'a Summary = summary,
        manifest: &'a Manifest = manifest,
        config: &'a SweepConfig = config,
        measured: usize = cells().count(),
        payloads: Vec<String> = payloads.map(|it| it.in_words()).collect(),
        runs: usize = cells().map(|it| it.runs).sum(),
        blocks: usize = cells().map(|it| it.blocks).sum(),
        upstream: String = of_upstream(&manifest.tool),
        pace: String = pace(config.pace),
        delay: String = capitalised(&summary.identity.delay()),
        labels: String = joined(labels, ", "),
        is_widened: bool = calibrations.any(|it| it.factor.is_some()),
        date: String = date(manifest.created_unix_s),
        hosts: String = of_hosts(&summary.identity.hosts),
        tool: String = of_tool(&manifest.tool),
        has_settings: bool = config.subjects.iter().any(|it| it.runtime.is_some()),
    }));
    document.command(&command(manifest));
}

pub(super) fn pace(pace: Pace) -> String {
    match pace {
        Pace::Outstanding(requests) => format!("{requests} requests outstanding per peer"),
        Pace::PerSecond(rate) => format!("{rate} requests per second and peer"),
        Pace::Saturating => {
            "as many requests outstanding per peer as raise throughput, which each launch finds by doubling (`outstanding` in `run.json`)".to_owned()
        }
    }
}

pub(super) fn command(manifest: &Manifest) -> String {
    let (command, tool) = (&manifest.command, &manifest.tool);
    typed(command, tool, manifest.config.seed, &program(manifest))
}

pub(super) fn program(manifest: &Manifest) -> String {
    match manifest.config.measurement {
        Measurement::BesideTcp => format!("{BENCHMARK}rr"),
        _ => "./sweep.sh".to_owned(),
    }
}

/// What the verbs of the tool are typed after.
pub(super) const BENCHMARK: &str = "cargo run --profile tools -p latency-benchmark -- ";

/// The arguments after the program and its verb, with the commit that was checked out and the seed that was drawn.
pub(super) fn typed(command: &[String], tool: &Tool, seed: u64, program: &str) -> String {
    let words = command.iter().skip(2);
    let mut words: Vec<String> = words.map(|word| for_shell(word)).collect();
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
