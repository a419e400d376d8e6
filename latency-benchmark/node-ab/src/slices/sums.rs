//! Sums over polls, and counts that the kernel and the runtime keep since the start.

use poll_probe::{MuxerCounts, QuicCounts};
use run_format::{BlockRow, SLOW_NS, SliceRow};

/// Sums over polls. A poll is slow if it takes more than [`SLOW_NS`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PollSums {
    pub polls: u64,
    pub slow: u64,
    pub ns: u64,
    /// The sum of each poll's time after its first [`SLOW_NS`].
    pub beyond_ns: u64,
    pub longest_ns: u64,
}

impl PollSums {
    pub fn add(&mut self, ns: u64) {
        self.polls += 1;
        self.slow += u64::from(ns > SLOW_NS);
        self.ns += ns;
        self.beyond_ns += ns.saturating_sub(SLOW_NS);
        self.longest_ns = self.longest_ns.max(ns);
    }
}

/// Whether [`Sums::combine`] adds or subtracts.
#[derive(Clone, Copy)]
pub enum Operation {
    Add,
    Subtract,
}

/// Counts that only grow. A count that is absent on either side is absent in the result.
pub trait Sums: Sized {
    fn combine(self, other: Self, operation: Operation) -> Self;

    /// Subtracts an earlier reading from this one.
    fn since(self, before: Self) -> Self {
        self.combine(before, Operation::Subtract)
    }

    fn plus(self, other: Self) -> Self {
        self.combine(other, Operation::Add)
    }
}

impl Sums for u64 {
    fn combine(self, other: u64, operation: Operation) -> u64 {
        match operation {
            Operation::Add => self.saturating_add(other),
            Operation::Subtract => self.saturating_sub(other),
        }
    }
}

impl Sums for f64 {
    fn combine(self, other: f64, operation: Operation) -> f64 {
        match operation {
            Operation::Add => self + other,
            Operation::Subtract => self - other,
        }
    }
}

impl<T: Sums> Sums for Option<T> {
    fn combine(self, other: Option<T>, operation: Operation) -> Option<T> {
        Some(self?.combine(other?, operation))
    }
}

impl<T: Sums> Sums for Vec<T> {
    fn combine(self, other: Self, operation: Operation) -> Self {
        let pairs = self.into_iter().zip(other);
        pairs
            .map(|(one, other)| one.combine(other, operation))
            .collect()
    }
}

/// Implements [`Sums`] for a struct. The fields of the first list are combined. The fields after `keeps` are taken from
/// `self`. A struct with a field in neither list does not compile, because a forgotten count would be written as a total since
/// the start.
#[doc(hidden)]
#[macro_export]
macro_rules! sums {
    ($type:ident: $($summed:ident),* $(; keeps $($kept:ident),*)?) => {
        impl $crate::slices::Sums for $type {
            fn combine(self, other: Self, operation: $crate::slices::Operation) -> Self {
                $type {
                    $($summed: self.$summed.combine(other.$summed, operation),)*
                    $($($kept: self.$kept,)*)?
                }
            }
        }
    };
}

pub use sums;

/// How long a thread ran, and how long it waited to run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CpuTime {
    pub cpu_ns: Option<u64>,
    /// The time in which the thread was ready to run and waited for its core.
    pub runqueue_ns: Option<u64>,
}
sums!(CpuTime: cpu_ns, runqueue_ns);
sums!(SliceRow: sampled_ms, bytes, central_cpu_ns, central_runqueue_ns, helpers_cpu_ns, observers_cpu_ns, monitor_task_polls,
    monitor_task_ns, monitor_slow_task_polls, monitor_scheduled_ns, runtime_busy_ns, runtime_parks,
    central_instructions, central_cycles, peers_cpu_ns, peers_yielded, yamux_rtt_ns, yamux_grown_bytes, yamux_credit_bytes, yamux_unread_bytes;
    keeps slice, pass, block, variant, start_ms, duration_ms, turns, requests, requests_begun_before, lost_entries);
sums!(BlockRow: duration_ms, steal_ms, central_core_steal_ms, central_runqueue_ns, central_voluntary_switches,
    central_involuntary_switches, central_user_ms, central_system_ms, peers_user_ms, peers_system_ms,
    delay_line_user_ms, delay_line_system_ms, other_cpu_ms, central_tcp_retransmits, peers_tcp_retransmits,
    central_queue_drops, peers_queue_drops, suspended_ms, clock_set_ms; keeps block, latest_ms, stops_found);
sums!(MuxerCounts: connections, rtt_ns, grown_bytes, credit_bytes, unread_bytes);
sums!(QuicCounts: connections, rtt_ns, packets_sent, packets_lost, congestion_events, acks_sent, acks_received,
    datagrams_sent, datagrams_received, send_calls, receive_calls);
