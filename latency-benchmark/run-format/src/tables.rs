//! The rows of the tables of a run. An empty field is a value that could not be measured.

use std::{borrow::Cow, fmt};

use crate::{Budgets, Site};
use serde::{Deserialize, Serialize};

use crate::{
    network::Cores,
    runtime::{RuntimeConfig, Scheduler},
};

/// A name that the writer knows when it is compiled, and the reader when it has read it.
pub type Text = Cow<'static, str>;

/// What a slice is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pass {
    /// To compare variants; children are not recorded.
    Compare,
    /// To see where the time goes; every child is recorded, which costs time.
    Children,
    // What follows is there where a cell is explained, one kind of evidence at a time.
    /// The worker's stack is sampled.
    Stacks,
    /// Allocations are counted.
    Allocations,
    /// The worker's performance counters are read.
    Counters,
    /// System calls are seen, with their time.
    SystemCalls,
    /// The slowest polls are kept whole.
    Timeline,
    /// Who wakes whom, and what comes and goes.
    Activity,
    /// As `compare`, beside `warm`.
    Normal,
    /// As `normal`, but central's core is never idle.
    Warm,
}

/// As it is written.
impl fmt::Display for Pass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// A row of `slices.csv`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SliceRow {
    pub slice: u32,
    pub pass: Pass,
    pub block: u32,
    pub variant: usize,
    pub start_ms: f64,
    pub duration_ms: f64,
    pub sampled_ms: f64,
    pub turns: u32,
    pub requests: u64,
    pub requests_begun_before: u64,
    pub bytes: u64,
    pub lost_entries: u64,
    pub central_cpu_ns: Option<u64>,
    pub central_runqueue_ns: Option<u64>,
    pub helpers_cpu_ns: Option<u64>,
    pub observers_cpu_ns: Option<u64>,
    pub monitor_task_polls: Option<u64>,
    pub monitor_task_ns: Option<u64>,
    pub monitor_slow_task_polls: Option<u64>,
    pub monitor_scheduled_ns: Option<u64>,
    pub runtime_busy_ns: u64,
    pub runtime_parks: u64,
}

/// A row of `blocks.csv`: what tells more of the machine than of a variant, and takes too long to be read in
/// every turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BlockRow {
    pub block: u32,
    pub duration_ms: f64,
    pub steal_ms: Option<f64>,
    pub central_core_steal_ms: Option<f64>,
    pub central_runqueue_ns: Option<u64>,
    pub central_voluntary_switches: Option<u64>,
    pub central_involuntary_switches: Option<u64>,
    pub central_user_ms: Option<f64>,
    pub central_system_ms: Option<f64>,
    pub peers_user_ms: Option<f64>,
    pub peers_system_ms: Option<f64>,
    pub delay_line_user_ms: Option<f64>,
    pub delay_line_system_ms: Option<f64>,
    pub other_cpu_ms: Option<f64>,
    pub central_tcp_retransmits: Option<u64>,
    pub peers_tcp_retransmits: Option<u64>,
    pub central_queue_drops: Option<u64>,
    pub peers_queue_drops: Option<u64>,
    pub latest_ms: Option<f64>,
    pub stops_found: Option<u64>,
    pub suspended_ms: Option<f64>,
    pub clock_set_ms: Option<f64>,
}

/// The row of `idle.csv`: what central's core does before there are requests.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct IdleRow {
    pub duration_ms: f64,
    pub central_cpu_ns: Option<u64>,
    pub wakes: u64,
    /// Null without a wake-up.
    pub wake_p50_ns: Option<u64>,
    pub wake_p90_ns: Option<u64>,
}

/// A row of `work.csv`: how long a fixed piece of work took just before a block.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkRow {
    pub block: u32,
    pub work_ns: u64,
}

/// Why a block is no ordinary one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Disturbance {
    /// Central's worker could have run and did not, because the hypervisor or another thread had its core.
    Waiting,
    CentralStopped,
    OtherStopped,
    Suspended,
    /// By somebody, or after the machine stood still without knowing.
    ClockSet,
}

impl Disturbance {
    /// To be put after "in".
    pub fn words(self) -> &'static str {
        match self {
            Disturbance::Waiting => "central's worker waited for its core",
            Disturbance::CentralStopped => "central stood still",
            Disturbance::OtherStopped => "a peer or the delay line was stopped",
            Disturbance::Suspended => "the machine was suspended",
            Disturbance::ClockSet => "the machine's clock was set",
        }
    }
}

impl BlockRow {
    /// A block is disturbed by what lasts for more than this share of its time. The rule looks at the machine only, and
    /// at whole blocks, so that it cannot favour a variant.
    pub const DISTURBED_PERCENT: f64 = 10.0;

    /// Whether a process or the machine stood still for longer than any busy machine keeps a thread waiting. Such a block
    /// measured the standstill, however many others are disturbed.
    pub fn stood_still(&self) -> bool {
        const LONG_MS: f64 = 1000.0;
        let stood_ms = [self.latest_ms, self.suspended_ms, self.clock_set_ms];
        self.stops_found > Some(0) || stood_ms.into_iter().any(|ms| ms > Some(LONG_MS))
    }

    /// Several workers wait for each other, which is no disturbance.
    pub fn disturbance(&self, runtime: &RuntimeConfig) -> Option<Disturbance> {
        let waited_ns = match runtime.scheduler {
            Scheduler::CurrentThread => self.central_runqueue_ns,
            Scheduler::MultiThread => Some(0),
        };
        let waited = self.central_core_steal_ms.zip(waited_ns);
        let waited_ms = waited.map(|(stolen_ms, waited_ns)| stolen_ms + waited_ns as f64 / 1e6);
        let long = [
            (self.suspended_ms, Disturbance::Suspended),
            (self.clock_set_ms, Disturbance::ClockSet),
            (self.latest_ms, Disturbance::CentralStopped),
            (waited_ms, Disturbance::Waiting),
        ];
        let least_ms = Self::DISTURBED_PERCENT / 100.0 * self.duration_ms;
        let mut long = long.into_iter().filter(|(ms, _)| *ms > Some(least_ms));
        let stopped = self.stops_found > Some(0);
        stopped
            .then_some(Disturbance::OtherStopped)
            .or_else(|| Some(long.next()?.1))
    }
}

/// A row of `turns.csv`: polls of `Connection::poll` by when they began, counted from the change of variant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TurnRow {
    pub slice: u32,
    pub from_ms: u64,
    pub polls: u64,
    pub slow_polls: u64,
}

/// A row of `sites.csv`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SiteRow {
    pub slice: u32,
    pub site: Site,
    pub polls: u64,
    pub ready: u64,
    pub pending: u64,
    pub yielded: u64,
    pub iterations: Option<u64>,
    pub total_ns: u64,
    pub lost: u64,
    pub children_lost: u64,
}

/// The lower ends of the bands of `bands.csv` and `children.csv`. Polls are counted in them, so that the threshold for a
/// slow poll can be chosen when reading, from these.
pub const BANDS_FROM_NS: [u64; 10] = [
    0, 10_000, 25_000, 50_000, 75_000, 100_000, 150_000, 200_000, 500_000, 1_000_000,
];

/// A row of `bands.csv`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BandRow {
    pub slice: u32,
    pub site: Site,
    pub from_ns: u64,
    pub iterations: Option<u32>,
    pub polls: u64,
    pub ns: u64,
}

/// A row of `children.csv`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChildRow {
    pub slice: u32,
    pub site: Site,
    pub from_ns: u64,
    pub child: Text,
    pub polls: u64,
    pub ns: u64,
}

/// A row of `bounds.csv`: the recorded iterations of a slice, cut into pieces as a budget would cut them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BoundRow {
    pub slice: u32,
    pub site: Site,
    /// Of this site alone; `none` leaves polls as they were.
    pub budget: Budgets,
    pub pieces: u64,
    pub slow_pieces: u64,
    pub longest_ns: u64,
}

/// A row of `peers.csv`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PeerRow {
    pub slice: u32,
    /// From 1.
    pub peer: usize,
    pub requests: u64,
    /// Null if there were no requests.
    pub latency_p50_ns: Option<u64>,
    pub latency_p99_ns: Option<u64>,
}

/// A row of `workers.csv`. Polls are those of `Connection::poll`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkerRow {
    pub slice: u32,
    /// 0 is the main thread, which has the swarm.
    pub worker: usize,
    /// That the kernel lets it run on.
    pub cores: Option<Cores>,
    pub polls: u64,
    /// Over tokio's threshold.
    pub slow_polls: u64,
    pub poll_ns: u64,
    pub cpu_ns: Option<u64>,
    pub runqueue_ns: Option<u64>,
}

/// A row of `quic.csv`, over all connections.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct QuicRow {
    pub slice: u32,
    /// The mean over connections and turns.
    pub rtt_ns: u64,
    pub packets_sent: u64,
    pub packets_lost: u64,
    pub congestion_events: u64,
    pub acks_sent: u64,
    pub acks_received: u64,
    pub datagrams_sent: u64,
    pub datagrams_received: u64,
    pub send_calls: u64,
    pub receive_calls: u64,
}
