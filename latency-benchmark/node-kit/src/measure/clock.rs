//! The clock of the measuring thread. A test has one of its own, in whose sleep polls happen.

use std::thread;
use std::time::{Duration, Instant};

pub(super) trait Clock {
    fn now(&self) -> Instant;

    fn sleep(&mut self, time: Duration);

    fn since(&self, before: Instant) -> Duration {
        self.now().saturating_duration_since(before)
    }
}

pub(super) struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Instant {
        Instant::now()
    }

    fn sleep(&mut self, time: Duration) {
        thread::sleep(time);
    }
}
