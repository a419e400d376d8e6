//! Quantiles of values that were stored as counts, smoothed between neighbouring values.

use std::{borrow::Borrow, cell::RefCell, cmp::Ordering};

use super::uncertain::Interval;

/// Each value seen, ascending, with how often it was.
pub(crate) type Counts = Vec<(u64, u64)>;

/// At each value the share of all that lies below it, its own half included (the mid-distribution),
/// and straight lines between. Without those a quantile would jump from bucket to bucket, and how
/// uncertain it is could not be told from its neighbourhood.
#[derive(Clone, Debug)]
pub(crate) struct Histogram {
    values: Vec<u64>,
    shares: Vec<f64>,
    total: u64,
}

/// Between two neighbouring values: `weight` of the way up.
pub(super) struct Position {
    lower: u64,
    upper: u64,
    weight: f64,
}

impl Histogram {
    /// Of several together. None where nothing was counted.
    pub(crate) fn merged(slices: &[impl Borrow<[(u64, u64)]>]) -> Option<Histogram> {
        Histogram::of(&added_up(slices))
    }

    /// None where nothing was counted.
    pub(super) fn of(counts: &[(u64, u64)]) -> Option<Histogram> {
        let total: u64 = counts.iter().map(|(_, count)| count).sum();
        let mut below = 0;
        let mut share = |count: u64| {
            below += count;
            (below as f64 - count as f64 / 2.0) / total as f64
        };
        (total > 0).then(|| Histogram {
            shares: counts.iter().map(|(_, count)| share(*count)).collect(),
            values: counts.iter().map(|(value, _)| *value).collect(),
            total,
        })
    }

    pub(crate) fn total(&self) -> f64 {
        self.total as f64
    }

    /// Where this share of all lies below. Beyond the outermost values it is those.
    pub(super) fn position(&self, share: f64) -> Position {
        let next = self.shares.partition_point(|below| *below < share);
        let upper = next.min(self.values.len() - 1);
        let lower = next.saturating_sub(1);
        let apart = self.shares[upper] - self.shares[lower];
        Position {
            lower: self.values[lower],
            upper: self.values[upper],
            weight: if apart > 0.0 {
                (share - self.shares[lower]) / apart
            } else {
                0.0
            },
        }
    }

    pub(crate) fn quantile(&self, share: f64) -> f64 {
        self.position(share).value()
    }

    /// How steep the quantiles are about `share`: the value gained by share gained, over a margin to
    /// either side.
    pub(super) fn slope(&self, share: f64, margin: f64) -> f64 {
        let (first, last) = (self.shares[0], self.shares[self.shares.len() - 1]);
        let low = (share - margin).clamp(first, last);
        let high = (share + margin).clamp(first, last);
        if high > low {
            (self.quantile(high) - self.quantile(low)) / (high - low)
        } else {
            0.0
        }
    }

    /// The quantiles a margin to either side. What lies beyond the largest value is not known.
    pub(super) fn interval(&self, share: f64, margin: f64) -> Interval {
        let is_seen = share + margin <= self.shares[self.shares.len() - 1];
        let is_seen_below = share - margin >= self.shares[0];
        Interval {
            low: if is_seen_below {
                self.quantile(share - margin)
            } else {
                0.0
            },
            high: if is_seen {
                self.quantile(share + margin)
            } else {
                f64::INFINITY
            },
        }
    }
}

/// Each value once, without those that were not seen. Slices have theirs in ascending order.
pub(crate) fn added_up(slices: &[impl Borrow<[(u64, u64)]>]) -> Counts {
    match slices {
        [] => Counts::new(),
        [one] => {
            let seen = one.borrow().iter().filter(|(_, count)| *count > 0);
            seen.copied().collect()
        }
        _ => added_by_place(slices).unwrap_or_else(|| {
            // By halves: what they share is there once afterwards, so that sums stay short.
            let (one, other) = slices.split_at(slices.len() / 2);
            added(&added_up(one), &added_up(other))
        }),
    }
}

/// With a place for every value that may be there, which takes a step for each that is. None where it
/// would mostly walk over empty places, or where a value is not the one of its place.
fn added_by_place(slices: &[impl Borrow<[(u64, u64)]>]) -> Option<Counts> {
    const EMPTY_FOR_ONE: usize = 4;
    let seen: usize = slices.iter().map(|slice| slice.borrow().len()).sum();
    let ends = slices.iter().filter_map(|slice| {
        let slice = slice.borrow();
        Some((place(slice.first()?.0)?, place(slice.last()?.0)?))
    });
    let (first, last) = ends.reduce(|one, other| (one.0.min(other.0), one.1.max(other.1)))?;
    if last - first > seen * EMPTY_FOR_ONE {
        return None;
    }
    let mut scratch = SCRATCH.take();
    let counts = scratch.added_up(slices, first, last);
    SCRATCH.set(scratch);
    counts
}

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

/// Memory that is used again and again, since to clear it would take as long as to add up.
#[derive(Default)]
struct Scratch {
    /// How often each value was seen, by place; zeros between uses.
    places: Vec<u64>,
    seen: Counts,
}

impl Scratch {
    /// All values have their places from `first` to `last`, if they have places.
    fn added_up(
        &mut self,
        slices: &[impl Borrow<[(u64, u64)]>],
        first: usize,
        last: usize,
    ) -> Option<Counts> {
        let needed = last - first + 1;
        if self.places.len() < needed {
            self.places.resize(needed, 0);
            self.seen.resize(needed, (0, 0));
        }
        let places = &mut self.places[..needed];
        for (value, count) in slices.iter().flat_map(|slice| slice.borrow()) {
            let Some(place) = place(*value).and_then(|place| places.get_mut(place - first)) else {
                places.fill(0);
                return None;
            };
            *place += count;
        }
        // Which are empty cannot be foreseen, so each is written, over the one before if that was.
        let mut next = 0;
        for (place, count) in (first..).zip(places) {
            self.seen[next] = (value(place), *count);
            next += usize::from(*count > 0);
            *count = 0;
        }
        Some(self.seen[..next].to_vec())
    }
}

/// Histograms of three significant digits know a value by its eleven highest bits.
const KNOWN_BITS: u32 = 11;

/// Ascending with values, and one for each of those that such histograms have. None for another.
fn place(value: u64) -> Option<usize> {
    let unknown = (u64::BITS - value.leading_zeros()).saturating_sub(KNOWN_BITS);
    let known = value >> unknown;
    (known << unknown == value).then_some(((unknown as usize) << (KNOWN_BITS - 1)) + known as usize)
}

/// The one of a place.
fn value(place: usize) -> u64 {
    let unknown = (place >> (KNOWN_BITS - 1)).saturating_sub(1);
    ((place - (unknown << (KNOWN_BITS - 1))) as u64) << unknown
}

fn added(mut one: &[(u64, u64)], mut other: &[(u64, u64)]) -> Counts {
    let mut sum = Counts::with_capacity(one.len() + other.len());
    while let ([first, of_one @ ..], [second, of_other @ ..]) = (one, other) {
        match first.0.cmp(&second.0) {
            Ordering::Less => {
                sum.push(*first);
                one = of_one;
            }
            Ordering::Greater => {
                sum.push(*second);
                other = of_other;
            }
            Ordering::Equal => {
                sum.push((first.0, first.1 + second.1));
                (one, other) = (of_one, of_other);
            }
        }
    }
    sum.extend_from_slice(one);
    sum.extend_from_slice(other);
    sum
}

impl Position {
    pub(super) fn value(&self) -> f64 {
        self.lower as f64 + self.weight * (self.upper as f64 - self.lower as f64)
    }

    /// How many of these counts lie above.
    pub(super) fn count_above(&self, counts: &[(u64, u64)]) -> f64 {
        self.weight * above(counts, self.upper) + (1.0 - self.weight) * above(counts, self.lower)
    }
}

/// Half of those at the value itself included.
fn above(counts: &[(u64, u64)], value: u64) -> f64 {
    let upwards = &counts[counts.partition_point(|(of, _)| *of < value)..];
    let all: u64 = upwards.iter().map(|(_, count)| count).sum();
    let here = upwards
        .first()
        .filter(|(of, _)| *of == value)
        .map_or(0, |(_, count)| *count);
    all as f64 - here as f64 / 2.0
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use rand::{RngExt, SeedableRng, rngs::StdRng};

    use super::*;

    fn histogram(counts: &[(u64, u64)]) -> Histogram {
        Histogram::merged(&[counts.to_vec()]).expect("something was counted")
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
    fn slices_are_merged_and_empty_ones_are_nothing() {
        let slices = [vec![(1, 2), (5, 1)], vec![], vec![(5, 1), (7, 0)]];
        let merged = Histogram::merged(&slices).expect("something was counted");
        assert_eq!(
            (merged.values.as_slice(), merged.total),
            ([1, 5].as_slice(), 4)
        );
        assert!(Histogram::merged(&[vec![], vec![(3, 0)]]).is_none());
    }

    #[test]
    fn sums_by_place_are_those_of_every_value_by_itself() {
        let mut rng = StdRng::seed_from_u64(11);
        let buckets = hdrhistogram::Histogram::<u64>::new(3).expect("three digits");
        let mut slice = || {
            let mut values: Vec<u64> = (0..3_000)
                .map(|_| rng.random_range(0.0..20.0_f64).exp2() as u64)
                .map(|value| buckets.lowest_equivalent(value))
                .collect();
            values.sort_unstable();
            values.dedup();
            values.into_iter().map(|value| (value, value % 7)).collect()
        };
        let slices: [Counts; 5] = std::array::from_fn(|_| slice());
        let mut expected = BTreeMap::new();
        for (value, count) in slices.iter().flatten().filter(|(_, count)| *count > 0) {
            *expected.entry(*value).or_default() += count;
        }
        let expected: Counts = expected.into_iter().collect();
        assert_eq!(added_by_place(&slices).as_ref(), Some(&expected));
        assert_eq!(added_up(&slices), expected);
    }

    #[test]
    fn values_that_no_histogram_has_are_told_apart() {
        let near = [1 << 20, (1 << 20) + 1].map(|value| vec![(value, 2)]);
        assert_eq!(added_by_place(&near), None);
        assert_eq!(added_up(&near), [(1 << 20, 2), ((1 << 20) + 1, 2)]);
    }

    #[test]
    fn a_place_for_every_value_of_a_histogram_and_one_after_the_other() {
        let buckets = hdrhistogram::Histogram::<u64>::new(3).expect("three digits");
        let mut next = 0;
        for at in 0..100_000 {
            let place = place(next);
            assert_eq!(place.map(value), Some(next));
            assert_eq!(place, Some(at), "{next}");
            next = buckets.next_non_equivalent(next);
            if next > u64::MAX / 4 {
                break;
            }
        }
    }

    #[test]
    fn just_the_share_asked_for_lies_below_a_position() {
        let counts = vec![(1, 5), (2, 50), (3, 30), (8, 15)];
        let position = histogram(&counts).position(0.9);
        assert!((position.count_above(&counts) - 10.0).abs() < 1e-9);
    }

    #[test]
    fn an_end_beyond_what_was_seen_is_open() {
        let histogram = histogram(&[(10, 1), (20, 1), (30, 1), (40, 1)]);
        assert_eq!(histogram.interval(0.75, 0.2).high, f64::INFINITY);
        assert_eq!(histogram.interval(0.25, 0.2).low, 0.0);
        assert!(histogram.interval(0.5, 0.2).high.is_finite());
    }
}
