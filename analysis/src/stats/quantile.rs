//! A quantile of durations, as the 99th percentile of how long a poll takes.

use super::{
    Slices,
    estimate::{Ends, Estimate},
    histogram::{Counts, Histogram},
    variance::within,
};

/// The `q`-quantile of a launch, on average over launches. None where a run has not even one value
/// that is expected beyond it.
pub(crate) fn quantile(slices: &Slices<Counts>, q: f64) -> Option<Estimate> {
    let runs: Vec<RunQuantile> = slices
        .iter()
        .map(|run| RunQuantile::of(run, q))
        .collect::<Option<_>>()?;
    let count = runs.len() as f64;
    let value = runs.iter().map(|run| run.value).sum::<f64>() / count;
    // What sets a run apart belongs to all of its blocks.
    let by_block = |run: &RunQuantile| {
        let apart = (run.value - value) / run.deviations.len() as f64;
        run.deviations
            .iter()
            .map(|deviation| (deviation + apart) / count)
            .collect()
    };
    Some(Estimate {
        value,
        deviations: runs.iter().map(by_block).collect(),
        floor: runs.iter().map(|run| run.floor).sum::<f64>() / count.powi(2),
        ends: runs.into_iter().next()?.ends(q),
    })
}

/// The quantile of one run, in units of value.
struct RunQuantile {
    value: f64,
    deviations: Vec<f64>,
    floor: f64,
    histogram: Histogram,
    slope: f64,
}

impl RunQuantile {
    fn of(blocks: &[Counts], q: f64) -> Option<RunQuantile> {
        let histogram = Histogram::merged(blocks)?;
        let total = histogram.total();
        if total * q.min(1.0 - q) < 1.0 {
            return None;
        }
        let position = histogram.position(q);
        // Blocks disagree about how much lies above, which is a ratio of counts as any other.
        let above = |of: &Counts| (position.count_above(of) - (1.0 - q) * count(of)) / total;
        let shares: Vec<f64> = blocks.iter().map(above).collect();
        let by_chance = q * (1.0 - q) / total;
        // From share to value by how steep the quantiles are within one standard error (Woodruff).
        let variance =
            within(std::slice::from_ref(&shares)).map_or(by_chance, |of| of.value.max(by_chance));
        let slope = histogram.slope(q, variance.sqrt());
        Some(RunQuantile {
            value: position.value(),
            deviations: shares.iter().map(|share| share * slope).collect(),
            floor: by_chance * slope.powi(2),
            histogram,
            slope,
        })
    }

    fn ends(self, q: f64) -> Ends {
        Ends::Inverted {
            histogram: self.histogram,
            share: q,
            slope: self.slope,
        }
    }
}

fn count(counts: &Counts) -> f64 {
    counts.iter().map(|(_, count)| *count as f64).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1 to 100 times a scale, each once.
    fn even(scale: u64) -> Counts {
        (1..=100).map(|value| (value * scale, 1)).collect()
    }

    #[test]
    fn the_value_of_one_run_is_that_of_its_merged_slices() {
        let estimate = quantile(&[vec![even(10), even(10)]], 0.9).expect("200 values");
        assert_eq!(estimate.value, 905.0);
    }

    #[test]
    fn a_run_that_is_slower_is_that_much_off_the_mean_of_runs() {
        let estimate = quantile(&[vec![even(10), even(10)], vec![even(12), even(12)]], 0.9)
            .expect("200 values each");
        assert!((estimate.value - (905.0 + 1086.0) / 2.0).abs() < 1e-9);
        let second: f64 = estimate.deviations[1].iter().sum();
        assert!((second - (1086.0 - 905.0) / 4.0).abs() < 1e-6);
    }

    #[test]
    fn a_block_with_more_above_drives_the_quantile_up() {
        let estimate = quantile(&[vec![even(10), even(12)]], 0.9).expect("200 values");
        let deviations = &estimate.deviations[0];
        assert!(deviations[1] > 0.0 && (deviations[0] + deviations[1]).abs() < 1e-9);
    }

    #[test]
    fn a_percentile_of_fewer_values_than_a_hundred_was_not_measured() {
        let half: Counts = even(1).into_iter().take(50).collect();
        assert!(quantile(&[vec![half]], 0.99).is_none());
        assert!(quantile(&[vec![even(1)], vec![vec![]]], 0.5).is_none());
    }

    #[test]
    fn the_interval_is_open_where_too_little_lies_beyond() {
        let few = quantile(&[vec![even(1), even(1)]], 0.99).expect("200 values");
        assert_eq!(few.interval(0.95).map(|of| of.high), Some(f64::INFINITY));
        let median = quantile(&[vec![even(1), even(1), even(1)]], 0.5).expect("300 values");
        let interval = median.interval(0.95).expect("three blocks");
        assert!(interval.low < 50.5 && 50.5 < interval.high && interval.high < 100.0);
    }
}
