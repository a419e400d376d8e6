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
    /// The buckets of the last histogram that were not empty, and how often. Kept for its memory.
    seen: Vec<(u64, u64)>,
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
                seen: Vec::new(),
            }),
        })
    }
}

impl Layout {
    /// Nearly every number is of one byte, and whether it is a count or a stretch cannot be foreseen: so
    /// there is a step for both that does not ask, and values are looked up when all buckets are known.
    fn counts(&mut self, mut encoded: &[u8]) -> Option<Counts> {
        // No more than one for each byte, and one that is written over.
        self.seen
            .resize(self.seen.len().max(encoded.len() + 1), (0, 0));
        let mut seen = 0;
        let mut bucket = 0_u64;
        while !encoded.is_empty() {
            let number;
            (number, encoded) = next_number(encoded)?;
            let (count, empty) = (number.max(0), number.min(0).unsigned_abs());
            self.seen[seen] = (bucket, count.unsigned_abs());
            seen += usize::from(count > 0);
            bucket = bucket.checked_add(empty + u64::from(empty == 0))?;
        }
        let seen = &self.seen[..seen];
        if let Some((last, _)) = seen.last() {
            lay_out(&mut self.values, &self.empty, usize::try_from(*last).ok()?)?;
        }
        let value = |(bucket, count): &(u64, u64)| (self.values[*bucket as usize], *count);
        Some(seen.iter().map(value).collect())
    }
}

/// A count, or as a negative number how many buckets are empty; and what follows it.
fn next_number(encoded: &[u8]) -> Option<(i64, &[u8])> {
    match encoded {
        [byte @ ..0x80, rest @ ..] => {
            let byte = i64::from(*byte);
            Some(((byte >> 1) ^ -(byte & 1), rest))
        }
        _ => {
            let (number, length) = i64::decode_var(encoded)?;
            Some((number, encoded.get(length..)?))
        }
    }
}

/// Has `values` reach to this bucket. None if it is beyond the last.
fn lay_out(values: &mut Vec<u64>, empty: &Histogram<u8>, bucket: usize) -> Option<()> {
    if bucket >= empty.distinct_values() {
        return None;
    }
    while values.len() <= bucket {
        let last = *values.last()?;
        values.push(empty.next_non_equivalent(last));
    }
    Some(())
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
