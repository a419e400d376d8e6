//! The figures of a slice that are watched while a run is measured.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// What a slice adds to the figures that are watched. Polls are those of `Connection::poll`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SliceSums {
    pub slow: u64,
    pub slow_ns: u64,
    pub polls: u64,
    pub requests: u64,
    pub seconds: f64,
    /// Of central's worker.
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
