//! What is only known as sums since the start: read before and after a slice, and subtracted.

use tokio::runtime::Handle;
use tokio_metrics::{RuntimeIntervals, RuntimeMonitor, TaskMonitor};

use crate::observe::process::{self, NetworkTrouble, Subject, Usage};

/// Reads the sums.
pub(super) struct Sampler {
    tasks: TaskMonitor,
    runtime: RuntimeIntervals,
    /// The sums of the runtime so far; tokio-metrics tells differences.
    busy_ns: u64,
    parks: u64,
    subjects: Subjects,
}

/// Whose use of the machine is told apart.
pub(super) struct Subjects {
    /// The threads that central runs on.
    pub(super) central: Vec<Subject>,
    /// Threads that libraries started in central's process.
    pub(super) helpers: Vec<Subject>,
    /// Threads that measure, in central's process.
    pub(super) observers: Vec<Subject>,
    pub(super) peers: Vec<Subject>,
    pub(super) delay_line: Option<Subject>,
}

/// The sums at one time, or the differences between two.
pub(super) struct Sample {
    pub(super) task_polls: u64,
    pub(super) task_ns: u64,
    pub(super) slow_task_polls: u64,
    pub(super) scheduled_ns: u64,
    pub(super) runtime_busy_ns: u64,
    pub(super) runtime_parks: u64,
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
    /// When it was taken; the sums are a little older or younger.
    pub(super) at_ms: f64,
}

impl Sampler {
    pub(super) fn new(tasks: TaskMonitor, runtime: &Handle, subjects: Subjects) -> Self {
        Sampler {
            tasks,
            runtime: RuntimeMonitor::new(runtime).intervals(),
            busy_ns: 0,
            parks: 0,
            subjects,
        }
    }

    pub(super) fn sample(&mut self, at_ms: f64) -> Sample {
        let (received_bytes, sent_bytes) = process::link_bytes();
        let tasks = self.tasks.cumulative();
        if let Some(interval) = self.runtime.next() {
            self.busy_ns += ns(interval.total_busy_duration);
            self.parks += interval.total_park_count;
        }
        Sample {
            task_polls: tasks.total_poll_count,
            task_ns: ns(tasks.total_poll_duration),
            slow_task_polls: tasks.total_slow_poll_count,
            scheduled_ns: ns(tasks.total_scheduled_duration),
            runtime_busy_ns: self.busy_ns,
            runtime_parks: self.parks,
            central: process::total(&self.subjects.central),
            helpers: process::total(&self.subjects.helpers),
            observers: process::total(&self.subjects.observers),
            peers: match self.subjects.peers.as_slice() {
                // Peers on other machines, of which nothing is known here.
                [] => Usage::default(),
                peers => process::total(peers),
            },
            delay_line: self
                .subjects
                .delay_line
                .map_or(Usage::default(), Subject::usage),
            steal_ms: process::steal_ms(),
            central_network: process::network_trouble(&self.subjects.central[..1]),
            peers_network: process::network_trouble(&self.subjects.peers),
            received_bytes,
            sent_bytes,
            at_ms,
        }
    }
}

impl Sample {
    pub(super) fn since(&self, before: &Sample) -> Sample {
        Sample {
            task_polls: self.task_polls - before.task_polls,
            task_ns: self.task_ns - before.task_ns,
            slow_task_polls: self.slow_task_polls - before.slow_task_polls,
            scheduled_ns: self.scheduled_ns - before.scheduled_ns,
            runtime_busy_ns: self.runtime_busy_ns - before.runtime_busy_ns,
            runtime_parks: self.runtime_parks - before.runtime_parks,
            central: self.central.since(before.central),
            helpers: self.helpers.since(before.helpers),
            observers: self.observers.since(before.observers),
            peers: self.peers.since(before.peers),
            delay_line: self.delay_line.since(before.delay_line),
            steal_ms: process::both(self.steal_ms, before.steal_ms, |after, before| {
                after - before
            }),
            central_network: self.central_network.since(before.central_network),
            peers_network: self.peers_network.since(before.peers_network),
            received_bytes: process::both(
                self.received_bytes,
                before.received_bytes,
                u64::saturating_sub,
            ),
            sent_bytes: process::both(self.sent_bytes, before.sent_bytes, u64::saturating_sub),
            at_ms: self.at_ms - before.at_ms,
        }
    }
}

fn ns(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
