//! How often each value was seen, with the precision of a histogram of three significant digits: the value's
//! eleven highest bits. Each of those values has a number, its place. Counts are kept by place, as in the
//! format of histograms, because places make sums fast.

use std::{borrow::Borrow, cell::RefCell};

/// Places ascend, and none is there twice or with a count of zero.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    places: Vec<u32>,
    counts: Vec<u64>,
}

impl Counts {
    /// Of values in ascending order, each with how often it was seen. Values with the same place become one.
    pub(crate) fn of(values: impl IntoIterator<Item = (u64, u64)>) -> Counts {
        let mut of = Counts::default();
        for (value, count) in values {
            of.add(place(value), count);
        }
        of
    }

    /// Of places that ascend, none of which has a count of zero.
    pub(crate) fn at_places(places: &[u32], counts: &[u64]) -> Counts {
        Counts {
            places: places.to_vec(),
            counts: counts.to_vec(),
        }
    }

    /// Several together.
    pub(crate) fn sum(slices: &[impl Borrow<Counts>]) -> Counts {
        match slices {
            [one] => one.borrow().clone(),
            _ => Counts::sum_by_place(slices).unwrap_or_else(|| Counts::sum_by_sorting(slices)),
        }
    }

    /// The place must not be before the last one.
    fn add(&mut self, place: u32, count: u64) {
        match (self.places.last(), self.counts.last_mut()) {
            (Some(last), Some(sum)) if *last == place => *sum += count,
            _ if count > 0 => {
                self.places.push(place);
                self.counts.push(count);
            }
            _ => {}
        }
    }

    pub(crate) fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Each value once, ascending, with how often it was seen.
    pub(crate) fn values(&self) -> impl Iterator<Item = (u64, u64)> {
        let values = self.places.iter().map(|place| value(*place));
        values.zip(self.counts.iter().copied())
    }

    /// The number of values above the bucket of `limit`.
    pub(crate) fn above(&self, limit: u64) -> u64 {
        self.counts[self.first_above(limit)..].iter().sum()
    }

    /// The sum of those.
    pub(crate) fn sum_above(&self, limit: u64) -> u64 {
        let first = self.first_above(limit);
        let above = self.places[first..].iter().zip(&self.counts[first..]);
        above.map(|(place, count)| value(*place) * count).sum()
    }

    /// The number of values in the bucket of `value`.
    pub(super) fn at(&self, value: u64) -> u64 {
        let found = self.places.binary_search(&place(value));
        found.map_or(0, |at| self.counts[at])
    }

    fn first_above(&self, limit: u64) -> usize {
        let limit = place(limit);
        self.places.partition_point(|place| *place <= limit)
    }

    /// With a sum for every place between the outermost, which takes a step for each of them. None if most of
    /// them are empty.
    fn sum_by_place(slices: &[impl Borrow<Counts>]) -> Option<Counts> {
        const EMPTY_FOR_ONE: usize = 4;
        let slices = || slices.iter().map(Borrow::borrow);
        let seen: usize = slices().map(|slice| slice.places.len()).sum();
        let ends = slices().filter_map(|of| Some((*of.places.first()?, *of.places.last()?)));
        let (first, last) = ends.reduce(|one, other| (one.0.min(other.0), one.1.max(other.1)))?;
        if (last - first) as usize > seen * EMPTY_FOR_ONE {
            return None;
        }
        Some(SUMS.with_borrow_mut(|sums| sums.of(slices(), first, last)))
    }

    fn sum_by_sorting(slices: &[impl Borrow<Counts>]) -> Counts {
        let slices = slices.iter().map(Borrow::borrow);
        let all = slices.flat_map(|of| of.places.iter().copied().zip(of.counts.iter().copied()));
        let mut all: Vec<(u32, u64)> = all.collect();
        all.sort_unstable_by_key(|(place, _)| *place);
        let mut sum = Counts::default();
        for (place, count) in all {
            sum.add(place, count);
        }
        sum
    }
}

thread_local! {
    static SUMS: RefCell<PlaceSums> = RefCell::default();
}

/// Memory that is kept between uses, since clearing it would take as long as the sum itself.
#[derive(Default)]
struct PlaceSums {
    /// By place; zeros between uses.
    by_place: Vec<u64>,
    /// The places that are not zero.
    seen: Counts,
}

impl PlaceSums {
    /// Of slices whose places all lie from `first` to `last`.
    fn of<'a>(
        &mut self,
        slices: impl Iterator<Item = &'a Counts>,
        first: u32,
        last: u32,
    ) -> Counts {
        let needed = (last - first) as usize + 1;
        if self.by_place.len() < needed {
            self.by_place.resize(needed, 0);
            self.seen.places.resize(needed, 0);
            self.seen.counts.resize(needed, 0);
        }
        let sums = &mut self.by_place[..needed];
        for slice in slices {
            for (place, count) in slice.places.iter().zip(&slice.counts) {
                sums[(place - first) as usize] += count;
            }
        }
        // A branch on zero would be hard to predict, so each sum is written, over the one before if that was zero.
        let mut next = 0;
        for (place, sum) in (first..).zip(sums) {
            self.seen.places[next] = place;
            self.seen.counts[next] = *sum;
            next += usize::from(*sum > 0);
            *sum = 0;
        }
        Counts::at_places(&self.seen.places[..next], &self.seen.counts[..next])
    }
}

/// The bits of a value that a histogram of three significant digits keeps.
const KNOWN_BITS: u32 = 11;

/// The number of places.
pub(crate) const PLACES: u32 = place(u64::MAX) + 1;

/// The place of a value.
const fn place(value: u64) -> u32 {
    let unknown = (u64::BITS - value.leading_zeros()).saturating_sub(KNOWN_BITS);
    (unknown << (KNOWN_BITS - 1)) + (value >> unknown) as u32
}

/// The lowest value with this place.
fn value(place: u32) -> u64 {
    let unknown = (place >> (KNOWN_BITS - 1)).saturating_sub(1);
    u64::from(place - (unknown << (KNOWN_BITS - 1))) << unknown
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use rand::{RngExt, SeedableRng, rngs::StdRng};

    use super::*;

    #[test]
    fn a_place_for_every_value_of_a_histogram_and_one_after_the_other() {
        let buckets = hdrhistogram::Histogram::<u64>::new(3).expect("three digits");
        let mut next = 0;
        for at in 0..50_000 {
            assert_eq!((place(next), value(at)), (at, next));
            let after = buckets.next_non_equivalent(next);
            assert_eq!(place(after - 1), at, "the last of those not told apart");
            next = after;
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
        let expected = Counts::of(expected);
        assert_eq!(Counts::sum_by_place(&slices).as_ref(), Some(&expected));
        assert_eq!(Counts::sum_by_sorting(&slices), expected);
        assert_eq!(Counts::sum(&slices), expected);
    }

    #[test]
    fn a_few_far_apart_and_none_at_all_are_added_up_too() {
        let far = [1_u64, 1 << 50].map(|value| Counts::of([(value, 2)]));
        assert_eq!(Counts::sum_by_place(&far), None);
        let sum: Vec<_> = Counts::sum(&far).values().collect();
        assert_eq!(sum, [(1, 2), (1 << 50, 2)]);
        let none = [Counts::default(), Counts::default()];
        assert_eq!(Counts::sum(&none), Counts::default());
        assert_eq!(Counts::sum(&none[..0]), Counts::default());
    }
}
