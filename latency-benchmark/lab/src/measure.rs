//! The round-trip time of every link, by timing TCP connects: a connect returns when the answer to
//! its first packet is there, one round trip later, before any congestion control has a say.

use std::{
    fmt, io,
    net::{Ipv4Addr, TcpListener},
    os::fd::{AsFd, AsRawFd, OwnedFd},
    time::{Duration, Instant},
};

use nix::{
    errno::Errno,
    sched::sched_setaffinity,
    sys::{
        epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags},
        socket::{
            AddressFamily, SockFlag, SockType, SockaddrIn, connect, getsockopt, setsockopt, socket,
            sockopt,
        },
    },
    unistd::Pid,
};
use serde::{Deserialize, Serialize};

use crate::{
    Cores, Jitter, LabSpec, Rtt,
    netns::Netns,
    sys,
    wiring::{Wires, peer_address},
};

/// Connects per link, one after the other.
const CONNECTS: usize = 4;

/// For how long, beyond five round trips, a link that seems too long is tried again: other load can
/// make it seem so, but never too short. After that, one answer per link is enough.
const SECOND_CHANCE: Duration = Duration::from_millis(50);

/// Fewer than a listener lets wait, since nobody accepts them.
const MOST_CONNECTS: usize = 100;

/// Between the first connects of two links, so that they do not wait for each other's packets.
const STAGGER: Duration = Duration::from_micros(100);

/// A lost packet is sent again after a second, then after two, then after four.
const PATIENCE: Duration = Duration::from_secs(8);

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
    let core = Cores::one(spec.placement.central);
    let links = wires.central.run(|| {
        sched_setaffinity(Pid::from_raw(0), &core.affinity()?)?;
        connect_all(&ports, spec)
    })?;
    let accepted = listeners[0].accept().ok();
    Ok(RttReport {
        asked_ms: spec.rtt,
        tolerance_ms: tolerance_ms(spec),
        congestion_control_central: links[0].first.as_ref().and_then(congestion_control),
        congestion_control_peers: accepted
            .as_ref()
            .and_then(|(stream, _)| congestion_control(stream)),
        links: links.into_iter().map(Link::into_rtt).collect(),
        took_ms: start.elapsed().as_secs_f64() * 1e3,
    })
}

fn congestion_control(socket: &impl AsFd) -> Option<String> {
    let name = getsockopt(socket, sockopt::TcpCongestion).ok()?;
    Some(name.to_string_lossy().trim_end_matches('\0').to_owned())
}

/// One link: the connect under way, and those that came back.
struct Link {
    address: SockaddrIn,
    pending: Option<(OwnedFd, Instant)>,
    connects_ms: Vec<f64>,
    /// The first connection, kept to be asked for its congestion control. The others are closed
    /// before the next connect, since hundreds of links would otherwise exhaust the descriptors.
    first: Option<OwnedFd>,
}

impl Link {
    fn new(address: Ipv4Addr, port: u16) -> Link {
        let [a, b, c, d] = address.octets();
        Link {
            address: SockaddrIn::new(a, b, c, d, port),
            pending: None,
            connects_ms: Vec::with_capacity(CONNECTS),
            first: None,
        }
    }

    /// Starts a connect whose end `epoll` reports as event `index`.
    fn connect(&mut self, epoll: &Epoll, index: usize) -> io::Result<()> {
        let socket = socket(
            AddressFamily::Inet,
            SockType::Stream,
            SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK,
            None,
        )?;
        // A reset in place of a farewell, which would go on for another round trip.
        let reset = libc::linger {
            l_onoff: 1,
            l_linger: 0,
        };
        setsockopt(&socket, sockopt::Linger, &reset)?;
        let start = Instant::now();
        match connect(socket.as_raw_fd(), &self.address) {
            Ok(()) | Err(Errno::EINPROGRESS) => {}
            Err(errno) => return Err(errno.into()),
        }
        let events = EpollFlags::EPOLLOUT | EpollFlags::EPOLLONESHOT;
        epoll.add(&socket, EpollEvent::new(events, index as u64))?;
        self.pending = Some((socket, start));
        Ok(())
    }

    /// Takes note of the connect that ended at `now`.
    fn finish(&mut self, now: Instant) -> io::Result<()> {
        let Some((socket, start)) = self.pending.take() else {
            return Ok(());
        };
        match getsockopt(&socket, sockopt::SocketError)? {
            0 => {}
            error => return Err(io::Error::from_raw_os_error(error)),
        }
        self.connects_ms.push((now - start).as_secs_f64() * 1e3);
        self.first.get_or_insert(socket);
        Ok(())
    }

    fn into_rtt(self) -> LinkRtt {
        LinkRtt {
            connects_ms: self.connects_ms,
        }
    }
}

/// When connects start and end.
struct Plan {
    start: Instant,
    last_chance: Instant,
    deadline: Instant,
    limit_ms: f64,
    /// How long an answer is waited for on links that lose packets. The time of a connect whose
    /// first packet had to be sent again says nothing of the link.
    give_up: Option<Duration>,
}

impl Plan {
    fn new(spec: &LabSpec) -> Plan {
        let start = Instant::now();
        let rtt = spec.rtt.duration();
        let jitter = spec.jitter.map_or(Duration::ZERO, Jitter::duration);
        Plan {
            start,
            last_chance: start + 5 * rtt + SECOND_CHANCE,
            deadline: start + 6 * rtt + PATIENCE,
            limit_ms: spec.rtt.ms() + tolerance_ms(spec),
            give_up: spec.loss.map(|_| rtt + 2 * jitter + SECOND_CHANCE / 2),
        }
    }

    /// When the first connect of a link starts.
    fn start_of(&self, index: usize) -> Instant {
        self.start + STAGGER * u32::try_from(index).expect("peers are few")
    }

    /// When the connect under way is taken for lost.
    fn lost_at(&self, link: &Link) -> Option<Instant> {
        let (_, start) = link.pending.as_ref()?;
        Some(*start + self.give_up?)
    }

    /// Whether a link has been tried often enough.
    fn is_done(&self, link: &Link, now: Instant) -> bool {
        let tries = link.connects_ms.len();
        let seems_long = || link.connects_ms.iter().all(|ms| *ms > self.limit_ms);
        let has_chance = || tries < MOST_CONNECTS && now < self.last_chance;
        tries >= CONNECTS && !(seems_long() && has_chance())
    }
}

/// Connects over all links at the same time, over each one after the other.
fn connect_all(ports: &[u16], spec: &LabSpec) -> io::Result<Vec<Link>> {
    let addressed = |(peer, port): (usize, &u16)| Link::new(peer_address(peer), *port);
    let mut connects = Connects {
        links: ports.iter().enumerate().map(addressed).collect(),
        started: 0,
        epoll: Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?,
        plan: Plan::new(spec),
    };
    while connects.start_due()? {
        connects.wait()?;
    }
    Ok(connects.links)
}

struct Connects {
    links: Vec<Link>,
    /// How many of the links have been tried at all.
    started: usize,
    epoll: Epoll,
    plan: Plan,
}

impl Connects {
    /// Starts what is due, and again what was lost. Returns whether there is anything to wait for.
    fn start_due(&mut self) -> io::Result<bool> {
        let now = Instant::now();
        for (index, link) in self.links.iter_mut().enumerate() {
            if self.plan.lost_at(link).is_some_and(|lost| lost <= now) {
                link.connect(&self.epoll, index)?;
            }
        }
        while self.started < self.links.len() && Instant::now() >= self.plan.start_of(self.started)
        {
            self.links[self.started].connect(&self.epoll, self.started)?;
            self.started += 1;
        }
        Ok(!self.is_over(now))
    }

    fn is_over(&self, now: Instant) -> bool {
        let all_started = self.started == self.links.len();
        let none_pending = || self.links.iter().all(|link| link.pending.is_none());
        let all_answered = || self.links.iter().all(|link| !link.connects_ms.is_empty());
        (all_started && none_pending())
            || (now >= self.plan.last_chance && all_answered())
            || now >= self.plan.deadline
    }

    /// Waits for answers, until there is something to do.
    fn wait(&mut self) -> io::Result<()> {
        let mut events = [EpollEvent::empty(); 64];
        let until = self.next_moment();
        let ready = sys::epoll_wait(&self.epoll, &mut events, until - Instant::now())?;
        let now = Instant::now();
        for event in ready {
            let index = usize::try_from(event.data()).expect("an index was given");
            let link = &mut self.links[index];
            link.finish(now)?;
            if !self.plan.is_done(link, now) {
                link.connect(&self.epoll, index)?;
            }
        }
        Ok(())
    }

    fn next_moment(&self) -> Instant {
        let Plan {
            last_chance,
            deadline,
            ..
        } = self.plan;
        let start = (self.started < self.links.len()).then(|| self.plan.start_of(self.started));
        let end = Some(last_chance).filter(|chance| *chance > Instant::now());
        let lost = self.links.iter().filter_map(|link| self.plan.lost_at(link));
        lost.chain(start).chain(end).min().unwrap_or(deadline)
    }
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
