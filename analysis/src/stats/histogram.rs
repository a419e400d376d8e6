//! Quantiles of counted values, interpolated between neighbouring values.

use run_format::counts::Counts;

use super::quotient;
use super::variance::Interval;

/// The mid-distribution of counted values: for each value the share of all that lies below it, including half of those at the
/// value itself. Straight lines lead from value to value. Without them a quantile would jump from bucket to bucket, and its
/// neighbourhood would not show its uncertainty.
#[derive(Clone, Debug)]
pub(crate) struct Histogram {
    values: Vec<u64>,
    shares: Vec<f64>,
    pub(super) total: f64,
}

/// A place between two neighbouring values, at `weight` of the way up.
pub(super) struct Position {
    lower: u64,
    upper: u64,
    weight: f64,
}

impl Histogram {
    pub(super) fn from_counts(counts: &Counts) -> Option<Histogram> {
        let total = counts.total();
        let mut below = 0;
        let mut share = |count: u64| {
            below += count;
            (below as f64 - count as f64 / 2.0) / total as f64
        };
        (total > 0).then(|| Histogram {
            shares: counts.values().map(|(_, count)| share(count)).collect(),
            values: counts.values().map(|(value, _)| value).collect(),
            total: total as f64,
        })
    }

    /// The position below which this share of all lies. It is not beyond the outermost values.
    pub(super) fn position(&self, share: f64) -> Position {
        let next = self.shares.partition_point(|below| *below < share);
        let upper = next.min(self.values.len() - 1);
        let lower = next.saturating_sub(1);
        let apart = self.shares[upper] - self.shares[lower];
        Position {
            lower: self.values[lower],
            upper: self.values[upper],
            weight: quotient(share - self.shares[lower], apart).unwrap_or(0.0),
        }
    }

    pub(crate) fn quantile(&self, share: f64) -> f64 {
        self.position(share).value()
    }

    /// The slope of the quantiles around `share`: the difference in value over the difference in share, between a margin below
    /// and a margin above.
    pub(super) fn slope(&self, share: f64, margin: f64) -> f64 {
        let (first, last) = (self.shares[0], self.shares[self.shares.len() - 1]);
        let low = (share - margin).clamp(first, last);
        let high = (share + margin).clamp(first, last);
        quotient(self.quantile(high) - self.quantile(low), high - low).unwrap_or(0.0)
    }

    /// The quantiles a margin below and a margin above `share`. An end beyond the largest value is infinite.
    pub(super) fn interval(&self, share: f64, margin: f64) -> Interval {
        let (lower, upper) = (share - margin, share + margin);
        let low = (lower >= self.shares[0]).then(|| self.quantile(lower));
        let is_seen = upper <= self.shares[self.shares.len() - 1];
        let high = is_seen.then(|| self.quantile(upper));
        Interval::new(low.unwrap_or(0.0), high.unwrap_or(f64::INFINITY))
    }
}

impl Position {
    pub(super) fn value(&self) -> f64 {
        self.lower as f64 + self.weight * (self.upper as f64 - self.lower as f64)
    }

    pub(super) fn count_above(&self, counts: &Counts) -> f64 {
        self.weight * above(counts, self.upper) + (1.0 - self.weight) * above(counts, self.lower)
    }
}

/// The number above a value, including half of those at the value itself.
fn above(counts: &Counts, value: u64) -> f64 {
    counts.above(value) as f64 + counts.at(value) as f64 / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn histogram(counts: &[(u64, u64)]) -> Histogram {
        Histogram::from_counts(&Counts::from_sorted(counts.iter().copied()))
            .expect("something was counted")
    }

    #[test]
    fn quantiles_of_single_values_lie_on_lines_between_them() {
        let histogram = histogram(&[(10, 1), (20, 1), (30, 1), (40, 1)]);
        assert_eq!(histogram.quantile(0.5), 25.0);
        assert_eq!(histogram.quantile(0.125), 10.0);
        assert_eq!(
            (histogram.quantile(0.0), histogram.quantile(1.0)),
            (10.0, 40.0)
        );
        assert!((histogram.slope(0.5, 0.25) - 40.0).abs() < 1e-9);
    }

    #[test]
    fn slices_are_merged_and_empty_ones_add_nothing() {
        let slices = [vec![(1, 2), (5, 1)], vec![], vec![(5, 1), (7, 0)]].map(Counts::from_sorted);
        let merged = Histogram::from_counts(&Counts::sum(&slices.each_ref()))
            .expect("something was counted");
        assert_eq!(
            (merged.values.as_slice(), merged.total),
            ([1, 5].as_slice(), 4.0)
        );
        assert!(Histogram::from_counts(&Counts::from_sorted([(3, 0)])).is_none());
    }

    #[test]
    fn the_rest_of_the_share_lies_above_a_position() {
        let counts = [(1, 5), (2, 50), (3, 30), (8, 15)];
        let position = histogram(&counts).position(0.9);
        assert!((position.count_above(&Counts::from_sorted(counts)) - 10.0).abs() < 1e-9);
    }

    #[test]
    fn an_end_beyond_what_was_seen_is_open() {
        let histogram = histogram(&[(10, 1), (20, 1), (30, 1), (40, 1)]);
        assert_eq!(histogram.interval(0.75, 0.2).high, f64::INFINITY);
        assert_eq!(histogram.interval(0.25, 0.2).low, 0.0);
        assert!(histogram.interval(0.5, 0.2).high.is_finite());
    }
}
