//! `histograms.hlog`: an HdrHistogram interval log. A histogram becomes the list of its values and how
//! often each was seen, which is all that is made of it here.

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

use super::{lines, sparse::Layouts};
use crate::stats::Counts;

/// The histograms of a run: by slice, and by what they are of.
pub(crate) type BySlice = HashMap<(u64, String), Counts>;

/// Names a slice in the log, which has its start in seconds with three decimals.
pub(crate) fn start_key(start_ms: f64) -> u64 {
    start_ms.round() as u64
}

/// Reads the histograms whose tag `wanted` maps to a name. Their last line may be `torn`.
pub(crate) fn read(
    path: &Path,
    torn: bool,
    wanted: impl Fn(&str) -> Option<String>,
) -> Result<BySlice> {
    let at = || path.display().to_string();
    let text = lines::whole(path, torn)?;
    let mut decoder = Decoder::new();
    let mut found = BySlice::new();
    for entry in IntervalLogIterator::new(&text) {
        let entry = entry.map_err(|_| anyhow!("{}: not an HdrHistogram interval log", at()))?;
        let LogEntry::Interval(interval) = entry else {
            continue;
        };
        let Some(tag) = interval.tag() else { continue };
        let Some(name) = wanted(tag.as_str()) else {
            continue;
        };
        let key = (
            start_key(interval.start_timestamp().as_secs_f64() * 1000.0),
            name,
        );
        let counts = decoder
            .decode(interval.encoded_histogram())
            .with_context(|| format!("{}: histogram {} at {} ms", at(), tag.as_str(), key.0))?;
        if found.insert(key, counts).is_some() {
            bail!("{}: histogram {} is there twice", at(), tag.as_str());
        }
    }
    Ok(found)
}

struct Decoder {
    layouts: Layouts,
    deserializer: Deserializer,
    inflater: Inflater,
}

impl Decoder {
    fn new() -> Decoder {
        Decoder {
            layouts: Layouts::default(),
            deserializer: Deserializer::new(),
            inflater: Inflater::new(),
        }
    }

    /// A histogram's values, each with how often it was seen.
    fn decode(&mut self, encoded: &str) -> Result<Counts> {
        let bytes = STANDARD.decode(encoded).context("not base64")?;
        let bytes = self.inflater.inflated(&bytes)?;
        match self.layouts.read(bytes) {
            Some(counts) => Ok(counts),
            // Encoded as other programs may, or not at all, of which this knows more.
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
    Ok(values.collect())
}

/// What is compressed is a cookie, a length, and a histogram that has a cookie of its own. The deserializer
/// takes both, but inflates as from a stream, with buffers many times the size of these histograms that it
/// makes anew for each.
struct Inflater {
    state: Decompress,
    buffer: Vec<u8>,
}

impl Inflater {
    fn new() -> Inflater {
        /// More than those of most slices have.
        const USUAL: usize = 1 << 14;
        Inflater {
            state: Decompress::new(true),
            buffer: vec![0; USUAL],
        }
    }

    fn inflated<'a>(&'a mut self, bytes: &'a [u8]) -> Result<&'a [u8]> {
        const COMPRESSED: [u8; 4] = 0x1c84_9314_u32.to_be_bytes();
        /// More than any histogram of three digits has.
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
