//! What `--list` and `--dry-run` print.

use std::{fmt::Write as _, time::Duration};

use program::print;
use run_format::config::SweepConfig;

use super::{expected, schedule::schedule};

/// The cells and the variants.
pub(super) fn list(config: &SweepConfig) {
    let cells = plan::cells::cells(config);
    let mut text = format!("{} cells:\n", cells.len());
    for cell in cells {
        let _ = writeln!(text, "  {}  {cell}", cell.id());
    }
    let variants = config.variants.len();
    let _ = writeln!(text, "{variants} variants, the first is the baseline:");
    for variant in &config.variants {
        let _ = writeln!(text, "  {}", variant.label);
    }
    print((text + &subjects(config)).trim_end());
}

/// The launches in their order, and how long they may take.
pub(super) fn dry_run(config: &SweepConfig) {
    let launches = schedule(config);
    let mut longest = Duration::ZERO;
    let mut text = String::new();
    for (number, launch) in launches.iter().enumerate() {
        let takes = launch.longest(config);
        longest += takes;
        let _ = writeln!(
            text,
            "{:4}  {}  {}  at most {:.0} s, turns of {} ms",
            number + 1,
            launch.cell.id(),
            launch.name(config),
            takes.as_secs_f64(),
            plan::run::of_cell(config, launch.cell).turn_ms
        );
    }
    let _ = writeln!(
        text,
        "{} runs × {} variants, at most {:.0} min; less if the ratios are known sooner. Seed {}",
        launches.len(),
        config.variants.len(),
        longest.as_secs_f64() / 60.0 / plan::cells::speed(config),
        config.seed
    );
    if config.lab.peer_hosts.is_some() {
        text += "Round trips to the hosts are timed when the sweep begins; over long ones turns are longer.\n";
    }
    if let Some(jobs) = &config.jobs {
        let _ = writeln!(
            text,
            "{} runs at a time, {} are also measured alone:",
            jobs.places.len(),
            jobs.alone
        );
        for place in &jobs.places {
            let _ = writeln!(text, "  {place}");
        }
    }
    if let Some(precision) = expected::precision(config) {
        text += &precision;
        text.push('\n');
    }
    print((text + &subjects(config)).trim_end());
}

fn subjects(config: &SweepConfig) -> String {
    let mut text = String::new();
    if !config.subjects.is_empty() {
        let subjects = config.subjects.len();
        let _ = writeln!(text, "{subjects} subjects, the first is the baseline:");
    }
    for subject in &config.subjects {
        let yamux = subject.yamux.as_ref();
        let yamux = yamux.map_or_else(String::new, |yamux| format!(", yamux: {yamux}"));
        let _ = writeln!(text, "  {}: {}{yamux}", subject.label, subject.libp2p);
    }
    text
}
