//! The times at which a part of a load sends.

use std::time::Duration;

use run_format::Part;
use tokio::time::{Instant, sleep_until};

/// The moments at which one stream of a part sends.
pub struct SendTimes<'a> {
    part: &'a Part,
    began: Instant,
    next: u64,
}

impl SendTimes<'_> {
    /// Streams of a part send at the same times, counted from the beginning of the part. A stream that is opened later starts
    /// with the next send.
    pub fn new(part: &Part, began: Instant) -> SendTimes<'_> {
        let missed = |rate: f64| (began.elapsed().as_secs_f64() * rate).ceil() as u64;
        SendTimes {
            part,
            began,
            next: part.rate.map_or(0, missed),
        }
    }

    /// Waits for the next send. Returns its number and the time at which it was due. Sends outside of the phase of the part
    /// are left out. A send that is late still happens.
    pub async fn next(&mut self) -> (u64, Instant) {
        loop {
            let number = self.next;
            self.next += 1;
            let mut due = Instant::now();
            if let Some(rate) = self.part.rate {
                due = self.began + Duration::from_secs_f64(number as f64 / rate);
                sleep_until(due).await;
            }
            let wait = self.part.phase.map(|phase| phase.wait(due - self.began));
            match wait.filter(|wait| !wait.is_zero()) {
                Some(wait) => sleep_until(due + wait).await,
                None => return (number, due),
            }
        }
    }
}
