//! Quantiles of durations, such as the 99th percentile of how long a poll takes.

use std::borrow::Cow;
use std::sync::Arc;

use run_format::counts::Counts;

use super::estimate::{CellEstimate, IntervalShape};
use super::histogram::Histogram;
use super::variance::variance_from_blocks;

/// The values that one variant counted in each block of a group, and their sum. The sum is kept because it is slow to make
/// and all quantiles need it.
#[derive(Clone, Debug)]
pub(crate) struct GroupCounts<'a> {
    blocks: Vec<Cow<'a, Counts>>,
    pub(crate) sum: Counts,
    /// The histogram of the sum. None if nothing was counted.
    histogram: Option<Arc<Histogram>>,
}

impl<'a> GroupCounts<'a> {
    pub(crate) fn new(blocks: Vec<Cow<'a, Counts>>) -> GroupCounts<'a> {
        let sum = Counts::sum(&blocks.iter().map(Cow::as_ref).collect::<Vec<_>>());
        GroupCounts {
            blocks,
            histogram: Histogram::from_counts(&sum).map(Arc::new),
            sum,
        }
    }
}

/// The mean over groups of the `q`-quantile of each. None if less than one value of a group is expected beyond it.
pub(crate) fn quantile(groups: &[GroupCounts<'_>], q: f64) -> Option<CellEstimate> {
    let estimates = groups.iter().map(|group| GroupQuantile::estimate(group, q));
    let quantiles: Vec<GroupQuantile> = estimates.collect::<Option<_>>()?;
    let count = quantiles.len() as f64;
    let value = quantiles.iter().map(|group| group.value).sum::<f64>() / count;
    // The difference between a group and the mean is spread over all blocks of the group.
    let by_block = |group: &GroupQuantile| {
        let apart = (group.value - value) / group.deviations.len() as f64;
        let deviations = group.deviations.iter();
        deviations
            .map(|deviation| (deviation + apart) / count)
            .collect()
    };
    Some(CellEstimate {
        value,
        deviations: quantiles.iter().map(by_block).collect(),
        floor: quantiles.iter().map(|group| group.floor).sum::<f64>() / count.powi(2),
        least: 0.0,
        shape: shape(quantiles, q)?,
    })
}

struct GroupQuantile {
    value: f64,
    deviations: Vec<f64>,
    floor: f64,
    histogram: Arc<Histogram>,
    slope: f64,
}

impl GroupQuantile {
    fn estimate(counts: &GroupCounts<'_>, q: f64) -> Option<GroupQuantile> {
        let histogram = counts.histogram.clone()?;
        let total = histogram.total;
        if total * q.min(1.0 - q) < 1.0 {
            return None;
        }
        let position = histogram.position(q);
        // The share above the quantile differs between blocks, as any ratio of counts does.
        let beyond =
            |block: &Counts| position.count_above(block) - (1.0 - q) * block.total() as f64;
        let blocks = counts.blocks.iter();
        let shares: Vec<f64> = blocks.map(|block| beyond(block) / total).collect();
        let by_chance = q * (1.0 - q) / total;
        // A share becomes a value by the slope of the quantiles within one standard error (Woodruff).
        let variance = variance_from_blocks(std::slice::from_ref(&shares))
            .map_or(by_chance, |variance| variance.value.max(by_chance));
        let slope = histogram.slope(q, variance.sqrt());
        Some(GroupQuantile {
            value: position.value(),
            deviations: shares.iter().map(|share| share * slope).collect(),
            floor: by_chance * slope.powi(2),
            histogram,
            slope,
        })
    }
}

/// The interval of a single group is read from its histogram. That of several groups is symmetric.
fn shape(quantiles: Vec<GroupQuantile>, q: f64) -> Option<IntervalShape> {
    if quantiles.len() > 1 {
        return Some(IntervalShape::Symmetric);
    }
    let only = quantiles.into_iter().next()?;
    Some(IntervalShape::Inverted {
        histogram: only.histogram,
        share: q,
        slope: only.slope,
        scale: 1.0,
    })
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::stats) fn groups(slices: &[Vec<Counts>]) -> Vec<GroupCounts<'_>> {
        let groups = slices.iter();
        groups
            .map(|blocks| GroupCounts::new(blocks.iter().map(Cow::Borrowed).collect()))
            .collect()
    }

    fn quantile(slices: &[Vec<Counts>], q: f64) -> Option<CellEstimate> {
        super::quantile(&groups(slices), q)
    }

    /// The numbers from 1 to 100, each once and multiplied by `scale`.
    fn even(scale: u64) -> Counts {
        Counts::from_sorted((1..=100).map(|value| (value * scale, 1)))
    }

    #[test]
    fn the_value_of_one_group_comes_from_its_merged_slices() {
        let estimate = quantile(&[vec![even(10), even(10)]], 0.9).expect("200 values");
        assert_eq!(estimate.value, 905.0);
    }

    #[test]
    fn deviations_of_a_slower_group_add_up_to_its_distance_from_the_mean() {
        let estimate = quantile(&[vec![even(10), even(10)], vec![even(12), even(12)]], 0.9)
            .expect("200 values each");
        assert!((estimate.value - (905.0 + 1086.0) / 2.0).abs() < 1e-9);
        let second: f64 = estimate.deviations[1].iter().sum();
        assert!((second - (1086.0 - 905.0) / 4.0).abs() < 1e-6);
    }

    #[test]
    fn a_block_with_more_values_above_the_quantile_has_a_positive_deviation() {
        let estimate = quantile(&[vec![even(10), even(12)]], 0.9).expect("200 values");
        let deviations = &estimate.deviations[0];
        assert!(deviations[1] > 0.0 && (deviations[0] + deviations[1]).abs() < 1e-9);
    }

    #[test]
    fn a_99th_percentile_needs_a_hundred_values() {
        let half = Counts::from_sorted(even(1).values().take(50));
        assert!(quantile(&[vec![half]], 0.99).is_none());
        assert!(quantile(&[vec![even(1)], vec![Counts::default()]], 0.5).is_none());
    }

    #[test]
    fn the_interval_is_open_where_too_little_lies_beyond() {
        let few = quantile(&[vec![even(1), even(1)]], 0.99).expect("200 values");
        assert_eq!(
            few.interval(0.95).map(|interval| interval.high),
            Some(f64::INFINITY)
        );
        let median = quantile(&[vec![even(1), even(1), even(1)]], 0.5).expect("300 values");
        let interval = median.interval(0.95).expect("three blocks");
        assert!(interval.low < 50.5 && 50.5 < interval.high && interval.high < 100.0);
    }
}
