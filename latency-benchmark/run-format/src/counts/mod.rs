//! Counts how often each value was seen, with the precision of a histogram of three significant digits. Reports add up and
//! cut hundreds of thousands of these. Therefore this package is compiled with optimisation, and `analysis`, which is
//! large, without it.

mod decode;

pub use self::decode::{decode, inflated};

/// The lowest value of each bucket that is not empty, ascending, with its count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts(Vec<(u64, u64)>);

impl Counts {
    pub const EMPTY: Counts = Counts(Vec::new());

    /// Takes values in ascending order, each with how often it was seen.
    pub fn from_sorted(values: impl IntoIterator<Item = (u64, u64)>) -> Counts {
        let mut counts = Counts::default();
        for (value, count) in values {
            counts.add(bucket(value), count);
        }
        counts
    }

    /// Adds up counts. It is not generic, because generic code would be compiled in the caller, without optimisation.
    pub fn sum(slices: &[&Counts]) -> Counts {
        let slices: Vec<&[_]> = slices.iter().map(|slice| &slice.0[..]).collect();
        let mut all = slices.concat();
        // Each slice is in order already, which this sort makes use of.
        all.sort_by_key(|(bucket, _)| *bucket);
        Counts::from_sorted(all)
    }

    /// Subtracts `floor` from every value. A smaller value becomes zero.
    pub fn less(self, floor: u64) -> Counts {
        if floor == 0 {
            return self;
        }
        let values = self.values();
        Counts::from_sorted(values.map(|(value, count)| (value.saturating_sub(floor), count)))
    }

    /// Adds to the last bucket, or adds a bucket after it.
    fn add(&mut self, bucket: u64, count: u64) {
        match self.0.last_mut() {
            Some((last, sum)) if *last == bucket => *sum += count,
            _ if count > 0 => self.0.push((bucket, count)),
            _ => {}
        }
    }

    pub fn total(&self) -> u64 {
        self.values().map(|(_, count)| count).sum()
    }

    /// Each value once, ascending, with how often it was seen.
    pub fn values(&self) -> impl Iterator<Item = (u64, u64)> {
        self.0.iter().copied()
    }

    pub fn above(&self, limit: u64) -> u64 {
        self.above_limit(limit).iter().map(|(_, count)| count).sum()
    }

    pub fn sum_above(&self, limit: u64) -> u64 {
        let above = self.above_limit(limit).iter();
        above.map(|(value, count)| value * count).sum()
    }

    /// The sum of what remains of each value above the limit after the limit is subtracted.
    pub fn beyond(&self, limit: u64) -> u64 {
        let above = self.above_limit(limit).iter();
        above.map(|(value, count)| (value - limit) * count).sum()
    }

    pub fn at(&self, value: u64) -> u64 {
        let value = bucket(value);
        let found = self.0.binary_search_by_key(&value, |(bucket, _)| *bucket);
        found.map_or(0, |index| self.0[index].1)
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

    use rand::rngs::StdRng;
    use rand::{RngExt, SeedableRng};

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
        let counts = Counts::from_sorted([(10, 3), (20, 0), (30, 1), (50, 4)]);
        assert_eq!(
            (counts.total(), counts.above(30), counts.sum_above(10)),
            (8, 4, 230)
        );
        assert_eq!((counts.above(9), counts.at(30), counts.at(20)), (8, 1, 0));
    }

    /// Late wake-ups of a simulated central whose worker polls for this share of the time: as many as waited for a poll for
    /// longer than 50 µs, as the threshold alone counts them, and above the floor.
    fn late(busy: f64, poll_us: f64, rng: &mut StdRng) -> [f64; 3] {
        const WAKES: u32 = 100_000;
        const LIMIT: u64 = 50_000;
        // A sleeping core needs 38 µs in the median, and more than 70 µs once in a hundred times.
        let awaken = |rng: &mut StdRng| {
            let normal: f64 = (0..12).map(|_| rng.random::<f64>()).sum::<f64>() - 6.0;
            (38_000.0 * (0.26 * normal).exp()) as u64
        };
        let mut idle: Vec<u64> = (0..250).map(|_| awaken(rng)).collect();
        idle.sort_unstable();
        let floor = idle[(idle.len() - 1) / 2];
        let mut truth = 0;
        let waits = (0..WAKES).map(|_| match rng.random_bool(busy) {
            true => {
                let rest = (-rng.random::<f64>().ln() * poll_us * 1e3) as u64;
                truth += u32::from(rest > LIMIT);
                rest
            }
            false => awaken(rng),
        });
        let waits = counted(waits.collect());
        let plain = waits.above(LIMIT) as f64;
        let above_floor = waits.less(floor).above(LIMIT) as f64;
        [f64::from(truth), plain, above_floor].map(|count| 100.0 * count / f64::from(WAKES))
    }

    /// `-- --nocapture` prints the table of METHODS.md.
    #[test]
    fn late_wake_ups_above_the_floor_are_never_more_than_there_are() {
        let mut rng = StdRng::seed_from_u64(31);
        for busy in [0.05, 0.3, 0.6, 0.95] {
            for poll_us in [20.0, 100.0, 400.0] {
                let [truth, plain, above_floor] = late(busy, poll_us, &mut rng);
                println!("| {busy} | {poll_us} | {truth:.1} | {plain:.1} | {above_floor:.1} |");
                // The hundredth part is the core that took longest to wake up.
                assert!(above_floor <= truth + 1.0 - busy, "{truth} {above_floor}");
                assert!(plain >= truth);
            }
        }
    }

    /// Cuts each of the durations into so many pieces at random places.
    fn cut(durations: &[u64], rng: &mut StdRng) -> Vec<u64> {
        let pieces = |whole: &u64| {
            let mut ends: Vec<u64> = (0..rng.random_range(0..5))
                .map(|_| rng.random_range(0..=*whole))
                .chain([0, *whole])
                .collect();
            ends.sort_unstable();
            ends.windows(2)
                .map(|pair| pair[1] - pair[0])
                .collect::<Vec<u64>>()
        };
        durations.iter().flat_map(pieces).collect()
    }

    fn counted(mut durations: Vec<u64>) -> Counts {
        durations.sort_unstable();
        Counts::from_sorted(durations.into_iter().map(|duration| (duration, 1)))
    }

    /// This is why a bound cannot fool the time beyond a threshold. The number of polls over the threshold rises in some of
    /// these cases, and their share falls in others.
    #[test]
    fn cutting_polls_never_raises_the_time_beyond_and_short_polls_never_lower_it() {
        const THRESHOLD: u64 = 50_000;
        let mut rng = StdRng::seed_from_u64(5);
        let (mut more_slow, mut lower_share) = (0, 0);
        for _ in 0..500 {
            let durations: Vec<u64> = (0..200)
                .map(|_| rng.random_range(10.0..21.0_f64).exp2() as u64)
                .collect();
            let whole = counted(durations.clone());
            let pieces = counted(cut(&durations, &mut rng));
            // A bucket keeps the lower end of a duration, which is up to a thousandth less.
            let rounding = durations.iter().sum::<u64>() / 1024;
            assert!(pieces.beyond(THRESHOLD) <= whole.beyond(THRESHOLD) + rounding);
            more_slow += u64::from(pieces.above(THRESHOLD) > whole.above(THRESHOLD));
            let short = (0..300).map(|_| rng.random_range(0..THRESHOLD / 2));
            let with_short = counted(durations.into_iter().chain(short).collect());
            assert_eq!(with_short.beyond(THRESHOLD), whole.beyond(THRESHOLD));
            let share = |counts: &Counts| counts.above(THRESHOLD) as f64 / counts.total() as f64;
            lower_share += u64::from(share(&with_short) < share(&whole));
        }
        assert!(
            more_slow > 100 && lower_share > 400,
            "{more_slow} {lower_share}"
        );
    }

    #[test]
    fn the_time_beyond_changes_smoothly_with_the_threshold() {
        let counts = counted((0..1000).map(|step| 40_000 + 97 * step).collect());
        let number = counts.total();
        for threshold in (30_000..150_000).step_by(1000) {
            let step = counts.beyond(threshold) - counts.beyond(threshold + 1000);
            assert!(step <= 1000 * number, "{threshold}: {step}");
        }
    }

    #[test]
    fn what_a_histogram_does_not_tell_apart_is_one() {
        let counts = Counts::from_sorted([(1 << 20, 2), ((1 << 20) + 1, 3), (1 << 21, 1)]);
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
            Counts::from_sorted(values.into_iter().map(|value| (value, value % 7)))
        };
        let mut expected = BTreeMap::new();
        let slices: [Counts; 5] = std::array::from_fn(|_| slice());
        for (value, count) in slices.iter().flat_map(Counts::values) {
            *expected.entry(value).or_default() += count;
        }
        assert_eq!(
            Counts::sum(&slices.each_ref()),
            Counts::from_sorted(expected)
        );
        assert_eq!(Counts::sum(&[]), Counts::default());
    }
}
