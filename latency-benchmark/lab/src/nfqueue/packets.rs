//! The packets that one queue holds, and what became of them.

use std::{collections::VecDeque, time::Duration};

use nix::errno::Errno;

use super::{
    delay_line::QueueReport,
    queue::{Lost, Queue},
};

/// Packets told of in one go, so that a queue under load does not keep the others waiting.
const BATCH_PACKETS: usize = 64;

/// A moment or a span of the monotonic clock.
pub(super) type Ns = u64;

/// The two clocks, read one after the other.
#[derive(Clone, Copy)]
pub(super) struct Now {
    pub(super) monotonic_ns: Ns,
    /// The wall clock, which the kernel stamps packets with.
    pub(super) wall: Duration,
}

/// A queue and its held packets, first in, first out: all have the same delay.
pub(super) struct Held {
    name: String,
    queue: Queue,
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

impl Held {
    pub(super) fn new(name: String, queue: Queue, delay: Duration, lead: Duration) -> Held {
        Held {
            name,
            queue,
            delay_ns: ns(delay),
            // With a delay of microseconds, the whole lead would release packets on arrival.
            lead_ns: ns(lead.min(delay / 2)),
            packets: VecDeque::new(),
            counts: QueueReport::default(),
            late_sum_ns: 0,
        }
    }

    pub(super) fn queue(&self) -> &Queue {
        &self.queue
    }

    /// When the next packet is to be released, the lead included.
    pub(super) fn next_release_ns(&self) -> Option<Ns> {
        let first = self.packets.front()?;
        Some(first.due_ns.saturating_sub(self.lead_ns))
    }

    /// Releases, by one message, every packet that is due. Returns whether there was one.
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

    /// Takes note of the packets that arrived.
    pub(super) fn arrive(&mut self, now: Now) -> nix::Result<()> {
        for _ in 0..BATCH_PACKETS {
            match self.queue.next() {
                Ok(Some(packet)) => {
                    let waited = packet.arrived.map_or(Duration::ZERO, |arrived| {
                        now.wall.saturating_sub(arrived).min(MAX_UNHEARD)
                    });
                    self.counts.packets += 1;
                    self.packets.push_back(HeldPacket {
                        id: packet.id,
                        due_ns: now.monotonic_ns.saturating_sub(ns(waited)) + self.delay_ns,
                    });
                }
                Ok(None) => break,
                Err(Lost::Full) => self.counts.receive_buffer_overflows += 1,
                Err(Lost::Broken(errno)) => return Err(errno),
            }
        }
        self.counts.max_held = self.counts.max_held.max(self.packets.len());
        Ok(())
    }

    /// What became of the packets. `dropped` is the kernel's own count.
    pub(super) fn report(mut self, dropped: Option<u64>) -> Result<QueueReport, Errno> {
        let packets = self.counts.packets;
        self.counts.mean_late_us =
            (packets > 0).then(|| self.late_sum_ns as f64 / 1e3 / packets as f64);
        self.counts.receive_buffer_bytes = self.queue.receive_buffer_bytes()?;
        self.counts.dropped = dropped;
        self.counts.namespace = self.name;
        Ok(self.counts)
    }
}

/// A packet that seems to have waited longer to be heard of was stamped before the wall clock was
/// set forward.
const MAX_UNHEARD: Duration = Duration::from_secs(1);

pub(super) fn ns(time: Duration) -> Ns {
    Ns::try_from(time.as_nanos()).unwrap_or(Ns::MAX)
}
