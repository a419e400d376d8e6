//! Measures the round-trip time of every link by timing TCP connects. A connect returns when the answer to
//! its first packet arrives, after one round trip. Congestion control does not affect it.

use std::net::{SocketAddr, TcpListener};
use std::os::fd::AsFd;
use std::time::Instant;
use std::{env, io};

use nix::sys::socket::{getsockopt, sockopt};

use crate::connects::{TimedLink, connect_all};
use crate::netns::{Netns, on_another_thread};
use crate::placement::move_to;
use crate::wiring::{Wires, peer_address};
use crate::{Cores, LabSpec, Placement, Rtt, RttReport};

/// Environment variable with the least tolerance, for machines on which a TCP connect without delay takes longer, as emulated ones.
const LAB_TOLERANCE_MS: &str = "LAB_TOLERANCE_MS";

/// max(0.3 ms, 3 %), plus the effect of jitter on the shortest of a few round trips.
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

/// Gives up when `works` says that the lab does not any more.
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
    let addresses = listeners.iter().map(TcpListener::local_addr);
    let addresses = addresses.collect::<io::Result<Vec<SocketAddr>>>()?;
    let tolerance_ms = tolerance_ms(spec)?;
    let core = Cores::one(spec.network.placement.central);
    let links = wires.central.run(|| {
        move_to(&core)?;
        let addresses = addresses.into_iter();
        connect_all(addresses, spec, spec.rtt.ms() + tolerance_ms, works)
    })?;
    let accepted = listeners[0].accept().ok();
    Ok(RttReport {
        tolerance_ms: Some(tolerance_ms),
        congestion_control_peers: accepted.and_then(|(stream, _)| congestion_control(&stream)),
        ..report(spec.rtt, links, start)
    })
}

/// The same for links that are there anyway, with whatever round trips. The longest is expected to be `rtt`.
pub fn time_links(
    addresses: &[SocketAddr],
    rtt: Rtt,
    placement: &Placement,
) -> io::Result<RttReport> {
    let start = Instant::now();
    let spec = LabSpec::new(addresses.len(), placement.clone());
    let connects = || {
        move_to(&Cores::one(placement.central))?;
        let addresses = addresses.iter().copied();
        connect_all(addresses, &spec, f64::INFINITY, &mut || true)
    };
    let links = on_another_thread(connects)?;
    let silent = |link: &TimedLink| link.rtt.connects_ms.is_empty();
    match links.iter().position(silent) {
        Some(at) => Err(io::Error::other(format!(
            "no TCP connect to {} was answered (a firewall may drop its packets)",
            addresses[at]
        ))),
        None => Ok(report(rtt, links, start)),
    }
}

fn report(asked_ms: Rtt, links: Vec<TimedLink>, start: Instant) -> RttReport {
    RttReport {
        asked_ms,
        tolerance_ms: None,
        congestion_control_central: links[0].first.as_ref().and_then(congestion_control),
        congestion_control_peers: None,
        links: links.into_iter().map(|link| link.rtt).collect(),
        took_ms: start.elapsed().as_secs_f64() * 1e3,
    }
}

fn congestion_control(socket: &impl AsFd) -> Option<String> {
    let name = getsockopt(socket, sockopt::TcpCongestion).ok()?;
    Some(name.to_string_lossy().trim_end_matches('\0').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LinkRtt;

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
}
