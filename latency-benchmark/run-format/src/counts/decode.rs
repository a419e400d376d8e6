//! Reads HdrHistograms as counts.

use std::io::Read;

use anyhow::{Context, Result, bail};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::read::ZlibDecoder;

use crate::counts::Counts;

/// Decodes base64, and inflates a histogram that is compressed. Returns the second version of the format.
pub fn inflated(encoded: &str) -> Result<Vec<u8>> {
    let bytes = STANDARD.decode(encoded).context("not base64")?;
    if cookie(&bytes) != Some(COMPRESSED) {
        return Ok(bytes);
    }
    let mut plain = Vec::new();
    let compressed = bytes.get(8..).unwrap_or_default();
    let inflated = ZlibDecoder::new(compressed);
    let read = inflated.take(MOST_BYTES).read_to_end(&mut plain);
    read.context("cannot be decoded")?;
    Ok(plain)
}

/// Decodes a histogram in base64. The decoder of the crate `hdrhistogram` also makes all empty buckets, which took most of a
/// report's time.
pub fn decode(encoded: &str) -> Result<Counts> {
    const HEADER: usize = 40;
    let bytes = inflated(encoded)?;
    if cookie(&bytes) != Some(PLAIN) || bytes.len() < HEADER {
        bail!("cannot be decoded: not a histogram of version 2");
    }
    let number =
        |from: usize| u32::from_be_bytes(bytes[from..from + 4].try_into().expect("four bytes"));
    let (length, digits, lowest) = (number(4) as usize, number(12), number(20));
    let is_scaled = number(8) != 0 || (number(32), number(36)) != (ONE, 0);
    if length != bytes.len() - HEADER || digits > 5 || number(16) > 0 || lowest == 0 || is_scaled {
        bail!("cannot be decoded: its header is wrong");
    }
    let half_bits = (2 * 10_u32.pow(digits)).next_power_of_two().ilog2() - 1;
    let unit_bits = lowest.ilog2();
    let mut values = Vec::new();
    let mut index = 0_u64;
    let mut rest = &bytes[HEADER..];
    while !rest.is_empty() {
        let count = zigzag(&mut rest).context("cannot be decoded: it ends too early")?;
        if count < 0 {
            let empty = count.unsigned_abs();
            index = index.checked_add(empty).context(TOO_LARGE)?;
        } else {
            let (bucket, within) = (index >> half_bits, index & ((1 << half_bits) - 1));
            let (shift, within) = match bucket {
                0 => (0, within),
                _ => (bucket - 1, within | 1 << half_bits),
            };
            let shift = shift + u64::from(unit_bits);
            let is_too_large = shift + u64::from(half_bits) >= 63
                || (within << shift).checked_mul(count as u64).is_none();
            if is_too_large {
                bail!(TOO_LARGE);
            }
            values.push((within << shift, count as u64));
            index += 1;
        }
    }
    Ok(Counts::from_sorted(values))
}

const TOO_LARGE: &str = "cannot be decoded: a value or a count is too large";
/// The upper 32 bits of the 64-bit floating-point number 1.0.
const ONE: u32 = 0x3ff0_0000;
const PLAIN: u32 = 0x1c84_9313;
const COMPRESSED: u32 = 0x1c84_9314;
/// A histogram of five digits with a count of every value is not longer.
const MOST_BYTES: u64 = 64 << 20;

fn cookie(bytes: &[u8]) -> Option<u32> {
    bytes.first_chunk().map(|first| u32::from_be_bytes(*first))
}

/// Reads a number in ZigZag and LEB128 encoding, of up to nine bytes. It is a count, or if it is negative, the number of
/// empty buckets. The ninth byte has eight bits of the number, and the others seven.
fn zigzag(rest: &mut &[u8]) -> Option<i64> {
    let mut value = 0_u64;
    for index in 0..9 {
        let (byte, after) = rest.split_first()?;
        *rest = after;
        let bits = if index == 8 { *byte } else { byte & 0x7f };
        value |= u64::from(bits) << (7 * index);
        if byte & 0x80 == 0 {
            break;
        }
    }
    Some((value >> 1) as i64 ^ -((value & 1) as i64))
}

#[cfg(test)]
mod tests {
    use hdrhistogram::Histogram;
    use hdrhistogram::serialization::{Serializer, V2DeflateSerializer, V2Serializer};

    use super::*;

    #[test]
    fn a_header_or_a_count_that_no_histogram_has_is_refused() {
        let mut plain = Vec::new();
        let histogram = Histogram::<u64>::new(3).expect("three digits");
        V2Serializer::new()
            .serialize(&histogram, &mut plain)
            .expect("it is written to memory");
        plain.truncate(40);
        let with = |at: usize, byte: u8, counts: &[u8]| {
            let mut changed = [&plain[..], counts].concat();
            changed[7] = counts.len() as u8;
            changed[at] = byte;
            decode(&STANDARD.encode(changed))
        };
        assert!(with(7, 1, &[2]).is_ok());
        // A normalizing offset, digits, a lowest value and a ratio.
        for (at, byte) in [(11, 1), (15, 6), (16, 1), (23, 0), (32, 0)] {
            with(at, byte, &[2]).expect_err("a wrong header");
        }
        with(7, 18, &[0xff; 18]).expect_err("so many empty buckets");
        let far = [0xff, 0xff, 0xff, 0x7f, 2];
        with(7, 5, &far).expect_err("a value beyond all");
    }

    #[test]
    fn histograms_of_other_digits_and_not_compressed_ones_are_read_too() {
        for digits in 2..=4 {
            let mut histogram = Histogram::<u64>::new(digits).expect("as many digits");
            for value in (0..=40).flat_map(|bits| [1 << bits, (1 << bits) + (1 << bits) / 3]) {
                histogram.record_n(value, value % 1000).expect("it grows");
            }
            let (mut plain, mut compressed) = (Vec::new(), Vec::new());
            V2Serializer::new()
                .serialize(&histogram, &mut plain)
                .expect("it is written to memory");
            V2DeflateSerializer::new()
                .serialize(&histogram, &mut compressed)
                .expect("it is written to memory");
            for bytes in [plain, compressed] {
                let expected = histogram.iter_recorded().map(|step| {
                    let value = histogram.lowest_equivalent(step.value_iterated_to());
                    (value, step.count_at_value())
                });
                let read = decode(&STANDARD.encode(&bytes)).expect("a histogram");
                assert_eq!(read, Counts::from_sorted(expected), "{digits} digits");
                for end in 0..bytes.len() {
                    decode(&STANDARD.encode(&bytes[..end])).expect_err("it is cut short");
                }
            }
        }
    }
}
