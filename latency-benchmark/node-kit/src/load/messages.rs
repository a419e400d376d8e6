//! Messages that every node publishes at a rate. A message begins with the time of publishing, on the monotonic clock that all
//! processes of a machine share. Its number follows, from which central knows how many messages are missing.

use std::collections::HashMap;
use std::time::Duration;

use anyhow::{Result, bail, ensure};
use nix::time::{ClockId, clock_gettime};
use node_ab::slices::ns;
use run_format::{Load, Pace, SMALLEST_MESSAGE};
use tokio::time::{Interval, MissedTickBehavior, interval};

use crate::{Delivery, RequestLog};

/// The time and the message's number take 8 bytes each.
const WORD: usize = 8;

/// Makes the messages of a node.
pub struct Publisher {
    message: Vec<u8>,
    number: u64,
    ticks: Interval,
}

impl Publisher {
    /// Makes a publisher whose first message is due at once.
    pub fn new(load: Load) -> Result<Publisher> {
        let Pace::PerSecond(rate) = load.pace else {
            bail!("messages are published at a rate");
        };
        ensure!(
            load.payload.bytes() >= SMALLEST_MESSAGE,
            "a message has at least {SMALLEST_MESSAGE} bytes"
        );
        let mut ticks = interval(Duration::from_secs_f64(1.0 / rate));
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Ok(Publisher {
            message: vec![0; load.payload.len()],
            number: 0,
            ticks,
        })
    }

    /// Waits until the next message is due, and returns it.
    pub async fn due(&mut self) -> Result<Vec<u8>> {
        self.ticks.tick().await;
        self.number += 1;
        let (stamp, rest) = self.message.split_at_mut(WORD);
        stamp.copy_from_slice(&monotonic_ns()?.to_be_bytes());
        rest[..WORD].copy_from_slice(&self.number.to_be_bytes());
        Ok(self.message.clone())
    }
}

/// Notes the messages that reach central. Each is a request of the peer that published it.
pub struct Deliveries {
    log: RequestLog,
    /// The highest number of each peer.
    newest: HashMap<usize, u64>,
}

impl Deliveries {
    /// Notes messages in `log`.
    pub fn new(log: RequestLog) -> Deliveries {
        Deliveries {
            log,
            newest: HashMap::new(),
        }
    }

    /// Notes a message of a peer. Messages before the first one of a peer do not count as missing, because central may have
    /// joined later.
    pub fn note(&mut self, peer: usize, message: &[u8]) -> Result<()> {
        let words = message.as_chunks::<WORD>().0;
        let &[stamp, number, ..] = words else {
            bail!("peer {} published too short a message", peer + 1);
        };
        let age_ns = monotonic_ns()?.saturating_sub(u64::from_be_bytes(stamp));
        let since_ns = self.log.ns_ago(Duration::from_nanos(age_ns));
        let number = u64::from_be_bytes(number);
        let newest = self.newest.entry(peer).or_insert(number.saturating_sub(1));
        let expected = number.saturating_sub(*newest);
        *newest += expected;
        self.log.delivered(Delivery {
            peer,
            since_ns,
            bytes: message.len() as u64,
            expected,
            is_last: false,
        });
        Ok(())
    }
}

fn monotonic_ns() -> Result<u64> {
    Ok(ns(clock_gettime(ClockId::CLOCK_MONOTONIC)?.into()))
}

#[cfg(test)]
mod tests {
    use poll_probe::{Capacity, Recorder};

    use super::*;

    #[test]
    fn missing_messages_are_expected_and_late_ones_are_not_expected_again() {
        let (log, mut seen) = RequestLog::new(Recorder::new(Capacity::default()).clock(), 1 << 10);
        let mut deliveries = Deliveries::new(log);
        let mut note = |peer: usize, number: u64| {
            let message = [0, number, 0].map(u64::to_be_bytes).concat();
            deliveries.note(peer, &message).expect("it is long enough");
        };
        for number in [5, 6, 9, 8, 10] {
            note(0, number);
        }
        note(1, 1);
        assert!(deliveries.note(1, &[0; 15]).is_err());
        let mut expected = Vec::new();
        seen.drain(|answered| expected.push((answered.peer, answered.expected, answered.bytes)));
        let first_peer = [1, 1, 3, 0, 1].map(|expected| (0, expected, 24));
        assert_eq!(expected, [&first_peer[..], &[(1, 1, 24)]].concat());
    }
}
