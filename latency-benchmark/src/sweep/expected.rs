//! How precisely a sweep will know its changes, from how precisely the committed evidence does.

use std::{collections::HashSet, fmt::Write as _};

use run_format::config::{Measurement, SweepConfig};
use serde::Deserialize;

/// `analysis report` wrote it from a sweep with default options. A program that is used elsewhere does without.
const EVIDENCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/evidence/summary.csv");

/// Metric and site in the evidence, what it is called here, and whether changes are in percent of the baseline.
const QUANTITIES: [(&str, &str, &str, bool); 4] = [
    ("slow_percent", "connection", "slow polls", false),
    ("requests_per_s", "", "throughput", true),
    ("cpu_us_per_request", "", "CPU time per request", true),
    ("cotenant_p90_us", "", "co-tenant's p90", true),
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

/// A change in the evidence.
struct Change {
    rtt_ms: f64,
    metric: String,
    site: String,
    half_width: f64,
    percent: f64,
}

/// The half-width of a change's interval in the median cell, for each quantity; nothing for what the evidence does not
/// have the like of.
pub(super) fn precision(config: &SweepConfig) -> Option<String> {
    let compares = matches!(config.measurement, Measurement::Compare) && config.variants.len() > 1;
    if !compares || !config.subjects.is_empty() {
        return None;
    }
    let (changes, variants) = evidence()?;
    let mut text = String::from(
        "Expected 95 % intervals of changes in the median cell, by the committed evidence (another machine differs):",
    );
    for (metric, site, name, relative) in QUANTITIES {
        let of_metric: Vec<_> = changes
            .iter()
            .filter(|change| change.metric == metric && change.site == site)
            .collect();
        let of_cells = plan::cells::cells(config).into_iter().filter_map(|cell| {
            let distance = |change: &&&Change| (change.rtt_ms - cell.rtt_ms.ms()).abs();
            let nearest_ms = of_metric
                .iter()
                .min_by(|a, b| distance(a).total_cmp(&distance(b)))?
                .rtt_ms;
            let at_rtt = of_metric
                .iter()
                .filter(|change| change.rtt_ms == nearest_ms);
            let widths = at_rtt.map(|change| {
                if relative {
                    change.percent
                } else {
                    change.half_width
                }
            });
            let visits = f64::from(plan::run::visits(config, cell));
            let time = visits * plan::run::of_cell(config, cell).max_ms as f64
                / config.variants.len() as f64;
            let evidence_time = plan::run::measuring_ms(nearest_ms) / variants as f64;
            Some(median(widths.collect())? * (evidence_time / time).sqrt())
        });
        if let Some(width) = median(of_cells.collect()) {
            let unit = if relative { "%" } else { "pp" };
            let _ = write!(text, " {name} ±{width:.1} {unit},");
        }
    }
    Some(text.trim_end_matches(',').to_owned())
}

/// The changes of the evidence's budgets, and how many variants took turns.
fn evidence() -> Option<(Vec<Change>, usize)> {
    let mut variants = HashSet::new();
    let mut changes = Vec::new();
    let mut baseline = None;
    let mut table = csv::Reader::from_path(EVIDENCE).ok()?;
    for row in table.deserialize::<EvidenceRow>().flatten() {
        // A quantity's baseline comes before its changes.
        if row.variant == "none" {
            baseline = row.value;
        }
        variants.insert(row.variant);
        if let (Some(low), Some(high), Some(baseline)) = (row.change_low, row.change_high, baseline)
        {
            let half_width = (high - low) / 2.0;
            changes.push(Change {
                rtt_ms: row.rtt_ms,
                metric: row.metric,
                site: row.site,
                half_width,
                percent: 100.0 * half_width / baseline,
            });
        }
    }
    Some((changes, variants.len()))
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.retain(|value| value.is_finite());
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}
