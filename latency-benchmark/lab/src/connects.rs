//! Times TCP connects over many links at once.

use std::{
    io,
    net::SocketAddr,
    os::fd::{AsRawFd, OwnedFd},
    time::{Duration, Instant},
};

use nix::{
    errno::Errno,
    sys::{
        epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags},
        socket::{
            AddressFamily, SockFlag, SockType, SockaddrStorage, connect, getsockopt, setsockopt,
            socket, sockopt,
        },
    },
};

use crate::{Jitter, LabSpec, LinkRtt, sys};

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

/// One link: its current connect, and the results of the earlier ones.
pub(crate) struct TimedLink {
    address: SocketAddr,
    pending: Option<(OwnedFd, Instant)>,
    pub(crate) rtt: LinkRtt,
    /// The first connection, kept to read its congestion control. The others are closed before the next
    /// connect, since hundreds of links would otherwise exhaust the file descriptors.
    pub(crate) first: Option<OwnedFd>,
}

impl TimedLink {
    fn new(address: SocketAddr) -> TimedLink {
        TimedLink {
            address,
            pending: None,
            rtt: LinkRtt {
                connects_ms: Vec::with_capacity(CONNECTS),
                lost: 0,
            },
            first: None,
        }
    }

    /// Starts a connect. `epoll` reports its end as event `index`.
    fn connect(&mut self, epoll: &Epoll, index: usize) -> io::Result<()> {
        let family = match self.address {
            SocketAddr::V4(_) => AddressFamily::Inet,
            SocketAddr::V6(_) => AddressFamily::Inet6,
        };
        let socket = socket(
            family,
            SockType::Stream,
            SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK,
            None,
        )?;
        // Closes with a reset: an orderly close would take another round trip.
        let reset = libc::linger {
            l_onoff: 1,
            l_linger: 0,
        };
        setsockopt(&socket, sockopt::Linger, &reset)?;
        let start = Instant::now();
        match connect(socket.as_raw_fd(), &SockaddrStorage::from(self.address)) {
            Ok(()) | Err(Errno::EINPROGRESS) => {}
            Err(errno) => return Err(errno.into()),
        }
        let events = EpollFlags::EPOLLOUT | EpollFlags::EPOLLONESHOT;
        epoll.add(&socket, EpollEvent::new(events, index as u64))?;
        self.pending = Some((socket, start));
        Ok(())
    }

    /// Records the connect that ended at `now`.
    fn finish(&mut self, now: Instant) -> io::Result<()> {
        let Some((socket, start)) = self.pending.take() else {
            return Ok(());
        };
        match getsockopt(&socket, sockopt::SocketError)? {
            0 => {}
            error => return Err(io::Error::from_raw_os_error(error)),
        }
        self.rtt.connects_ms.push((now - start).as_secs_f64() * 1e3);
        self.first.get_or_insert(socket);
        Ok(())
    }
}

/// When connects start and end.
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
        let allowance = if spec.loss.is_some() {
            LOSSY_ALLOWANCE
        } else {
            ALLOWANCE
        };
        let jitter = spec.jitter.map_or(Duration::ZERO, Jitter::duration);
        ConnectSchedule {
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

    /// When the current connect counts as lost.
    fn lost_at(&self, link: &TimedLink) -> Option<Instant> {
        let (_, start) = link.pending.as_ref()?;
        Some(*start + self.give_up)
    }

    /// Whether a link needs no more connects.
    fn is_done(&self, link: &TimedLink, now: Instant) -> bool {
        let tries = link.rtt.connects_ms.len();
        let has_chance = || tries < MOST_CONNECTS && now < self.last_chance;
        tries >= CONNECTS && !(self.seems_long(link) && has_chance())
    }

    /// Whether the results of a link are sufficient when the time is up.
    fn is_known(&self, link: &TimedLink) -> bool {
        link.rtt.connects_ms.len() >= CONNECTS || !self.seems_long(link)
    }

    /// Also true for a link without any answer.
    fn seems_long(&self, link: &TimedLink) -> bool {
        link.rtt.connects_ms.iter().all(|ms| *ms > self.limit_ms)
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
    let mut connects = Connects {
        links: addresses.map(TimedLink::new).collect(),
        started: 0,
        epoll: Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?,
        schedule: ConnectSchedule::new(spec, limit_ms),
    };
    while connects.start_due()? && works() {
        connects.wait()?;
    }
    Ok(connects.links)
}

struct Connects {
    links: Vec<TimedLink>,
    /// Number of links with at least one connect.
    started: usize,
    epoll: Epoll,
    schedule: ConnectSchedule,
}

impl Connects {
    /// Starts the connects that are due, and repeats those that were lost. Returns whether there is anything
    /// to wait for.
    fn start_due(&mut self) -> io::Result<bool> {
        let now = Instant::now();
        for (index, link) in self.links.iter_mut().enumerate() {
            if self.schedule.lost_at(link).is_some_and(|lost| lost <= now) {
                link.rtt.lost += 1;
                link.connect(&self.epoll, index)?;
            }
        }
        while self.started < self.links.len()
            && Instant::now() >= self.schedule.start_of(self.started)
        {
            self.links[self.started].connect(&self.epoll, self.started)?;
            self.started += 1;
        }
        Ok(!self.is_over(now))
    }

    fn is_over(&self, now: Instant) -> bool {
        let all_started = self.started == self.links.len();
        let none_pending = || self.links.iter().all(|link| link.pending.is_none());
        let all_known = || self.links.iter().all(|link| self.schedule.is_known(link));
        (all_started && none_pending())
            || (now >= self.schedule.last_chance && all_known())
            || now >= self.schedule.deadline
    }

    /// Waits for answers until the next connect is due.
    fn wait(&mut self) -> io::Result<()> {
        let mut events = [EpollEvent::empty(); 64];
        let until = self.next_moment();
        let ready = sys::epoll_wait(&self.epoll, &mut events, until - Instant::now())?;
        let now = Instant::now();
        for event in ready {
            let index = usize::try_from(event.data()).expect("an index was given");
            let link = &mut self.links[index];
            link.finish(now)?;
            if !self.schedule.is_done(link, now) {
                link.connect(&self.epoll, index)?;
            }
        }
        Ok(())
    }

    fn next_moment(&self) -> Instant {
        let start = (self.started < self.links.len()).then(|| self.schedule.start_of(self.started));
        let end = Some(self.schedule.last_chance).filter(|chance| *chance > Instant::now());
        let lost = self
            .links
            .iter()
            .filter_map(|link| self.schedule.lost_at(link));
        lost.chain(start)
            .chain(end)
            .min()
            .unwrap_or(self.schedule.deadline)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_answer_is_sufficient_only_if_it_is_not_too_long() {
        let schedule = ConnectSchedule::new(&LabSpec::of_tests(), 20.6);
        let mut link = TimedLink::new(([127, 0, 0, 1], 1).into());
        for (connects_ms, known) in [
            (&[][..], false),
            (&[20.1], true),
            (&[23.6], false),
            (&[23.6, 20.1], true),
            (&[23.6, 23.6, 23.6, 23.6], true),
        ] {
            link.rtt.connects_ms = connects_ms.to_vec();
            assert_eq!(schedule.is_known(&link), known, "{connects_ms:?}");
        }
    }
}
