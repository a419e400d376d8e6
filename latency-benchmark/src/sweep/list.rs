//! Prints the plan of a sweep for `--dry-run`.

use std::time::Duration;

use program::print_line;
use run_format::{SweepConfig, plan};

use super::schedule::schedule;

/// The variants, and the launches in their order with how long they may take.
pub(super) fn dry_run(config: &SweepConfig) {
    let launches = schedule(config);
    let (cells, variants) = (plan::cells::cells(config).len(), config.variants.len());
    print_line(format!(
        "{cells} cells, {variants} variants, the first is the baseline:"
    ));
    for variant in &config.variants {
        print_line(format!("  {}", variant.label));
    }
    if !config.subjects.is_empty() {
        let subjects = config.subjects.len();
        print_line(format!("{subjects} subjects, the first is the baseline:"));
    }
    for subject in &config.subjects {
        print_line(format!("  {}: {}", subject.label, subject.sources()));
    }
    let mut longest = Duration::ZERO;
    for (number, launch) in (1..).zip(&launches) {
        let takes = launch.longest(config);
        longest += takes;
        print_line(format!(
            "{number:4}  {}  {}  at most {:.0} s, turns of {} ms",
            launch.cell.id(),
            launch.name(config),
            takes.as_secs_f64(),
            plan::run::plan_of_cell(config, launch.cell).turn_ms
        ));
    }
    print_line(format!(
        "{} runs × {variants} variants, at most {:.0} min; less if the changes are known sooner. Seed {}",
        launches.len(),
        longest.as_secs_f64() / 60.0 / plan::cells::speedup(config),
        config.seed
    ));
    if config.lab.peer_hosts.is_some() {
        print_line(
            "Round trips to the hosts are timed when the sweep begins; over long ones turns are longer.",
        );
    }
    if let Some(jobs) = &config.jobs {
        print_line(format!(
            "{} runs at a time, {} are also measured alone:",
            jobs.places.len(),
            jobs.alone
        ));
        for place in &jobs.places {
            print_line(format!("  {place}"));
        }
    }
}
