//! How often each value was seen, with the precision of a histogram of three significant digits.

use std::borrow::Borrow;

/// The lowest value of each bucket that is not empty, ascending, with its count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts(Vec<(u64, u64)>);

impl Counts {
    /// Of values in ascending order, each with how often it was seen.
    pub(crate) fn of(values: impl IntoIterator<Item = (u64, u64)>) -> Counts {
        let mut of = Counts::default();
        for (value, count) in values {
            of.add(bucket(value), count);
        }
        of
    }

    /// Several together.
    pub(crate) fn sum(slices: &[impl Borrow<Counts>]) -> Counts {
        let mut all = slices
            .iter()
            .map(|it| &it.borrow().0[..])
            .collect::<Vec<_>>()
            .concat();
        // Each slice is in order already, which this sort makes use of.
        all.sort_by_key(|(bucket, _)| *bucket);
        let mut sum = Counts::default();
        for (bucket, count) in all {
            sum.add(bucket, count);
        }
        sum
    }

    /// The bucket must not be before the last one.
    fn add(&mut self, bucket: u64, count: u64) {
        match self.0.last_mut() {
            Some((last, sum)) if *last == bucket => *sum += count,
            _ if count > 0 => self.0.push((bucket, count)),
            _ => {}
        }
    }

    pub(crate) fn total(&self) -> u64 {
        self.values().map(|(_, count)| count).sum()
    }

    /// Each value once, ascending, with how often it was seen.
    pub(crate) fn values(&self) -> impl Iterator<Item = (u64, u64)> {
        self.0.iter().copied()
    }

    pub(crate) fn above(&self, limit: u64) -> u64 {
        self.above_limit(limit).iter().map(|(_, count)| count).sum()
    }

    /// The sum of those.
    pub(crate) fn sum_above(&self, limit: u64) -> u64 {
        let above = self.above_limit(limit).iter();
        above.map(|(value, count)| value * count).sum()
    }

    /// By how much all values together exceed the limit.
    pub(crate) fn beyond(&self, limit: u64) -> u64 {
        let above = self.above_limit(limit).iter();
        above.map(|(value, count)| (value - limit) * count).sum()
    }

    /// The sum of the squares of values, each of which counts as the limit at most.
    pub(crate) fn squares(&self, limit: u64) -> f64 {
        let squares = self.values();
        let squares =
            squares.map(|(value, count)| (value.min(limit) as f64).powi(2) * count as f64);
        squares.sum()
    }

    /// The least value that at most this share of all values exceeds. Zero without any.
    pub(crate) fn exceeded_by(&self, share: f64) -> u64 {
        let most = (share * self.total() as f64) as u64;
        let mut above = 0;
        let mut values = self.0.iter().rev();
        let limit = values.find(|(_, count)| {
            above += count;
            above > most
        });
        limit.map_or(0, |(value, _)| *value)
    }

    pub(super) fn at(&self, value: u64) -> u64 {
        let found = self
            .0
            .binary_search_by_key(&bucket(value), |(bucket, _)| *bucket);
        found.map_or(0, |at| self.0[at].1)
    }

    fn above_limit(&self, limit: u64) -> &[(u64, u64)] {
        let limit = bucket(limit);
        &self.0[self.0.partition_point(|(bucket, _)| *bucket <= limit)..]
    }
}

/// The lowest value of a value's bucket. A histogram of three significant digits keeps eleven bits.
fn bucket(value: u64) -> u64 {
    let lost = (u64::BITS - value.leading_zeros()).saturating_sub(11);
    value >> lost << lost
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use rand::{RngExt, SeedableRng, rngs::StdRng};

    use super::*;

    #[test]
    fn buckets_are_those_of_a_histogram() {
        let buckets = hdrhistogram::Histogram::<u64>::new(3).expect("three digits");
        let mut lowest = 0;
        for _ in 0..50_000 {
            let next = buckets.next_non_equivalent(lowest);
            assert_eq!((bucket(lowest), bucket(next - 1)), (lowest, lowest));
            lowest = next;
        }
    }

    #[test]
    fn counts_are_cut_at_a_limit() {
        let counts = Counts::of([(10, 3), (20, 0), (30, 1), (50, 4)]);
        assert_eq!(
            (counts.total(), counts.above(30), counts.sum_above(10)),
            (8, 4, 230)
        );
        assert_eq!((counts.above(9), counts.at(30), counts.at(20)), (8, 1, 0));
    }

    #[test]
    fn what_a_histogram_does_not_tell_apart_is_one() {
        let counts = Counts::of([(1 << 20, 2), ((1 << 20) + 1, 3), (1 << 21, 1)]);
        let values: Vec<_> = counts.values().collect();
        assert_eq!(values, [(1 << 20, 5), (1 << 21, 1)]);
    }

    #[test]
    fn sums_are_those_of_every_value_by_itself() {
        let mut rng = StdRng::seed_from_u64(11);
        let mut slice = || {
            let values = (0..3_000).map(|_| rng.random_range(0.0..20.0_f64).exp2() as u64);
            let mut values: Vec<u64> = values.collect();
            values.sort_unstable();
            Counts::of(values.into_iter().map(|value| (value, value % 7)))
        };
        let mut expected = BTreeMap::new();
        let slices: [Counts; 5] = std::array::from_fn(|_| slice());
        for (value, count) in slices.iter().flat_map(Counts::values) {
            *expected.entry(value).or_default() += count;
        }
        assert_eq!(Counts::sum(&slices), Counts::of(expected));
        assert_eq!(Counts::sum(&slices[..0]), Counts::default());
    }
}
