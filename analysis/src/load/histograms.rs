//! `histograms.hlog`: an HdrHistogram interval log. A histogram becomes a list of its values and their counts.

use std::{collections::HashMap, io::Cursor, path::Path, time::Duration};

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
    tables::SliceRow,
};

use crate::stats::Counts;

/// The histograms of a run: by the slice's number, and by what they are of.
pub(crate) type HistogramsBySlice = HashMap<(u32, HistogramOf), Counts>;

/// Reads the histograms of `slices` whose tag is `wanted`. The last line may be `torn`.
pub(crate) fn read(
    path: &Path,
    torn: bool,
    slices: &[SliceRow],
    wanted: impl Fn(HistogramTag) -> bool,
) -> Result<HistogramsBySlice> {
    let at = || path.display().to_string();
    let text = whole_lines(path, torn)?;
    let index = SliceIndex::new(slices);
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
        // The slice in which a run was interrupted has histograms, but no row.
        let Some(slice) = index.slice(tag, interval.start_timestamp()) else {
            continue;
        };
        if (slice.variant, slice.pass) != (tag.variant, tag.pass) {
            bail!(
                "{}: histogram {tag}, but slice {} is of variant {} and pass {}",
                at(),
                slice.slice,
                slice.variant,
                slice.pass
            );
        }
        let counts = decode(&mut deserializer, interval.encoded_histogram())
            .with_context(|| format!("{}: histogram {tag} of slice {}", at(), slice.slice))?;
        if found.insert((slice.slice, tag.of), counts).is_some() {
            bail!("{}: histogram {tag} is there twice", at());
        }
    }
    Ok(found)
}

/// Finds the slice of a histogram.
struct SliceIndex<'a> {
    by_number: &'a [SliceRow],
    by_start_ms: HashMap<u64, &'a SliceRow>,
}

impl SliceIndex<'_> {
    fn new(slices: &[SliceRow]) -> SliceIndex<'_> {
        let by_start_ms = slices.iter().map(|row| (row.start_ms.round() as u64, row));
        SliceIndex {
            by_number: slices,
            by_start_ms: by_start_ms.collect(),
        }
    }

    /// Tags of older runs do not name the slice. There, the log has its start, rounded to a whole millisecond.
    fn slice(&self, tag: HistogramTag, start: Duration) -> Option<&SliceRow> {
        let Some(number) = tag.slice else {
            let start_ms = (start.as_secs_f64() * 1e3).round() as u64;
            return self.by_start_ms.get(&start_ms).copied();
        };
        let found = self
            .by_number
            .binary_search_by_key(&number, |row| row.slice);
        found.ok().map(|at| &self.by_number[at])
    }
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
