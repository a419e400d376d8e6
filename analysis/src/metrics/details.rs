//! The details that a page shows about a cell beside its figures: how long polls took, how figures varied from block to block,
//! and how the cell was launched.

use std::collections::BTreeMap;

use run_format::counts::Counts;
use run_format::{HistogramOf, RunRow};

use super::curve::thresholds;
use super::metric::{Metric, MetricKey, ReportPart};
use super::sums::{CellBlocks, CellSums};
use crate::prose::{self, prose};
use crate::stats::RatioPart;

#[derive(Clone, Debug, Default)]
pub(crate) struct PageDetails {
    /// The number of durations of each variant between [`edges`], below the first and above the last one. Those of the
    /// baseline include the A/A control, because candidates are compared with both.
    pub(crate) durations: BTreeMap<HistogramOf, Vec<Option<Vec<u64>>>>,
    /// The values of some metrics by variant, group and block.
    pub(crate) by_block: BTreeMap<MetricKey, Vec<Option<Vec<Vec<f64>>>>>,
    /// The percentage of time in which central waited for its core, by group and block.
    pub(crate) waited: Vec<Vec<Option<f64>>>,
    /// A line about each launch.
    pub(crate) launch_lines: Vec<String>,
}

/// The limits of the buckets that durations are counted in, in nanoseconds: five a decade from 100 ns to 630 ms, and the
/// thresholds of the curve.
pub(crate) fn edges(threshold_ns: u64) -> Vec<u64> {
    const FIFTHS: [u64; 5] = [100, 160, 250, 400, 630];
    let decades = (0..7).map(|power| 10_u64.pow(power));
    let fifths = decades.flat_map(|decade| FIFTHS.map(|fifth| decade * fifth));
    let mut edges = thresholds(threshold_ns);
    edges.extend(fifths);
    edges.into_iter().collect()
}

impl PageDetails {
    pub(super) fn collect(
        blocks: &CellBlocks,
        CellSums { histograms, ratios }: &CellSums,
        rows: &[&RunRow],
        threshold_ns: u64,
    ) -> PageDetails {
        let edges = edges(threshold_ns);
        let shown_histograms = histograms.iter().filter(|(histogram, _)| {
            matches!(histogram, HistogramOf::Polls(_) | HistogramOf::CotenantWake)
        });
        let durations = shown_histograms.map(|(histogram, by_variant)| {
            let bucketed = by_variant.map(|groups| {
                let groups = groups.as_ref()?.iter();
                let sums: Vec<&Counts> = groups.map(|group| &group.sum).collect();
                Some(bucketed(&Counts::sum(&sums), &edges))
            });
            (*histogram, bucketed.with_reference_as_baseline())
        });
        let metrics = Metric::shown_in(ReportPart::Blocks);
        let shown_ratios = ratios
            .iter()
            .filter(|(key, _)| metrics.contains(&key.metric));
        let by_block =
            shown_ratios.map(|(key, by_variant)| (*key, by_block(*key, &by_variant.variants)));
        PageDetails {
            durations: durations.collect(),
            by_block: by_block.collect(),
            waited: blocks.waited(),
            launch_lines: rows.iter().map(|row| launch(row)).collect(),
        }
    }
}

fn bucketed(counts: &Counts, edges: &[u64]) -> Vec<u64> {
    let mut above = vec![counts.total()];
    above.extend(edges.iter().map(|edge| counts.above(*edge)));
    above.push(0);
    above.windows(2).map(|pair| pair[0] - pair[1]).collect()
}

/// The values of a metric by variant, group and block.
fn by_block(
    key: MetricKey,
    variants: &[Option<Vec<Vec<RatioPart>>>],
) -> Vec<Option<Vec<Vec<f64>>>> {
    let value = |part: &RatioPart| key.metric.info().scale * part.num / part.den;
    let values_of_group = |group: &Vec<RatioPart>| group.iter().map(value).collect();
    let values_of_variant = |groups: &Option<Vec<Vec<RatioPart>>>| {
        Some(groups.as_ref()?.iter().map(values_of_group).collect())
    };
    variants.iter().map(values_of_variant).collect()
}

/// Returns a line such as "run 1: 2026-11-22, 12.0 s, seed 6438; recording a poll takes 21 ns".
fn launch(row: &RunRow) -> String {
    prose::text(&prose!('a "launch.txt" { row: &'a RunRow = row }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_above_an_edge_hold_the_values_above_it() {
        let edges = edges(70_000);
        let counts = Counts::from_sorted((1..3_000_u64).map(|number| (number * 997, number % 5)));
        let bucketed = bucketed(&counts, &edges);
        assert_eq!(bucketed.len(), edges.len() + 1);
        for (index, edge) in edges.into_iter().enumerate() {
            let above: u64 = bucketed[index + 1..].iter().sum();
            assert_eq!(above, counts.above(edge), "{edge}");
        }
    }
}
