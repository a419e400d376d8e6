//! Times TCP connects over many links at once.

use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use std::{io, thread};

use nix::sys::socket::{setsockopt, sockopt};

use crate::{LabSpec, LinkRtt, Rtt};

/// Connects per link, one after the other.
const CONNECTS: usize = 4;

/// A link that seems too long is tried again for this time after five round trips: other load can make a
/// link seem too long, but never too short. After that, one answer that is not too long is enough: with
/// packet loss, there may be only one.
const SECOND_CHANCE: Duration = Duration::from_secs(3);

/// Fewer than the backlog of a listener, since nothing accepts these connections.
const MOST_CONNECTS: usize = 100;

/// Time between the first connects of two links, so that their packets do not delay each other.
const STAGGER: Duration = Duration::from_micros(100);

/// A link that does not answer is tried for this time after six round trips.
const PATIENCE: Duration = Duration::from_secs(8);

/// A connect is given up when its answer is this late. This is less than the second after which the kernel
/// repeats the first packet, and enough to measure a link with a wrong delay.
const ALLOWANCE: Duration = Duration::from_millis(500);

/// The same if packets are lost on purpose, since then many connects are given up.
const LOSSY_ALLOWANCE: Duration = Duration::from_millis(25);

/// How often to look whether the lab still works.
const LOOK: Duration = Duration::from_millis(2);

pub(crate) struct TimedLink {
    pub(crate) rtt: LinkRtt,
    /// The first connection, kept to read its congestion control.
    pub(crate) first: Option<TcpStream>,
}

struct ConnectSchedule {
    start: Instant,
    last_chance: Instant,
    deadline: Instant,
    /// A link with a longer time seems too long.
    limit_ms: f64,
    /// How long to wait for an answer. If the first packet of a connect is sent again, the connect's time
    /// is not the round-trip time of the link.
    give_up: Duration,
}

impl ConnectSchedule {
    fn new(spec: &LabSpec, limit_ms: f64) -> ConnectSchedule {
        let start = Instant::now();
        let rtt = spec.rtt.duration();
        let allowance = match spec.network.loss_percent {
            Some(_) => LOSSY_ALLOWANCE,
            None => ALLOWANCE,
        };
        let jitter = spec.network.jitter_ms.map(Rtt::duration);
        ConnectSchedule {
            start,
            last_chance: start + 5 * rtt + SECOND_CHANCE,
            deadline: start + 6 * rtt + PATIENCE,
            limit_ms,
            give_up: rtt + 2 * jitter.unwrap_or_default() + allowance,
        }
    }

    fn is_done(&self, connects_ms: &[f64], now: Instant) -> bool {
        let has_all = connects_ms.len() >= CONNECTS;
        // Also true for a link without any answer.
        let seems_long = connects_ms.iter().all(|ms| *ms > self.limit_ms);
        match now < self.last_chance {
            true => has_all && (!seems_long || connects_ms.len() >= MOST_CONNECTS),
            false => has_all || !seems_long || now >= self.deadline,
        }
    }

    fn time(&self, link: u32, address: SocketAddr, stop: &AtomicBool) -> io::Result<TimedLink> {
        let stagger = STAGGER * link;
        thread::sleep((self.start + stagger).saturating_duration_since(Instant::now()));
        let (mut connects_ms, mut lost, mut first) = (Vec::new(), 0, None);
        while !self.is_done(&connects_ms, Instant::now()) && !stop.load(Ordering::Relaxed) {
            let start = Instant::now();
            match TcpStream::connect_timeout(&address, self.give_up) {
                Ok(stream) => {
                    connects_ms.push(start.elapsed().as_secs_f64() * 1e3);
                    let reset = libc::linger {
                        l_onoff: 1,
                        l_linger: 0,
                    };
                    // Closes with a reset: an orderly close would take another round trip.
                    setsockopt(&stream, sockopt::Linger, &reset)?;
                    first.get_or_insert(stream);
                }
                Err(error) if error.kind() == io::ErrorKind::TimedOut => lost += 1,
                Err(error) => return Err(error),
            }
        }
        let rtt = LinkRtt { connects_ms, lost };
        Ok(TimedLink { rtt, first })
    }
}

/// Connects over all links at the same time, and several times in a row over each link. A link whose
/// shortest time is over `limit_ms` is tried more often. Ends early once nothing `works`.
pub(crate) fn connect_all(
    addresses: impl Iterator<Item = SocketAddr>,
    spec: &LabSpec,
    limit_ms: f64,
    works: &mut dyn FnMut() -> bool,
) -> io::Result<Vec<TimedLink>> {
    let schedule = &ConnectSchedule::new(spec, limit_ms);
    let stop = &AtomicBool::new(false);
    thread::scope(|scope| {
        let timing = std::iter::zip(0.., addresses).map(|(link, address)| {
            thread::Builder::new().spawn_scoped(scope, move || schedule.time(link, address, stop))
        });
        let timing = timing.collect::<io::Result<Vec<_>>>()?;
        while !timing.iter().all(|link| link.is_finished()) {
            thread::sleep(LOOK);
            stop.fetch_or(!works(), Ordering::Relaxed);
        }
        let panicked = |_| Err(io::Error::other("a thread panicked"));
        let links = timing.into_iter().map(|link| link.join());
        links.map(|link| link.unwrap_or_else(panicked)).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_the_last_chance_one_answer_is_sufficient_only_if_it_is_not_too_long() {
        let schedule = ConnectSchedule::new(&LabSpec::of_tests(), 20.6);
        for (connects_ms, is_done) in [
            (&[][..], false),
            (&[20.1], true),
            (&[23.6], false),
            (&[23.6, 20.1], true),
            (&[23.6, 23.6, 23.6, 23.6], true),
        ] {
            let found = schedule.is_done(connects_ms, schedule.last_chance);
            assert_eq!(found, is_done, "{connects_ms:?}");
        }
        assert!(!schedule.is_done(&[20.1], schedule.start));
        assert!(!schedule.is_done(&[23.6; 4], schedule.start));
        assert!(schedule.is_done(&[20.1; 4], schedule.start));
    }
}
