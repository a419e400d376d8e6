//! The main function of the delay line, and the packets that it holds in each queue.

use std::collections::VecDeque;
use std::io::{self, BufRead};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};
use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::prctl;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::socket::{
    AddressFamily, SockFlag, SockType, getsockopt, setsockopt, socket, sockopt,
};
use nix::sys::time::TimeVal;
use nix::sys::timerfd::{
    ClockId as TimerClock, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags,
};
use nix::time::ClockId;
use program::print_line;
use serde::{Deserialize, Serialize};

use super::queue::{PacketQueue, user_dropped};
use crate::netns::move_thread_into;
use crate::placement::move_thread_to;
use crate::sys;
use run_format::{Cores, DelayLineReport, QueueReport, SchedulingClass};

pub(crate) const READY: &str = "ready";

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct DelayLineConfig {
    pub(crate) delay_ns: u64,
    pub(crate) cores: Cores,
    /// The paths of the namespaces, central's first.
    pub(crate) namespaces: Vec<PathBuf>,
}

/// Delays packets until standard input ends, then prints a report.
///
/// Reads its configuration from standard input. Call it before any other thread exists.
pub fn run() -> Result<()> {
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    let config: DelayLineConfig =
        serde_json::from_str(&line).context("the configuration on standard input is invalid")?;
    move_thread_to(&config.cores)?;
    let scheduling = raise_priority()?;
    let bound = bind_all(&config)?;
    // Ctrl-C sends SIGINT to the whole process group, but the owner decides when the delay line ends.
    SigSet::from_iter([Signal::SIGINT, Signal::SIGTERM]).thread_block()?;
    let _stamping = stamp_packets()?;
    print_line(READY);
    let held = delay_until_end(bound)?;
    let report = report(&config, held, scheduling)?;
    print_line(serde_json::to_string(&report)?);
    Ok(())
}

/// Reduces the wake-up latency of this process: its timers expire on time instead of up to 50 µs late, and
/// the scheduler prefers it to other processes.
fn raise_priority() -> nix::Result<SchedulingClass> {
    const SLICE: Duration = Duration::from_micros(100);
    prctl::set_timerslack(1)?;
    if sys::schedule_fifo().is_ok() {
        return Ok(SchedulingClass::Fifo);
    }
    Ok(match sys::schedule_short_slice(SLICE) {
        Ok(()) => SchedulingClass::ShortSlice,
        Err(_) => SchedulingClass::Ordinary,
    })
}

fn bind_all(config: &DelayLineConfig) -> Result<Vec<HeldPackets>> {
    let bind = |(number, namespace): (usize, &PathBuf)| {
        let name = match number {
            0 => "central".to_owned(),
            peer => format!("peer {peer}"),
        };
        let queue = move_thread_into(namespace)
            .and_then(|()| PacketQueue::bind())
            .with_context(|| format!("the queue of {name} could not be bound"))?;
        Ok(HeldPackets::new(name, queue, config.delay_ns))
    };
    config.namespaces.iter().enumerate().map(bind).collect()
}

/// While this socket is open, the kernel notes the arrival time of packets. The delay counts from that time,
/// even if the delay line receives a packet late.
fn stamp_packets() -> nix::Result<impl AsFd> {
    let socket = socket(
        AddressFamily::Inet,
        SockType::Datagram,
        SockFlag::SOCK_CLOEXEC,
        None,
    )?;
    setsockopt(&socket, sockopt::ReceiveTimestampns, &true)?;
    Ok(socket)
}

fn delay_until_end(mut held: Vec<HeldPackets>) -> nix::Result<Vec<HeldPackets>> {
    let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
    // The timeout of `epoll_wait` is in whole milliseconds.
    let timer = TimerFd::new(TimerClock::CLOCK_MONOTONIC, TimerFlags::TFD_CLOEXEC)?;
    let stdin = io::stdin();
    let queues = held.iter().map(|held| held.queue.socket.as_fd());
    // An event has the index of its queue, or the next index for standard input, or the one after that for the timer.
    let all = queues.chain([stdin.as_fd(), timer.as_fd()]);
    for (index, fd) in all.enumerate() {
        epoll.add(fd, EpollEvent::new(EpollFlags::EPOLLIN, index as u64))?;
    }
    let mut events = [EpollEvent::empty(); 64];
    loop {
        let wait = release_due(&mut held)?;
        timer.set(Expiration::OneShot(wait.into()), TimerSetTimeFlags::empty())?;
        let ready = match epoll.wait(&mut events, EpollTimeout::NONE) {
            Err(Errno::EINTR) => continue,
            ready => ready?,
        };
        for event in &events[..ready] {
            let index = event.data() as usize;
            if index == held.len() {
                // Standard input has ended.
                return Ok(held);
            }
            if let Some(held) = held.get_mut(index) {
                held.arrive()?;
            }
        }
    }
}

/// Releases the packets that are due, and returns the time until the next one is. It is never zero, which would stop a timer.
fn release_due(held: &mut [HeldPackets]) -> nix::Result<Duration> {
    const IDLE: Duration = Duration::from_secs(1);
    let mut now_ns = monotonic_ns()?;
    for held in &mut *held {
        if held.release(now_ns)? {
            // The kernel delivers the packets before the call returns, which takes a while.
            now_ns = monotonic_ns()?;
        }
    }
    let next = held.iter().filter_map(HeldPackets::next_release_ns).min();
    let wait = |next_ns: Ns| Duration::from_nanos(next_ns.saturating_sub(now_ns).max(1));
    Ok(next.map_or(IDLE, wait))
}

fn report(
    config: &DelayLineConfig,
    held: Vec<HeldPackets>,
    scheduling: SchedulingClass,
) -> nix::Result<DelayLineReport> {
    let queue = |(namespace, held): (&PathBuf, HeldPackets)| {
        // If this fails, the report says that the count is unknown.
        let entered = move_thread_into(namespace).ok();
        held.report(entered.and_then(|()| user_dropped()))
    };
    let queues = std::iter::zip(&config.namespaces, held).map(queue);
    let queues: nix::Result<_> = queues.collect();
    let usage = getrusage(UsageWho::RUSAGE_SELF)?;
    Ok(DelayLineReport {
        user_cpu_s: seconds(usage.user_time()),
        system_cpu_s: seconds(usage.system_time()),
        scheduling,
        queues: queues?,
    })
}

fn seconds(time: TimeVal) -> f64 {
    time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6
}

/// Packets received in one go. The limit keeps a queue under load from delaying the others.
const BATCH_PACKETS: usize = 64;

/// Packets are released up to this much too early, since waking up takes some tens of microseconds.
const LEAD_NS: Ns = 50_000;

/// A moment or a duration on the monotonic clock.
type Ns = u64;

/// A queue and the packets held in it. The delay is the same for all of them, so the first packet that
/// arrives is the first to be released.
struct HeldPackets {
    queue: PacketQueue,
    delay_ns: Ns,
    lead_ns: Ns,
    /// Each packet's id, and when it is due.
    packets: VecDeque<(u32, Ns)>,
    counts: QueueReport,
    late_sum_ns: u128,
}

impl HeldPackets {
    fn new(name: String, queue: PacketQueue, delay_ns: Ns) -> HeldPackets {
        HeldPackets {
            queue,
            delay_ns,
            // With a delay of microseconds, the whole lead would release packets on arrival.
            lead_ns: LEAD_NS.min(delay_ns / 2),
            packets: VecDeque::new(),
            counts: QueueReport {
                namespace: name,
                ..QueueReport::default()
            },
            late_sum_ns: 0,
        }
    }

    /// The time to release the next packet, with the lead subtracted.
    fn next_release_ns(&self) -> Option<Ns> {
        let (_, due_ns) = self.packets.front()?;
        Some(due_ns.saturating_sub(self.lead_ns))
    }

    /// Releases all packets that are due, with one message. Returns whether there were any.
    fn release(&mut self, now_ns: Ns) -> nix::Result<bool> {
        let mut last = None;
        let until_ns = now_ns + self.lead_ns;
        while let Some(&(id, due_ns)) = self.packets.front()
            && due_ns <= until_ns
        {
            self.packets.pop_front();
            let late_ns = now_ns.saturating_sub(due_ns);
            self.late_sum_ns += u128::from(late_ns);
            self.counts.max_late_us = self.counts.max_late_us.max(late_ns as f64 / 1e3);
            last = Some(id);
        }
        let Some(last) = last else {
            return Ok(false);
        };
        self.counts.verdicts += 1;
        self.queue.release(last)?;
        Ok(true)
    }

    fn arrive(&mut self) -> nix::Result<()> {
        let now_ns = monotonic_ns()?;
        // The kernel takes the arrival times of packets from the wall clock.
        let wall = Duration::from(ClockId::CLOCK_REALTIME.now()?);
        for _ in 0..BATCH_PACKETS {
            match self.queue.next() {
                Ok(Some(packet)) => {
                    let waited = packet.arrived.map_or(Duration::ZERO, |arrived| {
                        wall.saturating_sub(arrived).min(MAX_UNHEARD)
                    });
                    self.counts.packets += 1;
                    let due_ns = now_ns.saturating_sub(ns(waited)) + self.delay_ns;
                    self.packets.push_back((packet.id, due_ns));
                }
                Ok(None) => break,
                Err(Errno::ENOBUFS) => self.counts.receive_buffer_overflows += 1,
                Err(errno) => return Err(errno),
            }
        }
        self.counts.max_held = self.counts.max_held.max(self.packets.len());
        Ok(())
    }

    /// The statistics of this queue. `dropped` is the kernel's count.
    fn report(mut self, dropped: Option<u64>) -> nix::Result<QueueReport> {
        let packets = self.counts.packets;
        self.counts.mean_late_us =
            (packets > 0).then(|| self.late_sum_ns as f64 / 1e3 / packets as f64);
        self.counts.receive_buffer_bytes = getsockopt(&self.queue.socket, sockopt::RcvBuf)?;
        self.counts.dropped = dropped;
        Ok(self.counts)
    }
}

/// If a packet seems to have waited longer than this before the delay line received it, the wall clock was
/// set forward in the meantime.
const MAX_UNHEARD: Duration = Duration::from_secs(1);

fn monotonic_ns() -> nix::Result<Ns> {
    ClockId::CLOCK_MONOTONIC.now().map(|time| ns(time.into()))
}

pub(super) fn ns(time: Duration) -> Ns {
    Ns::try_from(time.as_nanos()).unwrap_or(Ns::MAX)
}
