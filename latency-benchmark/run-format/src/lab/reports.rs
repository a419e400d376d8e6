//! The lab's report about its network.

use serde::{Deserialize, Serialize};

use crate::plausible::{COUNT, MS, PEERS, PERCENT, WHAT_THE_TYPE_ALLOWS, plausible};
use crate::{Placement, ReceiveMasks, Rtt, shown_as_serialised};

/// The properties of a lab, for the record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LabFacts {
    pub peers: usize,
    pub rtt_ms: Rtt,
    pub backend: Option<DelayBackend>,
    pub loss_percent: Option<f64>,
    pub jitter_ms: Option<Rtt>,
    pub congestion_control: String,
    pub tcp_buffers: TcpBuffers,
    pub placement: Placement,
    pub receive_masks: Option<ReceiveMasks>,
    pub rootless: bool,
    pub wiring_ms: f64,
}

plausible! { LabFacts;
    peers: PEERS;
    rtt_ms backend jitter_ms congestion_control tcp_buffers placement receive_masks rootless: WHAT_THE_TYPE_ALLOWS;
    loss_percent: PERCENT;
    wiring_ms: MS;
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
    /// The kernel's defaults, except for two. The largest size lets 2.5 Gbit/s through at a round trip of 200 ms. Send buffers
    /// begin with all the room that the requests of a connection need. The kernel would let them grow when many segments are
    /// in flight and never lets them shrink, so a budget would find the send buffers that another budget made grow.
    fn default() -> TcpBuffers {
        const LARGEST: u32 = 64 << 20;
        const ROOM: u32 = 4 << 20;
        TcpBuffers {
            receive_bytes: [4096, 131_072, LARGEST],
            send_bytes: [4096, ROOM, LARGEST],
        }
    }
}

/// The counters of a lab since it was wired, or between two readings. Null is unknown.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Counters {
    pub central: NamespaceCounters,
    pub peers: Vec<NamespaceCounters>,
}

plausible! { Counters;
    central peers: WHAT_THE_TYPE_ALLOWS;
}

/// Null means that the counter is unknown or does not exist.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamespaceCounters {
    pub qdisc_dropped: Option<u64>,
    pub queue_dropped: Option<u64>,
    pub link_dropped: Option<u64>,
}

plausible! { NamespaceCounters;
    qdisc_dropped queue_dropped link_dropped: COUNT;
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

    /// Combines each counter with the same one of the other. The result is unknown if one of them is, or if there is no
    /// result.
    fn combine(
        &self,
        other: &NamespaceCounters,
        operation: fn(u64, u64) -> Option<u64>,
    ) -> NamespaceCounters {
        let combined = |counter: fn(&NamespaceCounters) -> Option<u64>| {
            operation(counter(self)?, counter(other)?)
        };
        NamespaceCounters {
            qdisc_dropped: combined(|counters| counters.qdisc_dropped),
            queue_dropped: combined(|counters| counters.queue_dropped),
            link_dropped: combined(|counters| counters.link_dropped),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RttReport {
    pub asked_ms: Rtt,
    pub tolerance_ms: Option<f64>,
    pub links: Vec<LinkRtt>,
    pub congestion_control_central: Option<String>,
    pub congestion_control_peers: Option<String>,
    pub took_ms: f64,
}

plausible! { RttReport;
    asked_ms links congestion_control_central congestion_control_peers: WHAT_THE_TYPE_ALLOWS;
    tolerance_ms took_ms: MS;
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LinkRtt {
    /// The time of each connect, in order. Empty if no connect was answered.
    pub connects_ms: Vec<f64>,
    pub lost: u32,
}

plausible! { LinkRtt;
    connects_ms: MS;
    lost: WHAT_THE_TYPE_ALLOWS;
}

impl LinkRtt {
    /// The shortest time, which is the least disturbed one.
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

    /// The reason why nothing measured in this lab counts: the first link out of tolerance, as one line.
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

/// The line of JSON that a delay line prints at its end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DelayLineReport {
    pub user_cpu_s: f64,
    /// CPU time in the kernel, which includes the receiver's half of the work that a packet makes once it is released.
    pub system_cpu_s: f64,
    pub scheduling: SchedulingClass,
    /// One entry per namespace, central's first.
    pub queues: Vec<QueueReport>,
}

plausible! { DelayLineReport;
    user_cpu_s system_cpu_s: MS;
    scheduling queues: WHAT_THE_TYPE_ALLOWS;
}

/// The class in which the scheduler runs the delay line, the most prompt first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SchedulingClass {
    /// Ahead of all ordinary processes.
    Fifo,
    /// The class of ordinary processes, with short turns.
    ShortSlice,
    Ordinary,
}

/// The packets that arrived in one namespace.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct QueueReport {
    pub namespace: String,
    pub packets: u64,
    pub verdicts: u64,
    pub max_held: usize,
    pub dropped: Option<u64>,
    pub receive_buffer_overflows: u64,
    pub receive_buffer_bytes: usize,
    pub mean_late_us: Option<f64>,
    pub max_late_us: f64,
}

plausible! { QueueReport;
    namespace: WHAT_THE_TYPE_ALLOWS;
    packets verdicts max_held dropped receive_buffer_overflows receive_buffer_bytes: COUNT;
    mean_late_us max_late_us: MS;
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
