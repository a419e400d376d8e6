//! The round-trip time of every link, by timing TCP connects: a connect returns when the answer to
//! its first packet is there, one round trip later, before any congestion control has a say.

use std::{fmt, io, net::TcpListener, os::fd::AsFd, time::Instant};

use nix::{
    sched::sched_setaffinity,
    sys::socket::{getsockopt, sockopt},
    unistd::Pid,
};
use serde::{Deserialize, Serialize};

use crate::{
    Cores, LabSpec, Rtt,
    connects::connect_all,
    netns::Netns,
    wiring::{Wires, peer_address},
};

/// What the links of a lab measure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RttReport {
    /// Of every link, as asked.
    pub asked_ms: Rtt,
    /// How far off the least of a link's round-trip times may be.
    pub tolerance_ms: f64,
    /// One entry per peer.
    pub links: Vec<LinkRtt>,
    /// The congestion control that central's connections use.
    pub congestion_control_central: Option<String>,
    /// The congestion control that the peers' connections use.
    pub congestion_control_peers: Option<String>,
    /// The time that the measurement took.
    pub took_ms: f64,
}

/// What one link measures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LinkRtt {
    /// Each connect's time, in order. Empty if none came back.
    pub connects_ms: Vec<f64>,
    /// Connects that were given up, because a packet was lost.
    pub lost: u32,
}

impl LinkRtt {
    /// The least, which is the least disturbed.
    pub fn min_ms(&self) -> Option<f64> {
        self.connects_ms.iter().copied().reduce(f64::min)
    }

    /// The most.
    pub fn max_ms(&self) -> Option<f64> {
        self.connects_ms.iter().copied().reduce(f64::max)
    }
}

impl RttReport {
    /// Whether peer `peer`'s link is what was asked for.
    pub fn is_valid(&self, peer: usize) -> bool {
        self.links[peer]
            .min_ms()
            .is_some_and(|min_ms| (min_ms - self.asked_ms.ms()).abs() <= self.tolerance_ms)
    }

    /// Why nothing measured in this lab counts: the first link out of tolerance, as one line.
    pub fn invalid(&self) -> Option<InvalidLink> {
        let mut out = (0..self.links.len()).filter(|peer| !self.is_valid(*peer));
        let first = out.next()?;
        Some(InvalidLink {
            link: first + 1,
            asked_ms: self.asked_ms,
            tolerance_ms: self.tolerance_ms,
            measured_ms: self.links[first].min_ms(),
            others: out.count(),
        })
    }
}

/// A link that is not what was asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InvalidLink {
    /// Counted from one.
    pub link: usize,
    /// As asked.
    pub asked_ms: Rtt,
    /// How far off it may be.
    pub tolerance_ms: f64,
    /// The least that was measured. Null if no connect came back.
    pub measured_ms: Option<f64>,
    /// How many more links are out of tolerance.
    pub others: usize,
}

impl fmt::Display for InvalidLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (link, asked) = (self.link, self.asked_ms);
        write!(f, "link to peer {link}: asked for {asked} ms, measured ")?;
        match self.measured_ms {
            Some(measured_ms) => write!(f, "{measured_ms:.3} ms")?,
            None => f.write_str("nothing, as no connect came back")?,
        }
        write!(f, " (tolerance {:.2} ms)", self.tolerance_ms)?;
        match self.others {
            0 => Ok(()),
            others => write!(f, "; {others} other links are out of tolerance as well"),
        }
    }
}

/// max(0.3 ms, 3 %), and what jitter may do to the luckiest of a few round trips.
fn tolerance_ms(spec: &LabSpec) -> f64 {
    let jitter_ms = spec.jitter.map_or(0.0, |jitter| 2.0 * jitter.ms());
    f64::max(0.3, 0.03 * spec.rtt.ms()) + jitter_ms
}

pub(crate) fn measure(wires: &Wires, spec: &LabSpec) -> io::Result<RttReport> {
    let start = Instant::now();
    let listeners = Netns::for_each(wires.peers.iter(), |peer| {
        let listener = TcpListener::bind((peer_address(peer), 0))?;
        listener.set_nonblocking(true)?;
        Ok(listener)
    })?;
    let ports: Vec<u16> = listeners
        .iter()
        .map(|listener| Ok(listener.local_addr()?.port()))
        .collect::<io::Result<_>>()?;
    let tolerance_ms = tolerance_ms(spec);
    let core = Cores::one(spec.placement.central);
    let links = wires.central.run(|| {
        sched_setaffinity(Pid::from_raw(0), &core.affinity()?)?;
        connect_all(&ports, spec, spec.rtt.ms() + tolerance_ms)
    })?;
    let accepted = listeners[0].accept().ok();
    Ok(RttReport {
        asked_ms: spec.rtt,
        tolerance_ms,
        congestion_control_central: links[0].first.as_ref().and_then(congestion_control),
        congestion_control_peers: accepted
            .as_ref()
            .and_then(|(stream, _)| congestion_control(stream)),
        links: links
            .into_iter()
            .map(|link| LinkRtt {
                connects_ms: link.connects_ms,
                lost: link.lost,
            })
            .collect(),
        took_ms: start.elapsed().as_secs_f64() * 1e3,
    })
}

fn congestion_control(socket: &impl AsFd) -> Option<String> {
    let name = getsockopt(socket, sockopt::TcpCongestion).ok()?;
    Some(name.to_string_lossy().trim_end_matches('\0').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(asked: &str, links: &[&[f64]]) -> RttReport {
        let asked_ms: Rtt = asked.parse().expect("a time");
        RttReport {
            asked_ms,
            tolerance_ms: f64::max(0.3, 0.03 * asked_ms.ms()),
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
    fn the_least_of_a_links_connects_counts() {
        let report = report("50", &[&[55.0, 50.1, 50.2]]);
        assert_eq!(report.invalid(), None);
        assert_eq!(report.links[0].max_ms(), Some(55.0));
    }

    #[test]
    fn a_link_out_of_tolerance_is_named_with_what_was_asked_and_measured() {
        let report = report("50", &[&[50.0], &[0.05], &[51.6]]);
        let invalid = report.invalid().expect("two links are out of tolerance");
        assert_eq!(
            invalid.to_string(),
            "link to peer 2: asked for 50 ms, measured 0.050 ms (tolerance 1.50 ms); \
             1 other links are out of tolerance as well"
        );
    }

    #[test]
    fn a_link_that_nothing_came_back_over_is_invalid() {
        let report = report("5", &[&[]]);
        let invalid = report.invalid().expect("nothing was measured");
        assert_eq!(invalid.measured_ms, None);
        assert!(invalid.to_string().contains("no connect came back"));
    }

    #[test]
    fn small_times_have_an_absolute_tolerance() {
        assert_eq!(report("0", &[&[0.29]]).invalid(), None);
        assert!(report("0", &[&[0.31]]).invalid().is_some());
        assert_eq!(report("5", &[&[5.3]]).invalid(), None);
    }
}
