//! `histograms.hlog`: an HdrHistogram interval log. A histogram becomes a list of its values and their counts.

use std::{collections::HashMap, io::Cursor, path::Path};

use anyhow::{Context, Result, anyhow, bail};
use base64::{Engine, engine::general_purpose::STANDARD};
use flate2::{Decompress, FlushDecompress, Status};
use hdrhistogram::{
    Histogram,
    serialization::{
        Deserializer,
        interval_log::{IntervalLogIterator, LogEntry},
    },
};
use run_format::{
    histogram_tag::{HistogramOf, HistogramTag},
    table::whole_lines,
};

use super::sparse::SparseDecoder;
use crate::stats::Counts;

/// The histograms of a run: by slice, and by what they are of.
pub(crate) type HistogramsBySlice = HashMap<(u64, HistogramOf), Counts>;

/// Names a slice in the log, which has its start in seconds with three decimals.
pub(crate) fn start_key(start_ms: f64) -> u64 {
    start_ms.round() as u64
}

/// Reads the histograms whose tag is `wanted`. The last line may be `torn`.
pub(crate) fn read(
    path: &Path,
    torn: bool,
    wanted: impl Fn(HistogramTag) -> bool,
) -> Result<HistogramsBySlice> {
    let at = || path.display().to_string();
    let text = whole_lines(path, torn)?;
    let mut decoder = HistogramDecoder::new();
    let mut found = HistogramsBySlice::new();
    for entry in IntervalLogIterator::new(&text) {
        let entry = entry.map_err(|_| anyhow!("{}: not an HdrHistogram interval log", at()))?;
        let LogEntry::Interval(interval) = entry else {
            continue;
        };
        let Some(tag) = interval.tag() else { continue };
        let tag: HistogramTag = tag
            .as_str()
            .parse()
            .map_err(|error| anyhow!("{}: {error}", at()))?;
        if !wanted(tag) {
            continue;
        }
        let start = start_key(interval.start_timestamp().as_secs_f64() * 1000.0);
        let counts = decoder
            .decode(interval.encoded_histogram())
            .with_context(|| format!("{}: histogram {tag} at {start} ms", at()))?;
        if found.insert((start, tag.of), counts).is_some() {
            bail!("{}: histogram {tag} is there twice", at());
        }
    }
    Ok(found)
}

struct HistogramDecoder {
    sparse: SparseDecoder,
    deserializer: Deserializer,
    inflater: Inflater,
}

impl HistogramDecoder {
    fn new() -> HistogramDecoder {
        HistogramDecoder {
            sparse: SparseDecoder::default(),
            deserializer: Deserializer::new(),
            inflater: Inflater::new(),
        }
    }

    /// The values of a histogram and their counts.
    fn decode(&mut self, encoded: &str) -> Result<Counts> {
        let bytes = STANDARD.decode(encoded).context("not base64")?;
        let bytes = self.inflater.inflated(&bytes)?;
        match self.sparse.read(bytes) {
            Some(counts) => Ok(counts),
            // Another encoding, or no histogram: the crate decides which.
            None => laid_out(&mut self.deserializer, bytes),
        }
    }
}

fn laid_out(deserializer: &mut Deserializer, bytes: &[u8]) -> Result<Counts> {
    let histogram: Histogram<u64> = deserializer
        .deserialize(&mut Cursor::new(bytes))
        .map_err(|error| anyhow!("cannot be decoded: {error}"))?;
    let values = histogram.iter_recorded().map(|step| {
        let value = histogram.lowest_equivalent(step.value_iterated_to());
        (value, step.count_at_value())
    });
    Ok(Counts::of(values))
}

/// Decompresses histograms. The crate's deserializer does that, too, but allocates new buffers for each, many
/// times the size of these histograms.
struct Inflater {
    state: Decompress,
    buffer: Vec<u8>,
}

impl Inflater {
    fn new() -> Inflater {
        /// Enough for most slices.
        const USUAL: usize = 1 << 14;
        Inflater {
            state: Decompress::new(true),
            buffer: vec![0; USUAL],
        }
    }

    fn inflated<'a>(&'a mut self, bytes: &'a [u8]) -> Result<&'a [u8]> {
        const COMPRESSED: [u8; 4] = 0x1c84_9314_u32.to_be_bytes();
        /// More than any histogram of three digits needs.
        const LARGEST: usize = 1 << 20;
        let Some(rest) = bytes.strip_prefix(&COMPRESSED) else {
            return Ok(bytes);
        };
        let compressed = rest.get(4..).context("cannot be decoded: it is cut off")?;
        while !self.fits(compressed)? {
            if self.buffer.len() >= LARGEST {
                bail!("cannot be decoded: it is larger than any");
            }
            self.buffer.resize(2 * self.buffer.len(), 0);
        }
        Ok(&self.buffer[..self.state.total_out() as usize])
    }

    /// Whether all of it was inflated into the buffer.
    fn fits(&mut self, compressed: &[u8]) -> Result<bool> {
        self.state.reset(true);
        let status = self
            .state
            .decompress(compressed, &mut self.buffer, FlushDecompress::Finish)
            .map_err(|error| anyhow!("cannot be decoded: {error}"))?;
        let is_full = self.state.total_out() as usize == self.buffer.len();
        if status != Status::StreamEnd && !is_full {
            bail!("cannot be decoded: it is cut off");
        }
        Ok(status == Status::StreamEnd)
    }
}

#[cfg(test)]
mod tests {
    use hdrhistogram::serialization::{Serializer, V2DeflateSerializer, V2Serializer};

    use super::*;

    #[test]
    fn histograms_of_other_digits_and_not_compressed_ones_are_read_too() {
        for digits in 2..=4 {
            let mut histogram = Histogram::<u64>::new(digits).expect("as many digits");
            for value in [7, 7, 1_000_000] {
                histogram.record(value).expect("it grows");
            }
            let (mut plain, mut compressed) = (Vec::new(), Vec::new());
            V2Serializer::new()
                .serialize(&histogram, &mut plain)
                .expect("it is written to memory");
            V2DeflateSerializer::new()
                .serialize(&histogram, &mut compressed)
                .expect("it is written to memory");
            for bytes in [plain, compressed] {
                let read = HistogramDecoder::new().decode(&STANDARD.encode(bytes));
                let counts = read.expect("a histogram");
                let about_a_million = 1_000_000 - 1_000_000 / 100;
                assert_eq!(
                    (
                        counts.total(),
                        counts.above(7),
                        counts.above(about_a_million)
                    ),
                    (3, 1, 1),
                    "{digits} digits"
                );
            }
        }
    }

    #[test]
    fn a_histogram_larger_than_the_buffer_is_read_and_one_cut_off_is_not() {
        let mut histogram = Histogram::<u64>::new(3).expect("three digits");
        for value in 0..50_000_u64 {
            histogram
                .record_n(value.pow(2), 1 + value)
                .expect("it grows");
        }
        let mut bytes = Vec::new();
        V2DeflateSerializer::new()
            .serialize(&histogram, &mut bytes)
            .expect("it is written to memory");
        let mut inflater = Inflater::new();
        let usual = inflater.buffer.len();
        let inflated = inflater.inflated(&bytes).expect("it is whole").len();
        assert!(inflated > usual, "{inflated}");
        bytes.truncate(bytes.len() / 2);
        let error = inflater.inflated(&bytes).expect_err("half of it");
        assert!(error.to_string().contains("cut off"), "{error}");
    }
}
