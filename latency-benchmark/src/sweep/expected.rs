//! How precisely a sweep will know its changes, from how precisely the committed evidence does.

use std::fmt::Write as _;

use run_format::config::{Measurement, SweepConfig};
use serde::Deserialize;

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
pub(super) fn precision(config: &SweepConfig) -> Option<String> {
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
