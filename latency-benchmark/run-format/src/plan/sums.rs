//! The figures by which a run decides whether it knows enough, from slices that are measured or from a run's tables.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};
use serde::de::DeserializeOwned;

use crate::files::{BANDS, SITES, SLICES};
use crate::{BandRow, MeasuredSpan, Pass, Plausible, SLOW_NS, Site, SiteRow, SliceRow, read_table};

/// The figures of a slice. Polls are those of the site of connections.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SliceSums {
    /// The time of each poll after its first 50 µs, added up.
    pub beyond_ns: u64,
    pub requests: u64,
    pub seconds: f64,
    pub cpu_ns: Option<u64>,
}

impl SliceSums {
    pub fn plus(self, other: SliceSums) -> SliceSums {
        SliceSums {
            beyond_ns: self.beyond_ns + other.beyond_ns,
            requests: self.requests + other.requests,
            seconds: self.seconds + other.seconds,
            cpu_ns: [self.cpu_ns, other.cpu_ns].into_iter().sum(),
        }
    }

    pub fn beyond_ms_per_s(&self) -> f64 {
        self.beyond_ns as f64 / 1e6 / self.seconds.max(f64::MIN_POSITIVE)
    }
}

/// Adds up, for each variant, the slices that compare variants in the run in the folder `run`.
pub fn sums_by_variant(run: &Path, variants: usize) -> Result<Vec<SliceSums>> {
    let nothing = SliceSums {
        cpu_ns: Some(0),
        ..SliceSums::default()
    };
    let mut sums = vec![nothing; variants];
    let mut compared = BTreeMap::new();
    for row in checked_table::<SliceRow>(run, SLICES)? {
        if row.pass == Pass::Compare && row.variant < variants {
            sums[row.variant] = sums[row.variant].plus(SliceSums {
                requests: row.requests.unwrap_or(0),
                seconds: row.duration_ms / 1e3,
                cpu_ns: row.central_cpu_ns,
                ..SliceSums::default()
            });
            compared.insert(row.slice, row.variant);
        }
    }
    let sites: Vec<SiteRow> = checked_table(run, SITES)?;
    let connections = Site::of_connections(sites.iter().map(|row| row.site));
    for row in checked_table::<BandRow>(run, BANDS)? {
        if let Some(&variant) = compared.get(&row.slice)
            && row.site == connections
            && row.from_ns >= SLOW_NS
        {
            sums[variant].beyond_ns += row.ns.saturating_sub(row.polls * SLOW_NS);
        }
    }
    Ok(sums)
}

/// Reads a table of a run. Refuses numbers that no measurement has.
fn checked_table<Row: DeserializeOwned + Plausible>(run: &Path, name: &str) -> Result<Vec<Row>> {
    let path = run.join(name);
    let rows: Vec<Row> = read_table(&path, false)?;
    let checked = rows
        .iter()
        .try_for_each(|row| row.check(&MeasuredSpan::UNKNOWN));
    checked.with_context(|| path.display().to_string())?;
    Ok(rows)
}

/// A ratio of two sums over slices.
#[derive(Clone, Copy)]
pub struct SumRatio {
    /// The parts of the numerator and the denominator that come from a slice. None if they were not measured.
    pub parts: fn(&SliceSums) -> Option<(f64, f64)>,
    /// The amount that one event adds to the numerator. It is zero if every slice has events.
    pub event: f64,
}

/// The time beyond the threshold in ms per second. Its event is a poll of twice the threshold.
pub const BEYOND_TIME: SumRatio = SumRatio {
    parts: |slice| Some((slice.beyond_ns as f64 / 1e6, slice.seconds)),
    event: SLOW_NS as f64 / 1e6,
};

pub const THROUGHPUT: SumRatio = SumRatio {
    parts: |slice| Some((slice.requests as f64, slice.seconds)),
    event: 0.0,
};

/// CPU time in ns per request.
pub const CPU_TIME: SumRatio = SumRatio {
    parts: |slice| Some((slice.cpu_ns? as f64, slice.requests as f64)),
    event: 0.0,
};

#[cfg(test)]
mod tests {
    use crate::TableWriters;

    use super::*;

    #[test]
    fn only_slices_that_compare_and_polls_of_connections_count() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut tables =
            TableWriters::create(folder.path(), &[SLICES, SITES, BANDS]).expect("a folder");
        for (slice, pass, variant) in [
            (1, Pass::Compare, 0),
            (2, Pass::Compare, 1),
            (3, Pass::Children, 0),
        ] {
            let row = SliceRow {
                slice,
                pass,
                variant,
                duration_ms: 500.0,
                sampled_ms: 500.0,
                turns: 1,
                requests: Some(7),
                ..SliceRow::default()
            };
            tables.row(SLICES, &row).expect("written");
            for site in [Site::Connection, Site::Swarm] {
                let row = SiteRow {
                    slice,
                    site,
                    ..SiteRow::default()
                };
                tables.row(SITES, &row).expect("written");
                for (from_ns, polls, ns) in [(25_000, 9, 300_000), (50_000, 2, 130_000)] {
                    let row = BandRow {
                        slice,
                        site,
                        from_ns,
                        iterations: Some(1),
                        polls,
                        ns,
                    };
                    tables.row(BANDS, &row).expect("written");
                }
            }
        }
        tables.finish().expect("on disk");
        let sums = sums_by_variant(folder.path(), 3).expect("tables");
        let seen = SliceSums {
            beyond_ns: 30_000,
            requests: 7,
            seconds: 0.5,
            cpu_ns: None,
        };
        assert_eq!(sums[..2], [seen, seen]);
        assert_eq!(sums[0].beyond_ms_per_s(), 0.06);
        assert_eq!(sums[2].seconds, 0.0);
    }
}
