//! Reads `histograms.hlog`, an HdrHistogram interval log. A histogram becomes a list of its values and their counts.

use std::collections::HashMap;
use std::path::Path;

use anyhow::{Context, Result, anyhow, ensure};
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use run_format::counts::{Counts, decode};
use run_format::{HistogramOf, HistogramTag, SliceRow, whole_lines};

/// The histograms of a run, by the number of the slice and by what they count.
pub(crate) type HistogramsBySlice = HashMap<u32, HashMap<HistogramOf, Counts>>;

/// Reads the histograms of `slices` whose tag is `wanted`. The last line may be `torn`.
pub(crate) fn read(
    path: &Path,
    torn: bool,
    slices: &[SliceRow],
    wanted: impl Fn(HistogramTag) -> bool,
) -> Result<HistogramsBySlice> {
    let file = path.display();
    let text = whole_lines(path, torn)?;
    let by_number: HashMap<u32, &SliceRow> = slices.iter().map(|row| (row.slice, row)).collect();
    let mut found = HistogramsBySlice::new();
    for entry in IntervalLogIterator::new(&text) {
        let known = entry.map_err(|_| anyhow!("{file}: not an HdrHistogram interval log"))?;
        let LogEntry::Interval(interval) = known else {
            continue;
        };
        let Some(tag) = interval.tag() else { continue };
        let tag = tag
            .as_str()
            .parse::<HistogramTag>()
            .map_err(|error| anyhow!("{file}: {error}"))?;
        if !wanted(tag) {
            continue;
        }
        let number = tag
            .slice
            .with_context(|| format!("{file}: histogram {tag} names no slice"))?;
        // The slice in which a run was interrupted has histograms, but no row.
        let Some(row) = by_number.get(&number) else {
            continue;
        };
        let start_ms = interval.start_timestamp().as_secs_f64() * 1e3;
        let (slice, variant, pass, began_ms) = (row.slice, row.variant, row.pass, row.start_ms);
        ensure!(
            (variant, pass) == (tag.variant, tag.pass),
            "{file}: histogram {tag}, but slice {slice} is of variant {variant} and pass {pass}"
        );
        ensure!(
            (start_ms - began_ms).abs() <= 1.0,
            "{file}: histogram {tag} is of {start_ms} ms, but slice {slice} began at {began_ms} ms"
        );
        let counts = decode(interval.encoded_histogram())
            .with_context(|| format!("{file}: histogram {tag} of slice {slice}"))?;
        let before = found.entry(slice).or_default().insert(tag.of, counts);
        ensure!(before.is_none(), "{file}: histogram {tag} is there twice");
    }
    Ok(found)
}
