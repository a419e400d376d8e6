//! Timing TCP connects over many links at once.

use std::{
    io,
    net::Ipv4Addr,
    os::fd::{AsRawFd, OwnedFd},
    time::{Duration, Instant},
};

use nix::{
    errno::Errno,
    sys::{
        epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags},
        socket::{
            AddressFamily, SockFlag, SockType, SockaddrIn, connect, getsockopt, setsockopt, socket,
            sockopt,
        },
    },
};

use crate::{Jitter, LabSpec, sys, wiring::peer_address};

/// Connects per link, one after the other.
const CONNECTS: usize = 4;

/// For how long, beyond five round trips, a link that seems too long is tried again: other load can
/// make it seem so, but never too short. After that, one answer per link is enough if it does not
/// seem too long: where packets are lost, there may be no more.
const SECOND_CHANCE: Duration = Duration::from_secs(3);

/// Fewer than a listener lets wait, since nobody accepts them.
const MOST_CONNECTS: usize = 100;

/// Between the first connects of two links, so that they do not wait for each other's packets.
const STAGGER: Duration = Duration::from_micros(100);

/// How long beyond six round trips a link that does not answer is tried.
const PATIENCE: Duration = Duration::from_secs(8);

/// How late an answer may be before its connect is given up: less than the second after which the
/// kernel sends a first packet again, and enough to find out how wrong a wrong link is.
const ALLOWANCE: Duration = Duration::from_millis(500);

/// The same where packets are lost on purpose, so that it happens often.
const LOSSY_ALLOWANCE: Duration = Duration::from_millis(25);

/// One link: the connect under way, and those that came back.
pub(crate) struct Link {
    address: SockaddrIn,
    pending: Option<(OwnedFd, Instant)>,
    pub(crate) connects_ms: Vec<f64>,
    /// Those given up.
    pub(crate) lost: u32,
    /// The first connection, kept to be asked for its congestion control. The others are closed
    /// before the next connect, since hundreds of links would otherwise exhaust the descriptors.
    pub(crate) first: Option<OwnedFd>,
}

impl Link {
    fn new(address: Ipv4Addr, port: u16) -> Link {
        let [a, b, c, d] = address.octets();
        Link {
            address: SockaddrIn::new(a, b, c, d, port),
            pending: None,
            connects_ms: Vec::with_capacity(CONNECTS),
            lost: 0,
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
}

/// When connects start and end.
struct Plan {
    start: Instant,
    last_chance: Instant,
    deadline: Instant,
    /// A link that takes longer seems too long.
    limit_ms: f64,
    /// How long an answer is waited for. The time of a connect whose first packet had to be sent
    /// again says nothing of the link.
    give_up: Duration,
}

impl Plan {
    fn new(spec: &LabSpec, limit_ms: f64) -> Plan {
        let start = Instant::now();
        let rtt = spec.rtt.duration();
        let allowance = if spec.loss.is_some() {
            LOSSY_ALLOWANCE
        } else {
            ALLOWANCE
        };
        let jitter = spec.jitter.map_or(Duration::ZERO, Jitter::duration);
        Plan {
            start,
            last_chance: start + 5 * rtt + SECOND_CHANCE,
            deadline: start + 6 * rtt + PATIENCE,
            limit_ms,
            give_up: rtt + 2 * jitter + allowance,
        }
    }

    /// When the first connect of a link starts.
    fn start_of(&self, index: usize) -> Instant {
        self.start + STAGGER * u32::try_from(index).expect("peers are few")
    }

    /// When the connect under way is taken for lost.
    fn lost_at(&self, link: &Link) -> Option<Instant> {
        let (_, start) = link.pending.as_ref()?;
        Some(*start + self.give_up)
    }

    /// Whether a link has been tried often enough.
    fn is_done(&self, link: &Link, now: Instant) -> bool {
        let tries = link.connects_ms.len();
        let has_chance = || tries < MOST_CONNECTS && now < self.last_chance;
        tries >= CONNECTS && !(self.seems_long(link) && has_chance())
    }

    /// Whether enough is known of a link to let it be when the time is up.
    fn is_known(&self, link: &Link) -> bool {
        link.connects_ms.len() >= CONNECTS || !self.seems_long(link)
    }

    /// So does a link that never answered.
    fn seems_long(&self, link: &Link) -> bool {
        link.connects_ms.iter().all(|ms| *ms > self.limit_ms)
    }
}

/// Connects over all links at the same time, over each one after the other. A link whose least time
/// is over `limit_ms` is tried more often.
pub(crate) fn connect_all(ports: &[u16], spec: &LabSpec, limit_ms: f64) -> io::Result<Vec<Link>> {
    let addressed = |(peer, port): (usize, &u16)| Link::new(peer_address(peer), *port);
    let mut connects = Connects {
        links: ports.iter().enumerate().map(addressed).collect(),
        started: 0,
        epoll: Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?,
        plan: Plan::new(spec, limit_ms),
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
                link.lost += 1;
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
        let all_known = || self.links.iter().all(|link| self.plan.is_known(link));
        (all_started && none_pending())
            || (now >= self.plan.last_chance && all_known())
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
    use crate::{Cores, Placement, Sharing};

    #[test]
    fn a_single_answer_settles_only_that_a_link_is_not_too_long() {
        let placement = Placement {
            central: 0,
            peers: Cores::one(0),
            sharing: Sharing::Core,
        };
        let plan = Plan::new(&LabSpec::new(1, placement), 20.6);
        let mut link = Link::new(Ipv4Addr::LOCALHOST, 1);
        for (connects_ms, known) in [
            (&[][..], false),
            (&[20.1], true),
            (&[23.6], false),
            (&[23.6, 20.1], true),
            (&[23.6, 23.6, 23.6, 23.6], true),
        ] {
            link.connects_ms = connects_ms.to_vec();
            assert_eq!(plan.is_known(&link), known, "{connects_ms:?}");
        }
    }
}
