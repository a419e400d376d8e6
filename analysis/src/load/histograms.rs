//! `histograms.hlog`: an HdrHistogram interval log. A histogram becomes a list of its values and their counts.

use std::{collections::HashMap, io::Cursor, path::Path};

use anyhow::{Context, Result, anyhow, bail};
use base64::{Engine, engine::general_purpose::STANDARD};
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
    let mut deserializer = Deserializer::new();
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
        let counts = decode(&mut deserializer, interval.encoded_histogram())
            .with_context(|| format!("{}: histogram {tag} at {start} ms", at()))?;
        if found.insert((start, tag.of), counts).is_some() {
            bail!("{}: histogram {tag} is there twice", at());
        }
    }
    Ok(found)
}

fn decode(deserializer: &mut Deserializer, encoded: &str) -> Result<Counts> {
    let bytes = STANDARD.decode(encoded).context("not base64")?;
    let histogram: Histogram<u64> = deserializer
        .deserialize(&mut Cursor::new(bytes))
        .map_err(|error| anyhow!("cannot be decoded: {error}"))?;
    let values = histogram.iter_recorded().map(|step| {
        let value = histogram.lowest_equivalent(step.value_iterated_to());
        (value, step.count_at_value())
    });
    Ok(Counts::of(values))
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
                let read = decode(&mut Deserializer::new(), &STANDARD.encode(bytes));
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
}
