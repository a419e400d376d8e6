//! The figures of a slice that are watched while a run is measured.

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
            cpu_ns: self
                .cpu_ns
                .zip(other.cpu_ns)
                .map(|(one, other)| one + other),
        }
    }

    pub fn slow_ms_per_s(&self) -> f64 {
        self.slow_ns as f64 / 1e6 / self.seconds.max(f64::MIN_POSITIVE)
    }

    pub fn slow_percent(&self) -> f64 {
        100.0 * self.slow as f64 / (self.polls as f64).max(1.0)
    }
}
