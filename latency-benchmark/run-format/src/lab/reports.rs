//! What the lab reports about its network.

use serde::{Deserialize, Serialize};

use crate::{Placement, ReceiveMasks, Rtt, shown_as_serialised};

/// What a lab turned out to be, for the record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LabFacts {
    pub peers: usize,
    /// As asked; what it is, [`RttReport`] tells.
    pub rtt_ms: Rtt,
    /// What delays the packets. Null where nothing does.
    pub backend: Option<DelayBackend>,
    /// As asked, in each direction.
    pub loss_percent: Option<f64>,
    /// As asked, in each direction.
    pub jitter_ms: Option<Rtt>,
    /// As asked; what connections use, [`RttReport`] tells.
    pub congestion_control: String,
    pub tcp_buffers: TcpBuffers,
    pub placement: Placement,
    /// As read from the namespaces. Null if packets are received where they are sent.
    pub receive_masks: Option<ReceiveMasks>,
    /// Whether a user namespace is around it all.
    pub rootless: bool,
    pub wiring_ms: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DelayBackend {
    Netem,
    Nfqueue,
}

shown_as_serialised!(DelayBackend);

/// The sizes that the kernel tunes TCP's buffers between, in bytes: least, initial, largest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TcpBuffers {
    /// `net.ipv4.tcp_rmem`
    pub receive_bytes: [u32; 3],
    /// `net.ipv4.tcp_wmem`
    pub send_bytes: [u32; 3],
}

impl Default for TcpBuffers {
    /// The kernel's own but for the largest, which lets 2.5 Gbit/s through at a round trip of 200 ms.
    fn default() -> TcpBuffers {
        const LARGEST: u32 = 64 << 20;
        TcpBuffers {
            receive_bytes: [4096, 131_072, LARGEST],
            send_bytes: [4096, 16_384, LARGEST],
        }
    }
}

/// The counters of a lab since it was wired, or between two readings. Null is unknown.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Counters {
    pub central: NamespaceCounters,
    pub peers: Vec<NamespaceCounters>,
}

/// Null is unknown, or that there is no such thing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamespaceCounters {
    /// Packets that netem dropped, those lost on purpose included. Null without netem.
    pub qdisc_dropped: Option<u64>,
    /// Packets dropped for want of room at the delay line. Null without one.
    pub queue_dropped: Option<u64>,
    pub link_dropped: Option<u64>,
}

impl Counters {
    pub fn since(&self, before: &Counters) -> Counters {
        let peers = std::iter::zip(&self.peers, &before.peers);
        Counters {
            central: self.central.since(&before.central),
            peers: peers.map(|(after, before)| after.since(before)).collect(),
        }
    }

    /// The sum over all namespaces of what is known in each of them.
    pub fn total(&self) -> NamespaceCounters {
        self.peers.iter().fold(self.central, |sum, peer| {
            sum.combine(peer, u64::checked_add)
        })
    }
}

impl NamespaceCounters {
    fn since(&self, before: &NamespaceCounters) -> NamespaceCounters {
        self.combine(before, u64::checked_sub)
    }

    /// Each counter with its like; unknown if either is, or if there is no result.
    fn combine(
        &self,
        other: &NamespaceCounters,
        f: fn(u64, u64) -> Option<u64>,
    ) -> NamespaceCounters {
        let each = |of: fn(&NamespaceCounters) -> Option<u64>| f(of(self)?, of(other)?);
        NamespaceCounters {
            qdisc_dropped: each(|counters| counters.qdisc_dropped),
            queue_dropped: each(|counters| counters.queue_dropped),
            link_dropped: each(|counters| counters.link_dropped),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RttReport {
    /// Of every link, as asked; to other hosts, the longest at the start of the sweep.
    pub asked_ms: Rtt,
    /// How far off the least of a link's round-trip times may be. Null where links are as they are.
    pub tolerance_ms: Option<f64>,
    pub links: Vec<LinkRtt>,
    pub congestion_control_central: Option<String>,
    pub congestion_control_peers: Option<String>,
    pub took_ms: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LinkRtt {
    /// Each connect's time, in order. Empty if none came back.
    pub connects_ms: Vec<f64>,
    /// Connects that were given up, because a packet was lost.
    pub lost: u32,
}

impl LinkRtt {
    /// Which is the least disturbed.
    pub fn min_ms(&self) -> Option<f64> {
        self.connects_ms.iter().copied().reduce(f64::min)
    }

    pub fn max_ms(&self) -> Option<f64> {
        self.connects_ms.iter().copied().reduce(f64::max)
    }
}

impl RttReport {
    /// Whether peer `peer`'s link is what was asked for.
    pub fn is_valid(&self, peer: usize) -> bool {
        let is_near = |min_ms: f64| {
            let off_ms = (min_ms - self.asked_ms.ms()).abs();
            self.tolerance_ms
                .is_none_or(|tolerance_ms| off_ms <= tolerance_ms)
        };
        self.links[peer].min_ms().is_some_and(is_near)
    }

    /// Why nothing measured in this lab counts: the first link out of tolerance, as one line.
    pub fn invalid(&self) -> Option<String> {
        let mut out = (0..self.links.len()).filter(|peer| !self.is_valid(*peer));
        let peer = out.next()?;
        let measured = match self.links[peer].min_ms() {
            Some(ms) => format!("{ms:.3} ms"),
            None => "nothing, as no connect came back".to_owned(),
        };
        let others = match out.count() {
            0 => String::new(),
            others => format!("; {others} other links are out of tolerance as well"),
        };
        Some(format!(
            "link to peer {}: asked for {} ms, measured {measured} (tolerance {:.2} ms){others}",
            peer + 1,
            self.asked_ms,
            self.tolerance_ms.unwrap_or(f64::INFINITY)
        ))
    }
}

/// What a delay line says at its end, as one line of JSON on its standard output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DelayLineReport {
    pub user_cpu_s: f64,
    /// CPU time in the kernel, which includes the receiver's half of the work that a packet makes once it is released.
    pub system_cpu_s: f64,
    pub scheduling: SchedulingClass,
    /// One entry per namespace, central's first.
    pub queues: Vec<QueueReport>,
}

/// How promptly the scheduler runs the delay line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SchedulingClass {
    /// Ahead of all ordinary processes.
    Fifo,
    /// As an ordinary process with short turns.
    ShortSlice,
    Ordinary,
}

/// What became of the packets that arrived in one namespace.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct QueueReport {
    /// `central` or `peer 1` and so on.
    pub namespace: String,
    pub packets: u64,
    pub verdicts: u64,
    pub max_held: usize,
    /// Those that the kernel dropped for want of room.
    pub dropped: Option<u64>,
    /// How often the kernel reported such a loss.
    pub receive_buffer_overflows: u64,
    /// The room for what was not heard of yet, in the kernel's accounting.
    pub receive_buffer_bytes: usize,
    /// How much later than due packets were released, on average. Null without packets.
    pub mean_late_us: Option<f64>,
    pub max_late_us: f64,
}

#[cfg(test)]
mod tests {
    use crate::*;

    #[test]
    fn what_is_unknown_on_either_side_stays_unknown() {
        let before = NamespaceCounters {
            queue_dropped: None,
            link_dropped: Some(2),
            ..NamespaceCounters::default()
        };
        let after = NamespaceCounters {
            queue_dropped: Some(1),
            link_dropped: Some(5),
            ..NamespaceCounters::default()
        };
        let between = after.since(&before);
        assert_eq!(
            (between.queue_dropped, between.link_dropped),
            (None, Some(3))
        );
    }
}
