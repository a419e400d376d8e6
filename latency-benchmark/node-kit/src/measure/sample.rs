//! Sums since the start, which the kernel and the runtime keep: read before and after a slice, and subtracted.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Instant,
};

use anyhow::Result;
use run_format::protocol::OtherProcesses;
use tokio_metrics::{RuntimeIntervals, RuntimeMonitor, TaskMonitor};

use super::transactions::Transactions;
use crate::{
    connected::Connected,
    observe::process::{self, NetworkTrouble, Observee, Usage, both},
};

/// Reads the sums.
pub(super) struct Sampler {
    began: Instant,
    runtime: RuntimeSource,
    /// The threads that central runs on.
    central: Vec<Observee>,
    /// Threads that libraries started in central's process.
    helpers: Vec<Observee>,
    /// Threads that measure, in central's process.
    observers: Vec<Observee>,
    peers: Vec<Observee>,
    delay_line: Option<Observee>,
}

/// Where polls of tasks are counted.
enum RuntimeSource {
    Monitors {
        tasks: TaskMonitor,
        intervals: Box<RuntimeIntervals>,
        /// The runtime's sums so far: tokio-metrics has differences.
        busy_ns: u64,
        parks: u64,
    },
    /// A monitor would be part of what is compared.
    Counter(Arc<AtomicU64>),
}

/// The sums at one time, or the differences between two.
pub(super) struct Sample {
    /// When it was taken; the sums are a little older or younger.
    pub(super) at_ms: f64,
    pub(super) runtime: RuntimeSums,
    pub(super) central: Usage,
    pub(super) helpers: Usage,
    pub(super) observers: Usage,
    pub(super) peers: Usage,
    pub(super) delay_line: Usage,
    pub(super) steal_ms: Option<f64>,
    pub(super) central_network: NetworkTrouble,
    pub(super) peers_network: NetworkTrouble,
    pub(super) received_bytes: Option<u64>,
    pub(super) sent_bytes: Option<u64>,
}

/// What the runtime did. All but `task_polls` is 0 where no monitor watches it.
#[derive(Clone, Copy, Default)]
pub(super) struct RuntimeSums {
    pub(super) task_polls: u64,
    pub(super) task_ns: u64,
    pub(super) slow_task_polls: u64,
    pub(super) scheduled_ns: u64,
    pub(super) busy_ns: u64,
    pub(super) parks: u64,
}

impl Sampler {
    pub(super) fn of_polls(connected: &Connected, others: &OtherProcesses) -> Result<Sampler> {
        let runtime = RuntimeSource::Monitors {
            tasks: connected.tasks.clone(),
            intervals: Box::new(RuntimeMonitor::new(&connected.runtime).intervals()),
            busy_ns: 0,
            parks: 0,
        };
        Sampler::new(runtime, &connected.workers, others)
    }

    pub(super) fn of_transactions(
        transactions: &Transactions,
        others: &OtherProcesses,
    ) -> Result<Sampler> {
        let runtime = RuntimeSource::Counter(Arc::clone(&transactions.libp2p_polls));
        Sampler::new(runtime, &transactions.workers, others)
    }

    fn new(
        runtime: RuntimeSource,
        central: &[Observee],
        others: &OtherProcesses,
    ) -> Result<Sampler> {
        let (observers, helpers) = process::other_threads(central)?;
        Ok(Sampler {
            began: Instant::now(),
            runtime,
            central: central.to_vec(),
            helpers,
            observers,
            peers: others
                .peers
                .iter()
                .copied()
                .map(Observee::Process)
                .collect(),
            delay_line: others.delay_line.map(Observee::Process),
        })
    }

    pub(super) fn sample(&mut self) -> Sample {
        let (received_bytes, sent_bytes) = process::link_bytes();
        Sample {
            at_ms: self.began.elapsed().as_secs_f64() * 1e3,
            runtime: self.runtime.sums(),
            central: process::total(&self.central),
            helpers: process::total(&self.helpers),
            observers: process::total(&self.observers),
            peers: match self.peers.as_slice() {
                // Peers on other machines, of which nothing is known here.
                [] => Usage::default(),
                peers => process::total(peers),
            },
            delay_line: self.delay_line.map_or(Usage::default(), Observee::usage),
            steal_ms: process::steal_ms(),
            central_network: process::network_trouble(&self.central[..1]),
            peers_network: process::network_trouble(&self.peers),
            received_bytes,
            sent_bytes,
        }
    }
}

impl RuntimeSource {
    fn sums(&mut self) -> RuntimeSums {
        match self {
            RuntimeSource::Counter(polls) => RuntimeSums {
                task_polls: polls.load(Ordering::Relaxed),
                ..RuntimeSums::default()
            },
            RuntimeSource::Monitors {
                tasks,
                intervals,
                busy_ns,
                parks,
            } => {
                let tasks = tasks.cumulative();
                if let Some(interval) = intervals.next() {
                    *busy_ns += ns(interval.total_busy_duration);
                    *parks += interval.total_park_count;
                }
                RuntimeSums {
                    task_polls: tasks.total_poll_count,
                    task_ns: ns(tasks.total_poll_duration),
                    slow_task_polls: tasks.total_slow_poll_count,
                    scheduled_ns: ns(tasks.total_scheduled_duration),
                    busy_ns: *busy_ns,
                    parks: *parks,
                }
            }
        }
    }
}

impl Sample {
    pub(super) fn since(&self, before: &Sample) -> Sample {
        let (runtime, earlier) = (self.runtime, before.runtime);
        let bytes = |now, then| both(now, then, u64::saturating_sub);
        Sample {
            at_ms: self.at_ms - before.at_ms,
            runtime: RuntimeSums {
                task_polls: runtime.task_polls - earlier.task_polls,
                task_ns: runtime.task_ns - earlier.task_ns,
                slow_task_polls: runtime.slow_task_polls - earlier.slow_task_polls,
                scheduled_ns: runtime.scheduled_ns - earlier.scheduled_ns,
                busy_ns: runtime.busy_ns - earlier.busy_ns,
                parks: runtime.parks - earlier.parks,
            },
            central: self.central.since(before.central),
            helpers: self.helpers.since(before.helpers),
            observers: self.observers.since(before.observers),
            peers: self.peers.since(before.peers),
            delay_line: self.delay_line.since(before.delay_line),
            steal_ms: both(self.steal_ms, before.steal_ms, |now, then| now - then),
            central_network: self.central_network.since(before.central_network),
            peers_network: self.peers_network.since(before.peers_network),
            received_bytes: bytes(self.received_bytes, before.received_bytes),
            sent_bytes: bytes(self.sent_bytes, before.sent_bytes),
        }
    }
}

fn ns(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
