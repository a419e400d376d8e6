//! Decodes histograms without laying out their empty buckets. A slice's histogram has eleven thousand buckets,
//! of which a few hundred are not empty. The format encodes a row of empty buckets as one number, so decoding
//! only the others is many times faster than the general decoder.

use integer_encoding::VarInt;

use crate::stats::{Counts, PLACES};

/// The first bytes of HdrHistogram's V2 encoding.
const COOKIE: u32 = 0x1c84_9313;

/// Reads histograms of three significant digits, whose buckets are the places of [`Counts`].
#[derive(Default)]
pub(super) struct SparseDecoder {
    /// The buckets of the last histogram that were not empty, and their counts. Kept to reuse the memory.
    buckets: Vec<u32>,
    counts: Vec<u64>,
}

impl SparseDecoder {
    /// None if the bytes are no histogram, or one in another encoding.
    pub(super) fn read(&mut self, bytes: &[u8]) -> Option<Counts> {
        let mut rest = bytes;
        let cookie = u32::from_be_bytes(take(&mut rest)?);
        let length = u32::from_be_bytes(take(&mut rest)?);
        let offset = u32::from_be_bytes(take(&mut rest)?);
        let digits = u32::from_be_bytes(take(&mut rest)?);
        let lowest = u64::from_be_bytes(take(&mut rest)?);
        // Where a bucket lies does not depend on it.
        let _highest = u64::from_be_bytes(take(&mut rest)?);
        let ratio = f64::from_be_bytes(take(&mut rest)?);
        if (cookie, offset, digits, lowest, ratio) != (COOKIE, 0, 3, 1, 1.0) {
            return None;
        }
        self.counts(rest.get(..usize::try_from(length).ok()?)?)
    }

    /// Whether a number is a count or a row of empty buckets is unpredictable, so one step without a branch
    /// does both.
    fn counts(&mut self, mut encoded: &[u8]) -> Option<Counts> {
        // At most one bucket per byte, plus one that the last step overwrites.
        let most = self.buckets.len().max(encoded.len() + 1);
        self.buckets.resize(most, 0);
        self.counts.resize(most, 0);
        let mut seen = 0;
        let mut bucket = 0_u32;
        while !encoded.is_empty() {
            let number;
            (number, encoded) = next_number(encoded)?;
            let (count, empty) = (number.max(0), number.min(0).unsigned_abs());
            self.buckets[seen] = bucket;
            self.counts[seen] = count.unsigned_abs();
            seen += usize::from(count > 0);
            let step = u32::try_from(empty).ok()? + u32::from(empty == 0);
            bucket = bucket.checked_add(step).filter(|next| *next <= PLACES)?;
        }
        Some(Counts::at_places(
            &self.buckets[..seen],
            &self.counts[..seen],
        ))
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

fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (first, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(*first)
}

#[cfg(test)]
mod tests {
    use hdrhistogram::{
        Histogram,
        serialization::{Serializer, V2Serializer},
    };
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
        for highest in [1 << 20, 3_600_000_000_000] {
            let mut histogram = Histogram::<u64>::new_with_bounds(1, highest, 3).expect("they fit");
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
            let read = SparseDecoder::default()
                .read(&encoded(&histogram))
                .expect("it can be read");
            assert!(read.values().eq(iterated), "to {highest}");
        }
    }

    #[test]
    fn what_is_cut_off_or_foreign_is_not_read() {
        let mut histogram = Histogram::<u64>::new(3).expect("three digits");
        histogram.record_n(70_000, 3).expect("it grows");
        let bytes = encoded(&histogram);
        let mut sparse = SparseDecoder::default();
        assert_eq!(sparse.read(&bytes).map(|counts| counts.total()), Some(3));
        for length in 0..bytes.len() {
            assert_eq!(sparse.read(&bytes[..length]), None, "{length}");
        }
        // The last of the cookie, and of how many digits are significant.
        for byte in [3, 15] {
            let mut foreign = bytes.clone();
            foreign[byte] ^= 0x40;
            assert_eq!(sparse.read(&foreign), None, "{byte}");
        }
    }

    #[test]
    fn more_buckets_than_there_are_is_no_histogram() {
        let mut bytes = encoded(&Histogram::<u64>::new(3).expect("three digits"));
        let mut at_place = |place: u32| {
            let counts = [-i64::from(place), 1].map(VarInt::encode_var_vec).concat();
            bytes.truncate(40);
            bytes[4..8].copy_from_slice(&(counts.len() as u32).to_be_bytes());
            bytes.extend(counts);
            SparseDecoder::default().read(&bytes)
        };
        assert!(at_place(PLACES - 1).is_some());
        assert_eq!(at_place(PLACES), None);
        assert_eq!(at_place(u32::MAX), None);
    }
}
