//! Values that grow from slice to slice.

use super::{
    finding_kind::FindingKind,
    thresholds::{GROWTH_PERCENT, MEMORY_GROWTH_BYTES, MEMORY_GROWTH_PERCENT, TREND_CONFIDENCE},
};
use crate::{
    load::explain::cell::CellEvidence,
    stats::{Trend, trend},
    summary::CONFIDENCE,
};

/// A value that slices of every pass record.
pub(crate) struct Gauge {
    counter: &'static str,
    pub(crate) kind: FindingKind,
    /// At the start of a sentence.
    pub(crate) name: &'static str,
    pub(crate) unit: &'static str,
    /// What converts the counter to the unit.
    pub(crate) scale: f64,
    /// In percent, and of the counter.
    pub(crate) threshold: f64,
    least: f64,
}

#[rustfmt::skip]
pub(crate) const GAUGES: [Gauge; 3] = [
    Gauge { counter: "connections", kind: FindingKind::GrowingConnections, name: "The number of connections", unit: "", scale: 1.0, threshold: GROWTH_PERCENT, least: 1.0 },
    Gauge { counter: "tasks", kind: FindingKind::GrowingTasks, name: "The number of tasks on central's runtime", unit: "", scale: 1.0, threshold: GROWTH_PERCENT, least: 1.0 },
    Gauge { counter: "resident_bytes", kind: FindingKind::GrowingMemory, name: "Resident memory", unit: " MiB", scale: 1.0 / 1_048_576.0, threshold: MEMORY_GROWTH_PERCENT, least: MEMORY_GROWTH_BYTES },
];

/// The end of every slice in seconds, and the value there.
pub(crate) fn series(evidence: &CellEvidence, counter: &str) -> Vec<(f64, f64)> {
    let value = |number: u32| {
        let mut rows = evidence.activity.iter();
        rows.find(|it| it.slice == number && it.counter == counter)?
            .value
    };
    let slices = evidence.slices.iter().filter_map(|slice| {
        let end_s = (slice.start_ms + slice.duration_ms) / 1000.0;
        Some((end_s, value(slice.slice)? as f64))
    });
    let mut series: Vec<(f64, f64)> = slices.collect();
    series.sort_by(|one, other| one.0.total_cmp(&other.0));
    series
}

/// The trend of a gauge that grows beyond noise and beyond its threshold.
pub(crate) fn growing(evidence: &CellEvidence, gauge: &Gauge) -> Option<Trend> {
    let series = series(evidence, gauge.counter);
    trend(&series, TREND_CONFIDENCE).filter(Trend::is_beyond_noise)?;
    let trend = trend(&series, CONFIDENCE)?;
    // Growth from nothing has no percentage.
    let growth = trend.growth();
    let is_much = growth.is_none_or(|growth| 100.0 * growth > gauge.threshold);
    (trend.slope > 0.0 && is_much && trend.to - trend.from > gauge.least).then_some(trend)
}
