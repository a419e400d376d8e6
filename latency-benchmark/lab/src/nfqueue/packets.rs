//! The packets that the delay line holds in one queue, and their statistics.

use std::collections::VecDeque;
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::socket::{getsockopt, sockopt};
use nix::time::ClockId;

use super::queue::PacketQueue;
use crate::QueueReport;

/// Packets received in one go. The limit keeps a queue under load from delaying the others.
const BATCH_PACKETS: usize = 64;

/// Packets are released up to this much too early, since waking up takes some tens of microseconds.
const LEAD_NS: Ns = 50_000;

/// A moment or a duration on the monotonic clock.
pub(super) type Ns = u64;

/// A queue and the packets held in it. The delay is the same for all of them, so the first packet that
/// arrives is the first to be released.
pub(super) struct HeldPackets {
    pub(super) queue: PacketQueue,
    delay_ns: Ns,
    lead_ns: Ns,
    packets: VecDeque<HeldPacket>,
    counts: QueueReport,
    late_sum_ns: u128,
}

struct HeldPacket {
    id: u32,
    due_ns: Ns,
}

impl HeldPackets {
    pub(super) fn new(name: String, queue: PacketQueue, delay_ns: Ns) -> HeldPackets {
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

    /// When to release the next packet, with the lead subtracted.
    pub(super) fn next_release_ns(&self) -> Option<Ns> {
        let first = self.packets.front()?;
        Some(first.due_ns.saturating_sub(self.lead_ns))
    }

    /// Releases all packets that are due, with one message. Returns whether there were any.
    pub(super) fn release(&mut self, now_ns: Ns) -> nix::Result<bool> {
        let mut last = None;
        while let Some(packet) = self.packets.front() {
            if packet.due_ns > now_ns + self.lead_ns {
                break;
            }
            let late_ns = now_ns.saturating_sub(packet.due_ns);
            self.late_sum_ns += u128::from(late_ns);
            self.counts.max_late_us = self.counts.max_late_us.max(late_ns as f64 / 1e3);
            last = Some(packet.id);
            self.packets.pop_front();
        }
        let Some(last) = last else {
            return Ok(false);
        };
        self.counts.verdicts += 1;
        self.queue.release(last)?;
        Ok(true)
    }

    pub(super) fn arrive(&mut self) -> nix::Result<()> {
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
                    self.packets.push_back(HeldPacket {
                        id: packet.id,
                        due_ns: now_ns.saturating_sub(ns(waited)) + self.delay_ns,
                    });
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
    pub(super) fn report(mut self, dropped: Option<u64>) -> nix::Result<QueueReport> {
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

pub(super) fn monotonic_ns() -> nix::Result<Ns> {
    ClockId::CLOCK_MONOTONIC.now().map(|time| ns(time.into()))
}

pub(super) fn ns(time: Duration) -> Ns {
    Ns::try_from(time.as_nanos()).unwrap_or(Ns::MAX)
}
