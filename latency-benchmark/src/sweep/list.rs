//! What is told of a sweep before it is measured: what `--dry-run` prints, and how precisely it will know its changes, from
//! how precisely the committed evidence does.

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
            plan::run::of_cell(config, launch.cell).turn_ms
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

/// `analysis report` wrote it from a sweep that took the default time. A program that is used elsewhere does without.
const EVIDENCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/evidence/summary.csv");

/// Metric and site in the evidence, and what it is called here.
const QUANTITIES: [(&str, &str, &str); 4] = [
    ("beyond_ms_per_s", "connection", "time beyond the threshold"),
    ("requests_per_s", "", "throughput"),
    ("cpu_us_per_request", "", "CPU time per request"),
    ("cotenant_p90_us", "", "co-tenant's p90"),
];

#[derive(Deserialize)]
struct EvidenceRow {
    rtt_ms: f64,
    variant: String,
    site: String,
    metric: String,
    value: Option<f64>,
    change_low: Option<f64>,
    change_high: Option<f64>,
}

/// The half-width of a change's interval in the median cell, for each quantity; nothing for what the evidence does not
/// have the like of.
pub(super) fn expected_precision(config: &SweepConfig) -> Option<String> {
    let compares = matches!(config.measurement, Measurement::Compare) && config.variants.len() > 1;
    if !compares || !config.subjects.is_empty() {
        return None;
    }
    let mut table = csv::Reader::from_path(EVIDENCE).ok()?;
    let rows: Vec<EvidenceRow> = table.deserialize().flatten().collect();
    let default = super::args::with_default_time(config);
    let time = |config: &SweepConfig, cell| {
        let visits = u64::from(plan::run::visits(config, cell));
        (visits * plan::run::of_cell(config, cell).max_ms) as f64
    };
    let mut text = String::from(
        "Expected 95 % intervals of changes in the median cell, by the committed evidence (another machine differs):",
    );
    for (metric, site, name) in QUANTITIES {
        let is_of_it = |row: &&EvidenceRow| row.metric == metric && row.site == site;
        let changes = half_widths(rows.iter().filter(is_of_it));
        let of_cells = plan::cells::cells(config).into_iter().filter_map(|cell| {
            let distance = |rtt_ms: f64| (rtt_ms - cell.rtt_ms.ms()).abs();
            let rtts = changes.iter().map(|(rtt_ms, _)| *rtt_ms);
            let nearest_ms = rtts.min_by(|a, b| distance(*a).total_cmp(&distance(*b)))?;
            let at_rtt = changes.iter().filter(|(rtt_ms, _)| *rtt_ms == nearest_ms);
            let width = median(at_rtt.map(|(_, width)| *width).collect())?;
            Some(width * (time(&default, cell) / time(config, cell)).sqrt())
        });
        if let Some(width) = median(of_cells.collect()) {
            let _ = write!(text, " {name} ±{width:.1} %,");
        }
    }
    Some(text.trim_end_matches(',').to_owned())
}

/// The round trip and the half-width, in percent, of each change from the baseline, whose row comes before.
fn half_widths<'a>(rows: impl Iterator<Item = &'a EvidenceRow>) -> Vec<(f64, f64)> {
    let mut baseline = None;
    let widths = rows.filter_map(|row| {
        if row.variant == "none" {
            baseline = row.value;
        }
        let half = (row.change_high? - row.change_low?) / 2.0;
        Some((row.rtt_ms, 100.0 * half / baseline?))
    });
    widths.collect()
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.retain(|value| value.is_finite());
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}
