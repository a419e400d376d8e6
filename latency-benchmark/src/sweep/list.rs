//! Tells about a sweep before it is measured: what `--dry-run` prints, and how wide the intervals will be. Their widths come from
//! the committed evidence.

use std::fmt::Write as _;
use std::time::Duration;

use program::print;
use run_format::{Measurement, SweepConfig, plan};
use serde::Deserialize;

use super::schedule::schedule;

/// The variants, and the launches in their order with how long they may take.
pub(super) fn dry_run(config: &SweepConfig) {
    let launches = schedule(config);
    let (cells, variants) = (plan::cells::cells(config).len(), config.variants.len());
    print(format!(
        "{cells} cells, {variants} variants, the first is the baseline:"
    ));
    for variant in &config.variants {
        print(format!("  {}", variant.label));
    }
    if !config.subjects.is_empty() {
        let subjects = config.subjects.len();
        print(format!("{subjects} subjects, the first is the baseline:"));
    }
    for subject in &config.subjects {
        print(format!("  {}: {}", subject.label, subject.sources()));
    }
    let mut longest = Duration::ZERO;
    for (number, launch) in (1..).zip(&launches) {
        let takes = launch.longest(config);
        longest += takes;
        print(format!(
            "{number:4}  {}  {}  at most {:.0} s, turns of {} ms",
            launch.cell.id(),
            launch.name(config),
            takes.as_secs_f64(),
            plan::run::plan_of_cell(config, launch.cell).turn_ms
        ));
    }
    print(format!(
        "{} runs × {variants} variants, at most {:.0} min; less if the changes are known sooner. Seed {}",
        launches.len(),
        longest.as_secs_f64() / 60.0 / plan::cells::speed(config),
        config.seed
    ));
    if config.lab.peer_hosts.is_some() {
        print(
            "Round trips to the hosts are timed when the sweep begins; over long ones turns are longer.",
        );
    }
    if let Some(jobs) = &config.jobs {
        print(format!(
            "{} runs at a time, {} are also measured alone:",
            jobs.places.len(),
            jobs.alone
        ));
        for place in &jobs.places {
            print(format!("  {place}"));
        }
    }
    if let Some(precision) = expected_precision(config) {
        print(precision);
    }
}

/// The half-widths of the changes in the committed evidence. The test `figures` compares the file with it, and writes the file.
const PRECISION: &str = include_str!("expected_precision.csv");

#[derive(Deserialize)]
struct PrecisionRow {
    quantity: String,
    rtt_ms: f64,
    half_width_percent: f64,
}

/// The half-width of a change's interval in the median cell, for each quantity. A sweep that compares no variants, or compares
/// subjects, has nothing like it in the evidence.
pub(super) fn expected_precision(config: &SweepConfig) -> Option<String> {
    let compares = matches!(config.measurement, Measurement::Compare) && config.variants.len() > 1;
    if !compares || !config.subjects.is_empty() {
        return None;
    }
    let mut table = csv::Reader::from_reader(PRECISION.as_bytes());
    let rows: Result<Vec<PrecisionRow>, _> = table.deserialize().collect();
    let rows = rows.expect("a test compares it with the evidence");
    let default = super::args::with_default_time(config);
    let time_ms = |config: &SweepConfig, cell| {
        let visits = u64::from(plan::run::visits(config, cell));
        (visits * plan::run::plan_of_cell(config, cell).max_ms) as f64
    };
    let mut text = String::from(
        "Expected 95 % intervals of changes in the median cell, by the committed evidence (another machine differs):",
    );
    for quantity in rows.chunk_by(|one, next| one.quantity == next.quantity) {
        let widths = plan::cells::cells(config).into_iter().filter_map(|cell| {
            let distance = |row: &&PrecisionRow| (row.rtt_ms - cell.rtt_ms.ms()).abs();
            let known = quantity.iter();
            let nearest = known.min_by(|a, b| distance(a).total_cmp(&distance(b)))?;
            // The width falls with the square root of the time.
            let factor = (time_ms(&default, cell) / time_ms(config, cell)).sqrt();
            Some(nearest.half_width_percent * factor)
        });
        if let Some(width) = median(widths.collect()) {
            let _ = write!(text, " {} ±{width:.1} %,", quantity[0].quantity);
        }
    }
    Some(text.trim_end_matches(',').to_owned())
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.retain(|value| value.is_finite());
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}
