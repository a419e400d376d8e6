//! How a sweep was measured, and the command that repeats it.

use run_format::config::{Measurement, Pace, Scheduler, Transport, Workload};
use run_format::manifest::{Manifest, Tool};
use run_format::network::ReceiveOn;

use super::application;
use super::markdown::{Document, joined, quoted};
use crate::load::compared::sources;
use crate::load::name_in_files;
use crate::summary::{Summary, of_hosts, of_tool, of_upstream};
use crate::text::{capitalised, count, date, number};

pub(crate) fn write(document: &mut Document, summary: &Summary) {
    if let Some(application) = &summary.identity.application {
        return application::method(document, summary, application);
    }
    let Some(manifest) = &summary.identity.manifest else {
        return;
    };
    document.heading("How it was measured");
    document.list([
        grid(summary),
        nodes(summary, manifest),
        network(summary, manifest),
        variants(summary),
        format!(
            "{}, on {}; {}, {}.",
            date(manifest.created_unix_s),
            of_hosts(&summary.identity.hosts),
            of_tool(&manifest.tool),
            manifest.tool.rustc
        ),
    ]);
    let subjects = &manifest.config.subjects;
    if !subjects.is_empty() {
        document.paragraph(match subjects.iter().any(|it| it.runtime.is_some()) {
            true => "One program was launched with these settings of central's tokio runtime:",
            false => "The programs were built against these subjects:",
        });
        document.list(subjects.iter().map(sources));
    }
    document.command(&command(manifest));
}

fn grid(summary: &Summary) -> String {
    let axes = &summary.axes;
    let payloads = axes.payload_bytes.iter().map(|bytes| bytes.in_words());
    let cells = || summary.measured().map(|cell| &cell.measured);
    let runs: usize = cells().map(|cell| cell.runs).sum();
    let blocks: usize = cells().map(|cell| cell.blocks).sum();
    let launches = match runs {
        _ if !summary.identity.has_subjects() => count(runs, "run"),
        1 => "1 launch of each program".to_owned(),
        _ => format!("{runs} launches of each program"),
    };
    let (peers, rtts) = (joined(&axes.peers, ", "), joined(&axes.rtt_ms, ", "));
    let (payloads, measured, all) = (joined(payloads, ", "), cells().count(), summary.cells.len());
    format!(
        "Measured cells: {measured} of {all}, from N ∈ {{{peers}}} peers, RTT ∈ {{{rtts}}} ms and payload ∈ {{{payloads}}}; \
         {launches} and {blocks} in all.",
        blocks = count(blocks, "block")
    )
}

fn nodes(summary: &Summary, manifest: &Manifest) -> String {
    let config = &manifest.config;
    let node = &config.node;
    let workers = match config.runtime.scheduler {
        Scheduler::CurrentThread => "a current-thread runtime".to_owned(),
        Scheduler::MultiThread => format!(
            "a multi-thread runtime (workers: {})",
            config.runtime.workers
        ),
    };
    let placement = &config.lab.placement;
    let cores = match summary.identity.hosts.len() {
        1 => format!(
            "{}; {} on {}",
            placement.central_cores().in_words(),
            match config.lab.peer_hosts {
                None => "the peers run",
                Some(_) => "the threads that measure run",
            },
            placement.peers.in_words()
        ),
        _ => "a core; the peers run on others, which `run.json` names".to_owned(),
    };
    let code = match config.subjects.is_empty() {
        true => format!("{} as published", of_upstream(&manifest.tool)),
        false => "the subjects listed below".to_owned(),
    };
    let (workload, security) = (name_in_files(node.workload), name_in_files(node.security));
    let crowd = config.runtime.crowd.map_or_else(String::new, |crowd| {
        format!(" A crowd of other tasks runs on the same workers: {crowd}. CPU time per request includes theirs.")
    });
    let transport = name_in_files(node.transport);
    let pace = match node.workload {
        Workload::Duplex => "as fast as flow control allows".to_owned(),
        _ => pace(config.pace),
    };
    format!(
        "Code under test: {code}, with lines for probe and budgets inserted at build time. Workload: {workload}, {security} \
         over {transport}, {pace}. Central runs on {workers}, alone on {cores}.{crowd}"
    )
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

fn network(summary: &Summary, manifest: &Manifest) -> String {
    if let Some(real) = &summary.identity.real_network {
        return real.clone();
    }
    let lab = &manifest.config.lab;
    let extra = |name: &str, value: Option<f64>, unit: &str| {
        value.map_or_else(String::new, |it| format!(", {name} {} {unit}", number(it)))
    };
    let is_quic = manifest.config.node.transport == Transport::Quic;
    format!(
        "Network: the kernel's {}, with each peer in its own network namespace. {}{}{}; the round trip of every link \
         was checked before use. Congestion control: {}.{}",
        if is_quic { "UDP" } else { "TCP" },
        capitalised(&summary.identity.delay()),
        extra("loss", lab.loss_percent, "%"),
        extra("jitter", lab.jitter_ms.map(|it| it.ms()), "ms"),
        lab.congestion_control,
        match lab.receive_on {
            ReceiveOn::Receiver => " Each side receives packets on its own cores.",
            ReceiveOn::Sender => " The sender's core also does the receiver's kernel work.",
        }
    )
}

fn variants(summary: &Summary) -> String {
    let mut calibrations = summary.calibrations.values();
    let widened = match calibrations.any(|calibration| calibration.factor.is_some()) {
        true => {
            ", and are widened if variants that cannot differ (the A/A control, budgets that never fire) differ by more \
             than the intervals predict"
        }
        false => "",
    };
    let turns = match summary.identity.has_subjects() {
        true => {
            "Different programs are alive at the same time and take turns, and one that has no turn is stopped"
        }
        false => "Variants take turns inside one process",
    };
    let labels = summary.variants.iter().map(|it| quoted(&it.label));
    format!(
        "{turns}, in blocks of random order: {}. Intervals are computed from runs and blocks, never from single \
         polls{widened}. The false discovery rate over cells is 5 % (Benjamini–Hochberg).",
        joined(labels, ", "),
    )
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
