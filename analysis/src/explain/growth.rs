//! Values that grow from slice to slice.

use super::thresholds::{GROWTH_PERCENT, MEMORY_GROWTH_BYTES, MEMORY_GROWTH_PERCENT, TREND_P};
use crate::{
    load::explain::cell::CellEvidence,
    stats::{Trend, trend},
    summary::CONFIDENCE,
};

/// A value that slices of every pass record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gauge {
    Connections,
    Tasks,
    Memory,
}

impl Gauge {
    pub(crate) const ALL: [Gauge; 3] = [Gauge::Connections, Gauge::Tasks, Gauge::Memory];

    fn counter(self) -> &'static str {
        match self {
            Gauge::Connections => "connections",
            Gauge::Tasks => "tasks",
            Gauge::Memory => "resident_bytes",
        }
    }

    /// At the start of a sentence.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Gauge::Connections => "The number of connections",
            Gauge::Tasks => "The number of tasks on central's runtime",
            Gauge::Memory => "Resident memory",
        }
    }

    /// In percent.
    pub(crate) fn threshold(self) -> f64 {
        match self {
            Gauge::Memory => MEMORY_GROWTH_PERCENT,
            Gauge::Connections | Gauge::Tasks => GROWTH_PERCENT,
        }
    }

    fn least(self) -> f64 {
        match self {
            Gauge::Memory => MEMORY_GROWTH_BYTES,
            Gauge::Connections | Gauge::Tasks => 1.0,
        }
    }
}

/// The end of every slice in seconds, and the value there.
pub(crate) fn series(evidence: &CellEvidence, counter: &str) -> Vec<(f64, f64)> {
    let value = |number: u32| {
        let mut rows = evidence.activity.iter();
        rows.find(|it| it.slice == number && it.counter == counter)?
            .value
    };
    let mut series: Vec<(f64, f64)> = evidence
        .slices
        .iter()
        .filter_map(|slice| {
            let end_s = (slice.start_ms + slice.duration_ms) / 1000.0;
            Some((end_s, value(slice.slice)? as f64))
        })
        .collect();
    series.sort_by(|one, other| one.0.total_cmp(&other.0));
    series
}

/// The trend of a gauge that grows beyond noise and beyond its threshold.
pub(crate) fn growing(evidence: &CellEvidence, gauge: Gauge) -> Option<Trend> {
    let trend = trend(&series(evidence, gauge.counter()), CONFIDENCE)?;
    let is_much = match trend.growth() {
        Some(growth) => 100.0 * growth > gauge.threshold(),
        // Growth from nothing has no percentage.
        None => true,
    };
    let grows = trend.slope > 0.0 && trend.p_value < TREND_P;
    (grows && is_much && trend.to - trend.from > gauge.least()).then_some(trend)
}
