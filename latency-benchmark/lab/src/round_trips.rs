//! Measures the round-trip time of every link by timing TCP connects, over all links at once. A connect returns when the
//! answer to its first packet arrives, after one round trip. Congestion control does not affect it.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use std::{env, io, thread};

use nix::sys::socket::{getsockopt, setsockopt, sockopt};

use crate::LabSpec;
use crate::netns::{Netns, on_another_thread};
use crate::placement::move_thread_to;
use crate::wiring::{Wires, peer_address};
use run_format::{Cores, LinkRtt, Placement, Rtt, RttReport};

/// Environment variable with the least tolerance, for machines on which a TCP connect without delay takes longer, such as
/// emulated ones.
const LAB_TOLERANCE_MS: &str = "LAB_TOLERANCE_MS";

/// The larger of 0.3 ms and 3 % of the round-trip time, plus the effect of jitter on the shortest of a few round trips.
fn tolerance_ms(spec: &LabSpec) -> io::Result<f64> {
    let least_ms = match env::var(LAB_TOLERANCE_MS) {
        Err(_) => 0.3,
        Ok(text) => text.parse().map(Rtt::ms).map_err(|wrong| {
            let why = format!("{LAB_TOLERANCE_MS}: {wrong}");
            io::Error::new(io::ErrorKind::InvalidInput, why)
        })?,
    };
    let jitter_ms = spec.network.jitter_ms.map_or(0.0, Rtt::ms);
    Ok(f64::max(least_ms, 0.03 * spec.rtt.ms()) + 2.0 * jitter_ms)
}

/// Measures all links of a lab. Gives up when `works` says that the lab no longer works.
pub(crate) fn measure(
    wires: &Wires,
    spec: &LabSpec,
    works: &mut (dyn FnMut() -> bool + Send),
) -> io::Result<RttReport> {
    let start = Instant::now();
    let listeners = Netns::for_each(wires.peers.iter(), |peer| {
        let listener = TcpListener::bind((peer_address(peer), 0))?;
        listener.set_nonblocking(true)?;
        Ok(listener)
    })?;
    let addresses = listeners
        .iter()
        .map(TcpListener::local_addr)
        .collect::<io::Result<Vec<SocketAddr>>>()?;
    let tolerance_ms = tolerance_ms(spec)?;
    let core = Cores::one(spec.network.placement.central);
    let links = wires.central.run(|| {
        move_thread_to(&core)?;
        connect_all(&addresses, spec, spec.rtt.ms() + tolerance_ms, works)
    })?;
    let accepted = listeners[0].accept().ok();
    Ok(RttReport {
        tolerance_ms: Some(tolerance_ms),
        congestion_control_peers: accepted.and_then(|(stream, _)| congestion_control(&stream)),
        ..report(spec.rtt, links, start)
    })
}

/// Measures links that are not those of a lab, and so may have any round-trip time. The longest is expected to be `rtt`.
pub fn time_links(
    addresses: &[SocketAddr],
    rtt: Rtt,
    placement: &Placement,
) -> io::Result<RttReport> {
    let start = Instant::now();
    let spec = LabSpec::new(addresses.len(), placement.clone());
    let connects = || {
        move_thread_to(&Cores::one(placement.central))?;
        connect_all(addresses, &spec, f64::INFINITY, &mut || true)
    };
    let links = on_another_thread(connects)?;
    let is_silent = |link: &TimedLink| link.rtt.connects_ms.is_empty();
    match links.iter().position(is_silent) {
        Some(link) => Err(io::Error::other(format!(
            "no TCP connect to {} was answered (a firewall may drop its packets)",
            addresses[link]
        ))),
        None => Ok(report(rtt, links, start)),
    }
}

fn report(asked_ms: Rtt, links: Vec<TimedLink>, start: Instant) -> RttReport {
    RttReport {
        asked_ms,
        tolerance_ms: None,
        congestion_control_central: links[0]
            .first_connection
            .as_ref()
            .and_then(congestion_control),
        congestion_control_peers: None,
        links: links.into_iter().map(|link| link.rtt).collect(),
        took_ms: start.elapsed().as_secs_f64() * 1e3,
    }
}

fn congestion_control(socket: &impl AsFd) -> Option<String> {
    let name = getsockopt(socket, sockopt::TcpCongestion).ok()?;
    Some(name.to_string_lossy().trim_end_matches('\0').to_owned())
}

/// The number of connects over each link, one after the other.
const CONNECTS: usize = 4;

/// A link that seems too long is tried again for this time after five round trips: other load can make a
/// link seem too long, but never too short. After that, one answer that is not too long is enough: with
/// packet loss, there may be only one.
const SECOND_CHANCE: Duration = Duration::from_secs(3);

/// The most connects over a link. Nothing accepts them, so there are fewer than the backlog of a listener has room for.
const MOST_CONNECTS: usize = 100;

/// Time between the first connects of two links, so that their packets do not delay each other.
const STAGGER: Duration = Duration::from_micros(100);

/// A link that does not answer is tried for this time after six round trips.
const PATIENCE: Duration = Duration::from_secs(8);

/// A connect is given up when its answer is this late. This is less than the second after which the kernel
/// repeats the first packet, and enough to measure a link with a wrong delay.
const ALLOWANCE: Duration = Duration::from_millis(500);

/// The allowance if packets are lost on purpose. It is short, because many connects are given up then.
const LOSSY_ALLOWANCE: Duration = Duration::from_millis(25);

/// The interval between looks whether the lab still works.
const LOOK: Duration = Duration::from_millis(2);

struct TimedLink {
    rtt: LinkRtt,
    /// It is kept to read its congestion control.
    first_connection: Option<TcpStream>,
}

struct ConnectSchedule {
    start: Instant,
    /// The time until which a link that seems too long is tried again.
    second_chance_ends: Instant,
    /// The time until which a link that does not answer is tried again.
    deadline: Instant,
    /// A link with a longer time seems too long.
    limit_ms: f64,
    /// The time for which a connect waits for an answer. If the first packet of a connect is sent again, the connect's time
    /// is not the round-trip time of the link.
    give_up: Duration,
}

impl ConnectSchedule {
    fn new(spec: &LabSpec, limit_ms: f64) -> ConnectSchedule {
        let start = Instant::now();
        let rtt = spec.rtt.duration();
        let loss = spec.network.loss_percent;
        let allowance = loss.map_or(ALLOWANCE, |_| LOSSY_ALLOWANCE);
        let jitter = spec.network.jitter_ms.map(Rtt::duration);
        ConnectSchedule {
            start,
            second_chance_ends: start + 5 * rtt + SECOND_CHANCE,
            deadline: start + 6 * rtt + PATIENCE,
            limit_ms,
            give_up: rtt + 2 * jitter.unwrap_or_default() + allowance,
        }
    }

    fn is_done(&self, connects_ms: &[f64], now: Instant) -> bool {
        let has_all = connects_ms.len() >= CONNECTS;
        // This is also true for a link without any answer.
        let seems_long = connects_ms.iter().all(|ms| *ms > self.limit_ms);
        match now < self.second_chance_ends {
            true => has_all && (!seems_long || connects_ms.len() >= MOST_CONNECTS),
            false => has_all || !seems_long || now >= self.deadline,
        }
    }

    fn time(&self, link: u32, address: SocketAddr, stop: &AtomicBool) -> io::Result<TimedLink> {
        let stagger = STAGGER * link;
        thread::sleep((self.start + stagger).saturating_duration_since(Instant::now()));
        let (mut connects_ms, mut lost, mut first_connection) = (Vec::new(), 0, None);
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
                    first_connection.get_or_insert(stream);
                }
                Err(error) if error.kind() == io::ErrorKind::TimedOut => lost += 1,
                Err(error) => return Err(error),
            }
        }
        Ok(TimedLink {
            rtt: LinkRtt { connects_ms, lost },
            first_connection,
        })
    }
}

/// Connects over all links at the same time, and several times in a row over each link. A link whose
/// shortest time is over `limit_ms` is tried more often. Ends early once the lab no longer `works`.
fn connect_all(
    addresses: &[SocketAddr],
    spec: &LabSpec,
    limit_ms: f64,
    works: &mut dyn FnMut() -> bool,
) -> io::Result<Vec<TimedLink>> {
    let schedule = &ConnectSchedule::new(spec, limit_ms);
    let stop = &AtomicBool::new(false);
    thread::scope(|scope| {
        let start = |(link, address): (u32, &SocketAddr)| {
            let address = *address;
            thread::Builder::new().spawn_scoped(scope, move || schedule.time(link, address, stop))
        };
        let threads: io::Result<Vec<_>> = std::iter::zip(0.., addresses).map(start).collect();
        let timing = threads?;
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

    fn report(asked: &str, links: &[&[f64]]) -> RttReport {
        let asked_ms: Rtt = asked.parse().expect("a time");
        RttReport {
            asked_ms,
            tolerance_ms: Some(f64::max(0.3, 0.03 * asked_ms.ms())),
            links: links
                .iter()
                .map(|connects_ms| LinkRtt {
                    connects_ms: connects_ms.to_vec(),
                    lost: 0,
                })
                .collect(),
            congestion_control_central: None,
            congestion_control_peers: None,
            took_ms: 1.0,
        }
    }

    #[test]
    fn only_the_shortest_connect_of_a_link_counts() {
        let report = report("50", &[&[55.0, 50.1, 50.2]]);
        assert_eq!(report.invalid(), None);
        assert_eq!(report.links[0].max_ms(), Some(55.0));
    }

    #[test]
    fn a_link_out_of_tolerance_is_reported_with_the_requested_and_the_measured_time() {
        let report = report("50", &[&[50.0], &[0.05], &[51.6]]);
        let invalid = report.invalid().expect("two links are out of tolerance");
        assert_eq!(
            invalid,
            "link to peer 2: asked for 50 ms, measured 0.050 ms (tolerance 1.50 ms); \
             1 other links are out of tolerance as well"
        );
    }

    #[test]
    fn a_link_without_any_answer_is_invalid() {
        let report = report("5", &[&[]]);
        let invalid = report.invalid().expect("nothing was measured");
        assert!(invalid.contains("no connect came back"), "{invalid}");
    }

    #[test]
    fn the_tolerance_of_small_times_is_absolute() {
        assert_eq!(report("0", &[&[0.29]]).invalid(), None);
        assert!(report("0", &[&[0.31]]).invalid().is_some());
        assert_eq!(report("5", &[&[5.3]]).invalid(), None);
    }

    #[test]
    fn at_the_last_chance_one_answer_is_sufficient_only_if_it_is_not_too_long() {
        let schedule = ConnectSchedule::new(&LabSpec::for_tests(), 20.6);
        for (connects_ms, is_done) in [
            (&[][..], false),
            (&[20.1], true),
            (&[23.6], false),
            (&[23.6, 20.1], true),
            (&[23.6, 23.6, 23.6, 23.6], true),
        ] {
            let found = schedule.is_done(connects_ms, schedule.second_chance_ends);
            assert_eq!(found, is_done, "{connects_ms:?}");
        }
        assert!(!schedule.is_done(&[20.1], schedule.start));
        assert!(!schedule.is_done(&[23.6; 4], schedule.start));
        assert!(schedule.is_done(&[20.1; 4], schedule.start));
    }
}
