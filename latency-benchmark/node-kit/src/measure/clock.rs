//! The clock of the measuring thread. Tests have a clock of their own, during whose sleeps polls happen.

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
