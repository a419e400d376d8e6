//! The figures of a slice that are watched while a run is measured, and those of a run that was measured.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Result;
use run_format::files::{BANDS, SITES, SLICES};
use run_format::{BandRow, Pass, SLOW_NS, Site, SiteRow, SliceRow, read_table};
use statrs::distribution::{ContinuousCDF, StudentsT};

/// What a slice adds to the figures that are watched. Polls are those of `Connection::poll`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SliceSums {
    pub slow: u64,
    pub slow_ns: u64,
    pub polls: u64,
    pub requests: u64,
    pub seconds: f64,
    pub cpu_ns: Option<u64>,
}

impl SliceSums {
    pub fn plus(self, other: SliceSums) -> SliceSums {
        SliceSums {
            slow: self.slow + other.slow,
            slow_ns: self.slow_ns + other.slow_ns,
            polls: self.polls + other.polls,
            requests: self.requests + other.requests,
            seconds: self.seconds + other.seconds,
            cpu_ns: [self.cpu_ns, other.cpu_ns].into_iter().sum(),
        }
    }

    pub fn slow_ms_per_s(&self) -> f64 {
        self.slow_ns as f64 / 1e6 / self.seconds.max(f64::MIN_POSITIVE)
    }

    pub fn slow_percent(&self) -> f64 {
        100.0 * self.slow as f64 / (self.polls as f64).max(1.0)
    }
}

/// Polls of connections by variant, over the slices of the run in the folder `run` that compare variants.
pub fn of_run(run: &Path, variants: usize) -> Result<Vec<SliceSums>> {
    let nothing = SliceSums {
        cpu_ns: Some(0),
        ..SliceSums::default()
    };
    let mut of = vec![nothing; variants];
    let mut compared = BTreeMap::new();
    for row in read_table::<SliceRow>(&run.join(SLICES), false)? {
        if row.pass == Pass::Compare && row.variant < variants {
            of[row.variant] = of[row.variant].plus(SliceSums {
                requests: row.requests.unwrap_or(0),
                seconds: row.duration_ms / 1e3,
                cpu_ns: row.central_cpu_ns,
                ..SliceSums::default()
            });
            compared.insert(row.slice, row.variant);
        }
    }
    let sites: Vec<SiteRow> = read_table(&run.join(SITES), false)?;
    let connections = Site::of_connections(sites.iter().map(|row| row.site));
    for row in sites {
        if let Some(&variant) = compared.get(&row.slice)
            && row.site == connections
        {
            of[variant].polls += row.polls;
        }
    }
    for row in read_table::<BandRow>(&run.join(BANDS), false)? {
        if let Some(&variant) = compared.get(&row.slice)
            && row.site == connections
            && row.from_ns >= SLOW_NS
        {
            of[variant].slow += row.polls;
            of[variant].slow_ns += row.ns;
        }
    }
    Ok(of)
}

/// Numerator and denominator of a slice's part in a ratio. None if it was not measured.
pub(crate) type Part = fn(&SliceSums) -> Option<(f64, f64)>;

pub(crate) fn slow_share(slice: &SliceSums) -> Option<(f64, f64)> {
    Some((slice.slow as f64, slice.polls as f64))
}

pub(crate) fn throughput(slice: &SliceSums) -> Option<(f64, f64)> {
    Some((slice.requests as f64, slice.seconds))
}

pub(crate) fn cpu_time(slice: &SliceSums) -> Option<(f64, f64)> {
    Some((slice.cpu_ns? as f64, slice.requests as f64))
}

/// By how many standard errors, which come from so many values, a mean can be off with a probability of 5 %.
pub(crate) fn students_t(count: f64) -> Option<f64> {
    let distribution = StudentsT::new(0.0, 1.0, count - 1.0).ok()?;
    Some(distribution.inverse_cdf(0.975))
}
