//! The time beyond many thresholds from 10 µs to 10 ms, so that no threshold decides alone.

use std::collections::BTreeSet;

use super::metric::{Metric, MetricKey};
use super::sums::{CellBlocks, SweepSetup, ratio_parts, with_changes};
use crate::stats::{self, RatioKind, Uncertain};

/// The values at one threshold, by variant. None if the slices did not record the site.
#[derive(Clone, Debug)]
pub(crate) struct CurvePoint {
    pub(crate) threshold_ns: u64,
    pub(crate) values: Vec<Option<CurveValue>>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct CurveValue {
    pub(crate) level: f64,
    /// The change in percent. None for the baseline, and if the baseline is zero.
    pub(crate) relative: Option<Uncertain>,
}

/// Returns six thresholds in each decade, and that of the report.
fn thresholds(own_ns: u64) -> BTreeSet<u64> {
    const SIXTHS: [u64; 6] = [100, 150, 200, 300, 500, 700];
    let decades = [10_000, 100_000, 1_000_000].into_iter();
    let all = decades.flat_map(|decade| SIXTHS.map(|sixth| decade * sixth / 100));
    all.chain([10_000_000, own_ns]).collect()
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
    let sums = ratio_parts(key, blocks, setup, threshold_ns).into_iter();
    let ratios = sums.map(|runs| stats::ratio(&runs?, RatioKind::Amount));
    let estimates: Vec<_> = ratios.collect();
    let values = with_changes(&estimates, setup.reference.get(1).copied())
        .into_iter()
        .map(|value| {
            let (estimate, change) = value?;
            Some(CurveValue {
                level: estimate.value * key.metric.info().scale,
                relative: change
                    .and_then(|change| change.relative)
                    .map(|change| change.times(100.0)),
            })
        });
    CurvePoint {
        threshold_ns,
        values: values.collect(),
    }
}
