//! Sums since the start, which the kernel and the runtime keep: read before and after a slice, and subtracted.

use std::time::Instant;

use anyhow::Result;
use poll_probe::{QuicCounts, quic_counts};
use run_format::{network::Cores, protocol::CentralTask};
use tokio_metrics::{RuntimeIntervals, RuntimeMonitor, TaskMonitor};

use crate::{
    connected::Connected,
    observe::{
        process::{self, CpuTime, MachineTimes, NetworkTrouble, Observee, Usage},
        sums::{Sums, sums},
    },
};

/// Reads the sums.
pub(super) struct Sampler {
    began: Instant,
    tasks: TaskMonitor,
    intervals: RuntimeIntervals,
    /// The runtime's sums so far: tokio-metrics has differences.
    busy_ns: u64,
    parks: u64,
    /// The threads that central runs on.
    central: Vec<Observee>,
    /// Threads that libraries started in central's process.
    helpers: Vec<Observee>,
    /// Threads that measure, in central's process.
    observers: Vec<Observee>,
    peers: Vec<Observee>,
    delay_line: Option<Observee>,
    /// The processes that may be found stopped, of which the next one is looked at next.
    watched: Vec<Observee>,
    next_watched: usize,
    central_cores: Cores,
    /// Lines of `/proc/stat`: of all cores, or of the cell's where others are measured at the same time.
    own_cores: Vec<String>,
    /// All round-trip times that were read, added up, and their number.
    rtts: (u64, u64),
}

/// Sums at one time, or the differences between two, that take little time to read: it is done twice in every
/// turn.
#[derive(Clone)]
pub(super) struct Clocks {
    /// When they were read.
    pub(super) at_ms: f64,
    pub(super) runtime: RuntimeSums,
    pub(super) central: CpuTime,
    /// By thread of central.
    pub(super) workers: Vec<CpuTime>,
    pub(super) helpers: CpuTime,
    pub(super) observers: CpuTime,
    /// Round-trip times, and connections, are those of the last reading. None without connections of QUIC.
    pub(super) quic: Option<QuicCounts>,
}
sums!(Clocks: at_ms, runtime, central, workers, helpers, observers, quic);
sums!(QuicCounts: connections, rtt_ns, packets_sent, packets_lost, congestion_events, acks_sent, acks_received,
    datagrams_sent, datagrams_received, send_calls, receive_calls);

/// The sums of the kernel that take long to read.
#[derive(Clone, Copy)]
pub(super) struct MachineUse {
    pub(super) times: MachineTimes,
    pub(super) central: Usage,
    pub(super) peers: Usage,
    pub(super) delay_line: Usage,
    pub(super) central_network: NetworkTrouble,
    pub(super) peers_network: NetworkTrouble,
}
sums!(MachineUse: times, central, peers, delay_line, central_network, peers_network);

/// What the runtime did. Sums of tasks are 0 where no monitor watches them.
#[derive(Clone, Copy, Default)]
pub(super) struct RuntimeSums {
    pub(super) task_polls: u64,
    pub(super) task_ns: u64,
    pub(super) slow_task_polls: u64,
    pub(super) scheduled_ns: u64,
    pub(super) busy_ns: u64,
    pub(super) parks: u64,
}
sums!(RuntimeSums: task_polls, task_ns, slow_task_polls, scheduled_ns, busy_ns, parks);

/// One by one. Nothing plus something is that.
impl Sums for Vec<CpuTime> {
    fn since(self, before: Self) -> Self {
        let pairs = self.into_iter().zip(before);
        pairs.map(|(now, before)| now.since(before)).collect()
    }

    fn plus(self, other: Self) -> Self {
        if self.is_empty() {
            return other;
        }
        let pairs = self.into_iter().zip(other);
        pairs.map(|(one, other)| one.plus(other)).collect()
    }
}

impl Sampler {
    pub(super) fn new(connected: &Connected, task: &CentralTask) -> Result<Sampler> {
        let central = &connected.workers;
        let others = &task.others;
        let placement = &task.config.lab.placement;
        let central_cores = placement.central_cores();
        let (observers, helpers) = process::other_threads(central)?;
        let watched = others.peers.iter().chain(&others.delay_line);
        Ok(Sampler {
            watched: watched.copied().map(Observee::Process).collect(),
            next_watched: 0,
            began: Instant::now(),
            tasks: connected.tasks.clone(),
            intervals: RuntimeMonitor::new(&connected.runtime).intervals(),
            busy_ns: 0,
            parks: 0,
            central: central.clone(),
            helpers,
            observers,
            peers: others
                .peers
                .iter()
                .copied()
                .map(Observee::Process)
                .collect(),
            delay_line: others.delay_line.map(Observee::Process),
            own_cores: match task.config.jobs {
                None => vec!["cpu".to_owned()],
                Some(_) => {
                    let cores = central_cores.iter().chain(placement.peers.iter());
                    cores.map(|core| format!("cpu{core}")).collect()
                }
            },
            central_cores,
            rtts: (0, 0),
        })
    }

    pub(super) fn clocks(&mut self) -> Clocks {
        let workers = self.central.iter().map(|it| process::cpu_time(&[*it]));
        let workers: Vec<CpuTime> = workers.collect();
        Clocks {
            at_ms: self.began.elapsed().as_secs_f64() * 1e3,
            runtime: self.runtime(),
            central: workers
                .iter()
                .fold(process::cpu_time(&[]), |sum, it| sum.plus(*it)),
            workers,
            helpers: process::cpu_time(&self.helpers),
            observers: process::cpu_time(&self.observers),
            quic: self.quic(),
        }
    }

    fn runtime(&mut self) -> RuntimeSums {
        let tasks = self.tasks.cumulative();
        if let Some(interval) = self.intervals.next() {
            self.busy_ns += ns(interval.total_busy_duration);
            self.parks += interval.total_park_count;
        }
        RuntimeSums {
            task_polls: tasks.total_poll_count,
            task_ns: ns(tasks.total_poll_duration),
            slow_task_polls: tasks.total_slow_poll_count,
            scheduled_ns: ns(tasks.total_scheduled_duration),
            busy_ns: self.busy_ns,
            parks: self.parks,
        }
    }

    /// Round-trip times are summed up over readings, so that the difference of two readings has those of the later.
    fn quic(&mut self) -> Option<QuicCounts> {
        let now = quic_counts().into_iter().reduce(Sums::plus)?;
        self.rtts = (self.rtts.0 + now.rtt_ns, self.rtts.1 + now.connections);
        let (rtt_ns, connections) = self.rtts;
        Some(QuicCounts {
            rtt_ns,
            connections,
            ..now
        })
    }

    /// Whether the peer, or the delay line, whose turn it is to be looked at has been stopped. None if they are elsewhere.
    pub(super) fn finds_stopped(&mut self) -> Option<bool> {
        self.next_watched += 1;
        let next = self.next_watched.checked_rem(self.watched.len())?;
        Some(self.watched[next].is_stopped())
    }

    pub(super) fn machine(&self) -> MachineUse {
        MachineUse {
            times: process::machine_times(&self.central_cores, &self.own_cores),
            central: process::total(&self.central),
            peers: match self.peers.as_slice() {
                // Peers on other machines, of which nothing is known here.
                [] => Usage::default(),
                peers => process::total(peers),
            },
            delay_line: self.delay_line.map_or(Usage::default(), Observee::usage),
            central_network: process::network_trouble(&self.central[..1]),
            peers_network: process::network_trouble(&self.peers),
        }
    }
}

impl Clocks {
    /// Of no turn yet.
    pub(super) fn nothing() -> Clocks {
        let none = process::cpu_time(&[]);
        Clocks {
            at_ms: 0.0,
            runtime: RuntimeSums::default(),
            central: none,
            workers: Vec::new(),
            helpers: none,
            observers: none,
            quic: Some(QuicCounts::default()),
        }
    }
}

pub(super) fn ns(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
