//! Histograms as the format has them, in which a stretch of empty buckets is one number. Of eleven thousand
//! buckets of a slice's histogram a few hundred are not empty, so to lay all of them out and walk over them
//! takes many times as long as to read what is there.

use std::collections::{HashMap, hash_map::Entry};

use hdrhistogram::Histogram;
use integer_encoding::VarInt;

use crate::stats::Counts;

/// Of HdrHistogram's V2 encoding, with a word size that it does not use.
const COOKIE: u32 = 0x1c84_9313;

/// The sizes of buckets, by the lowest value that can be told from zero and by significant digits.
#[derive(Default)]
pub(super) struct Layouts(HashMap<(u64, u8), Layout>);

struct Layout {
    /// Knows the buckets.
    empty: Histogram<u8>,
    /// The lowest value of each bucket, as far as they were asked for.
    values: Vec<u64>,
}

impl Layouts {
    /// None for what is encoded in any other way, or not a histogram at all.
    pub(super) fn read(&mut self, bytes: &[u8]) -> Option<Counts> {
        let mut rest = bytes;
        let cookie = u32::from_be_bytes(take(&mut rest)?);
        let length = u32::from_be_bytes(take(&mut rest)?);
        let offset = u32::from_be_bytes(take(&mut rest)?);
        let digits = u8::try_from(u32::from_be_bytes(take(&mut rest)?)).ok()?;
        let lowest = u64::from_be_bytes(take(&mut rest)?);
        let _highest = u64::from_be_bytes(take(&mut rest)?);
        let ratio = f64::from_be_bytes(take(&mut rest)?);
        if cookie != COOKIE || offset != 0 || ratio != 1.0 {
            return None;
        }
        let counts = rest.get(..usize::try_from(length).ok()?)?;
        self.layout(lowest, digits)?.counts(counts)
    }

    fn layout(&mut self, lowest: u64, digits: u8) -> Option<&mut Layout> {
        Some(match self.0.entry((lowest, digits)) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert(Layout {
                // Where a bucket lies does not depend on the highest value.
                empty: Histogram::new_with_bounds(lowest, i64::MAX as u64, digits).ok()?,
                values: vec![0],
            }),
        })
    }
}

impl Layout {
    fn counts(&mut self, mut encoded: &[u8]) -> Option<Counts> {
        // No more than one for each byte.
        let mut counts = Counts::with_capacity(encoded.len());
        let mut bucket = 0_usize;
        while !encoded.is_empty() {
            let (number, length) = i64::decode_var(encoded)?;
            encoded = encoded.get(length..)?;
            match u64::try_from(number) {
                // So many buckets are empty.
                Err(_) => {
                    let empty = usize::try_from(number.unsigned_abs()).ok()?;
                    bucket = bucket.checked_add(empty)?;
                }
                Ok(count) => {
                    if count > 0 {
                        counts.push((self.value(bucket)?, count));
                    }
                    bucket += 1;
                }
            }
        }
        counts.shrink_to_fit();
        Some(counts)
    }

    /// None beyond the last bucket.
    fn value(&mut self, bucket: usize) -> Option<u64> {
        if bucket >= self.empty.distinct_values() {
            return None;
        }
        while self.values.len() <= bucket {
            let last = *self.values.last()?;
            self.values.push(self.empty.next_non_equivalent(last));
        }
        self.values.get(bucket).copied()
    }
}

fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (first, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(*first)
}

#[cfg(test)]
mod tests {
    use hdrhistogram::serialization::{Serializer, V2Serializer};
    use rand::{RngExt, SeedableRng, rngs::StdRng};

    use super::*;

    fn encoded(histogram: &Histogram<u64>) -> Vec<u8> {
        let mut bytes = Vec::new();
        let written = V2Serializer::new().serialize(histogram, &mut bytes);
        written.expect("it is written to memory");
        bytes
    }

    #[test]
    fn values_are_those_that_the_crate_iterates_over() {
        let mut rng = StdRng::seed_from_u64(4);
        for (lowest, highest, digits) in [
            (1, 3_600_000_000_000, 3),
            (1, 1 << 20, 2),
            (1000, 1 << 40, 4),
        ] {
            let mut histogram =
                Histogram::<u64>::new_with_bounds(lowest, highest, digits).expect("they fit");
            for _ in 0..2_000 {
                // From one to the highest, all magnitudes alike; and some that are there many times.
                let value = rng.random_range(0.0..(highest as f64).ln()).exp() as u64;
                let times = if rng.random_bool(0.01) { 100_000 } else { 1 };
                histogram
                    .record_n(value, times)
                    .expect("it is within bounds");
            }
            histogram.record(0).expect("it is within bounds");
            let iterated = histogram.iter_recorded().map(|step| {
                let value = histogram.lowest_equivalent(step.value_iterated_to());
                (value, step.count_at_value())
            });
            let read = Layouts::default().read(&encoded(&histogram));
            assert_eq!(read, Some(iterated.collect()), "{digits} digits");
        }
    }

    #[test]
    fn what_is_cut_off_or_foreign_is_not_read() {
        let mut histogram = Histogram::<u64>::new(3).expect("three digits");
        histogram.record_n(70_000, 3).expect("it grows");
        let bytes = encoded(&histogram);
        let mut layouts = Layouts::default();
        assert_eq!(layouts.read(&bytes).map(|counts| counts.len()), Some(1));
        for length in 0..bytes.len() {
            assert_eq!(layouts.read(&bytes[..length]), None, "{length}");
        }
        let mut foreign = bytes.clone();
        foreign[3] ^= 0x40;
        assert_eq!(layouts.read(&foreign), None);
    }

    #[test]
    fn more_buckets_than_there_are_is_no_histogram() {
        let mut bytes = encoded(&Histogram::<u64>::new(3).expect("three digits"));
        bytes.truncate(40);
        let counts = [(-1_i64 << 40).encode_var_vec(), 1_i64.encode_var_vec()].concat();
        bytes[4..8].copy_from_slice(&(counts.len() as u32).to_be_bytes());
        bytes.extend(counts);
        assert_eq!(Layouts::default().read(&bytes), None);
    }
}
