//! How it was measured, in five lines, and how to do it again.

use super::markdown::Document;
use crate::{
    grid::payload,
    load::{manifest::Manifest, subject::Subject},
    summary::{
        Summary,
        identity::{date, machine, tool, upstream},
    },
    text::{count, number},
};

pub(crate) fn write(document: &mut Document, summary: &Summary) {
    let Some(manifest) = &summary.identity.manifest else {
        document.paragraph(&format!("From {}.", summary.identity.line()));
        return;
    };
    document.heading("How it was measured");
    document.list([
        grid(summary),
        nodes(manifest),
        network(summary, manifest),
        variants(summary),
        place(manifest),
    ]);
    let subjects = &manifest.config.subjects;
    if !subjects.is_empty() {
        document.paragraph("The programs were built against:");
        document.list(subjects.iter().map(Subject::words));
    }
    document.paragraph("To do it again:");
    document.code(&command(manifest));
}

fn grid(summary: &Summary) -> String {
    let list = |values: Vec<String>| values.join(", ");
    let axes = &summary.axes;
    let runs: usize = summary.measured().map(|cell| cell.runs).sum();
    let blocks: usize = summary.measured().map(|cell| cell.blocks).sum();
    format!(
        "{} of {}: N ∈ {{{}}} peers, RTT ∈ {{{}}} ms, payload ∈ {{{}}}; {} in all.",
        count(summary.measured().count(), "cell"),
        summary.cells.len(),
        list(axes.peers.iter().map(u32::to_string).collect()),
        list(axes.rtt_ms.iter().map(f64::to_string).collect()),
        list(
            axes.payload_bytes
                .iter()
                .map(|bytes| payload(*bytes))
                .collect()
        ),
        if summary.identity.has_subjects() {
            format!(
                "{} of each program",
                if runs == 1 {
                    "1 launch".to_owned()
                } else {
                    format!("{runs} launches")
                }
            )
        } else {
            format!("{} and {}", count(runs, "run"), count(blocks, "block"))
        },
    )
}

fn nodes(manifest: &Manifest) -> String {
    let config = &manifest.config;
    let node = &config.node;
    let workers = match config.runtime.workers {
        1 => "a current-thread runtime".to_owned(),
        workers => format!("a runtime of {workers} workers"),
    };
    format!(
        "{} with recorded polls; workload {}, {} over {}, {}; central on {workers}, alone on core {}, \
         peers on {}.",
        if config.subjects.is_empty() {
            format!("Pristine {}", upstream(manifest))
        } else {
            "The programs that are named below,".to_owned()
        },
        node.workload,
        node.security,
        node.transport,
        pace(&config.pace),
        config.lab.placement.central,
        config.lab.placement.peers,
    )
}

fn pace(pace: &serde_json::Value) -> String {
    if let Some(requests) = pace.get("outstanding") {
        return format!("{requests} requests outstanding per peer");
    }
    match pace.get("per-second") {
        Some(rate) => format!("{rate} requests per second and peer"),
        None => "at its own pace".to_owned(),
    }
}

fn network(summary: &Summary, manifest: &Manifest) -> String {
    let lab = &manifest.config.lab;
    let extra = [
        lab.loss_percent
            .map(|it| format!(", loss {} %", number(it))),
        lab.jitter_ms
            .map(|it| format!(", jitter {} ms", number(it))),
    ];
    let extra: String = extra.into_iter().flatten().collect();
    format!(
        "Real kernel {}, each peer in a network namespace of its own; {}{extra}, timed on every link before \
         use; congestion control {}.",
        if manifest.config.node.transport == "quic" {
            "UDP"
        } else {
            "TCP"
        },
        summary.identity.delay(),
        lab.congestion_control
    )
}

fn variants(summary: &Summary) -> String {
    let mut calibrations = summary.calibrations.values();
    let is_calibrated = calibrations.any(|calibration| calibration.factor.is_some());
    let labels: Vec<String> = summary
        .variants
        .iter()
        .map(|variant| format!("`{}`", variant.label))
        .collect();
    let manifest = summary.identity.manifest.as_ref();
    let turns = if manifest.is_some_and(|manifest| manifest.config.subjects.is_empty()) {
        "Variants take turns inside one process"
    } else {
        "Different programs are launched in turns"
    };
    format!(
        "{turns}, in blocks of random order: {}. Intervals come from runs and \
         blocks, never from single polls{}; over cells the false \
         discovery rate is held at 5 % (Benjamini–Hochberg).",
        labels.join(", "),
        if is_calibrated {
            ", and are calibrated by variants that can differ from the baseline by chance only"
        } else {
            ""
        }
    )
}

pub(super) fn place(manifest: &Manifest) -> String {
    format!(
        "{}, on {}; {}, {}.",
        date(manifest.created_unix_s),
        machine(manifest),
        tool(manifest),
        manifest.tool.rustc
    )
}

pub(super) fn command(manifest: &Manifest) -> String {
    typed(manifest, "sweep", "./sweep.sh")
}

/// What was typed after the verb, with the checkout it was typed in and the seed that was drawn.
pub(super) fn typed(manifest: &Manifest, verb: &str, program: &str) -> String {
    let words = manifest.command.iter().skip_while(|word| *word != verb);
    let mut words: Vec<String> = words.skip(1).map(|word| quoted(word)).collect();
    if !words.iter().any(|word| word.starts_with("--seed")) {
        words.push(format!("--seed {}", manifest.config.seed));
    }
    let checkout = manifest
        .tool
        .commit
        .as_deref()
        .map_or_else(String::new, |commit| {
            format!("git checkout {}\n", commit.trim_end_matches("-dirty"))
        });
    format!("{checkout}{program} {}", words.join(" "))
}

/// As a shell takes it.
fn quoted(word: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_=./,:%+@".contains(letter);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}
