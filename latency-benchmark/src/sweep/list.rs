//! What `--dry-run` prints.

use std::{fmt::Write as _, time::Duration};

use program::print;
use run_format::config::SweepConfig;

use super::{expected, schedule::schedule};

/// The variants, and the launches in their order with how long they may take.
pub(super) fn dry_run(config: &SweepConfig) {
    let launches = schedule(config);
    let mut longest = Duration::ZERO;
    let (cells, variants) = (plan::cells::cells(config).len(), config.variants.len());
    let mut text = format!("{cells} cells, {variants} variants, the first is the baseline:\n");
    for variant in &config.variants {
        let _ = writeln!(text, "  {}", variant.label);
    }
    text += &subjects(config);
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
        "{} runs × {variants} variants, at most {:.0} min; less if the ratios are known sooner. Seed {}",
        launches.len(),
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
    print(text.trim_end());
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
