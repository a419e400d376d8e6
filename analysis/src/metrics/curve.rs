//! The time beyond many thresholds from 10 µs to 10 ms, so that no threshold decides alone.

use std::collections::BTreeSet;

use super::metric::{Metric, MetricKey};
use super::sums::{CellBlocks, SweepSetup, ratio_parts, with_changes};
use crate::stats::{self, BareEstimate, RatioKind, Uncertain};

/// The values at one threshold, by variant. None if the slices did not record the site.
#[derive(Clone, Debug)]
pub(crate) struct CurvePoint {
    pub(crate) threshold_ns: u64,
    pub(crate) values: Vec<Option<CurveValue>>,
}

#[derive(Clone, Debug)]
pub(crate) struct CurveValue {
    /// The time beyond the threshold, in the unit of the metric.
    pub(crate) level: BareEstimate,
    /// The absolute change, in the unit of the metric. None for the baseline.
    pub(crate) difference: Option<Uncertain>,
    /// The change in percent. None for the baseline, and if the baseline is zero.
    pub(crate) relative: Option<Uncertain>,
}

/// Returns six thresholds in each decade, and that of the report.
pub(super) fn thresholds(report_threshold_ns: u64) -> BTreeSet<u64> {
    const IN_A_DECADE: [u64; 6] = [10, 15, 20, 30, 50, 70];
    let decades = [1_000, 10_000, 100_000].into_iter();
    let all = decades.flat_map(|decade| IN_A_DECADE.map(|step| decade * step));
    all.chain([10_000_000, report_threshold_ns]).collect()
}

/// The curve of the site that the verdict is about. Empty without a complete block.
pub(super) fn curve(blocks: &CellBlocks, setup: &SweepSetup) -> Vec<CurvePoint> {
    if blocks.is_empty() {
        return Vec::new();
    }
    let thresholds = thresholds(setup.threshold_ns).into_iter();
    thresholds
        .map(|threshold_ns| point(blocks, setup, threshold_ns))
        .collect()
}

fn point(blocks: &CellBlocks, setup: &SweepSetup, threshold_ns: u64) -> CurvePoint {
    let key = MetricKey::new(setup.site, Metric::BeyondMsPerS);
    let sums = ratio_parts(key, blocks, setup, threshold_ns);
    let estimates = sums.map(|groups| stats::ratio(groups.as_ref()?, RatioKind::Amount));
    let scale = key.metric.info().scale;
    let compared = with_changes(&estimates, setup.control);
    let values = compared.into_iter().map(|value| {
        let (estimate, change) = value?;
        let relative = change.and_then(|change| change.relative);
        Some(CurveValue {
            level: estimate.bare().times(scale),
            difference: change.map(|change| change.difference.times(scale)),
            relative: relative.map(|relative| relative.times(100.0)),
        })
    });
    CurvePoint {
        threshold_ns,
        values: values.collect(),
    }
}
