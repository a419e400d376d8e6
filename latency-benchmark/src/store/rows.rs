//! The rows of the tables, as they are on disk. An empty field is one that could not be measured.

use lab::{Counters, DelayLineReport, LabFacts, RttReport};
use poll_probe::Mode;
use serde::{Deserialize, Serialize};

use crate::config::RunConfig;

/// What a slice is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Pass {
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

impl Pass {
    /// What the poll functions record.
    pub(crate) fn mode(self) -> Mode {
        match self {
            Pass::Compare | Pass::Activity | Pass::Normal | Pass::Warm => Mode::Minimal,
            Pass::Children | Pass::Stacks | Pass::SystemCalls | Pass::Timeline => Mode::Children,
            Pass::Allocations | Pass::Counters => Mode::Metered,
        }
    }

    /// As it is on disk.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Pass::Compare => "compare",
            Pass::Children => "children",
            Pass::Stacks => "stacks",
            Pass::Allocations => "allocations",
            Pass::Counters => "counters",
            Pass::SystemCalls => "system-calls",
            Pass::Timeline => "timeline",
            Pass::Activity => "activity",
            Pass::Normal => "normal",
            Pass::Warm => "warm",
        }
    }
}

/// A row of `slices.csv`.
#[derive(Serialize)]
pub(crate) struct SliceRow {
    pub(crate) slice: u32,
    pub(crate) pass: Pass,
    pub(crate) block: u32,
    pub(crate) variant: usize,
    pub(crate) start_ms: f64,
    pub(crate) duration_ms: f64,
    pub(crate) sampled_ms: f64,
    pub(crate) requests: u64,
    pub(crate) requests_begun_before: u64,
    pub(crate) bytes: u64,
    pub(crate) lost_entries: u64,
    pub(crate) central_cpu_ns: Option<u64>,
    pub(crate) central_runqueue_ns: Option<u64>,
    pub(crate) central_user_ms: Option<f64>,
    pub(crate) central_system_ms: Option<f64>,
    pub(crate) central_voluntary_switches: Option<u64>,
    pub(crate) central_involuntary_switches: Option<u64>,
    pub(crate) helpers_cpu_ns: Option<u64>,
    pub(crate) observers_cpu_ns: Option<u64>,
    pub(crate) peers_user_ms: Option<f64>,
    pub(crate) peers_system_ms: Option<f64>,
    pub(crate) peers_voluntary_switches: Option<u64>,
    pub(crate) peers_involuntary_switches: Option<u64>,
    pub(crate) delay_line_user_ms: Option<f64>,
    pub(crate) delay_line_system_ms: Option<f64>,
    pub(crate) steal_ms: Option<f64>,
    pub(crate) central_tcp_retransmits: Option<u64>,
    pub(crate) peers_tcp_retransmits: Option<u64>,
    pub(crate) central_queue_drops: Option<u64>,
    pub(crate) peers_queue_drops: Option<u64>,
    pub(crate) central_received_bytes: Option<u64>,
    pub(crate) central_sent_bytes: Option<u64>,
    pub(crate) monitor_task_polls: u64,
    pub(crate) monitor_task_ns: u64,
    pub(crate) monitor_slow_task_polls: u64,
    pub(crate) monitor_scheduled_ns: u64,
    pub(crate) runtime_busy_ns: u64,
    pub(crate) runtime_parks: u64,
}

/// A row of `sites.csv`.
#[derive(Serialize)]
pub(crate) struct SiteRow {
    pub(crate) slice: u32,
    pub(crate) site: &'static str,
    pub(crate) polls: u64,
    pub(crate) ready: u64,
    pub(crate) pending: u64,
    pub(crate) yielded: u64,
    pub(crate) iterations: u64,
    pub(crate) total_ns: u64,
    pub(crate) lost: u64,
    pub(crate) children_lost: u64,
}

/// A row of `bands.csv`.
#[derive(Serialize)]
pub(crate) struct BandRow {
    pub(crate) slice: u32,
    pub(crate) site: &'static str,
    pub(crate) from_ns: u64,
    pub(crate) iterations: u32,
    pub(crate) polls: u64,
    pub(crate) ns: u64,
}

/// A row of `children.csv`.
#[derive(Serialize)]
pub(crate) struct ChildRow {
    pub(crate) slice: u32,
    pub(crate) site: &'static str,
    pub(crate) from_ns: u64,
    pub(crate) child: &'static str,
    pub(crate) polls: u64,
    pub(crate) ns: u64,
}

/// A row of `peers.csv`.
#[derive(Serialize)]
pub(crate) struct PeerRow {
    pub(crate) slice: u32,
    /// From 1.
    pub(crate) peer: usize,
    pub(crate) requests: u64,
    /// Null if there were no requests.
    pub(crate) latency_p50_ns: Option<u64>,
    pub(crate) latency_p99_ns: Option<u64>,
}

/// `run.json`: what became of a run.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct RunRow {
    pub(crate) schema: u32,
    pub(crate) cell: String,
    pub(crate) config: RunConfig,
    #[serde(flatten)]
    pub(crate) end: End,
    /// What was there when it ended; null for what was not reached.
    pub(crate) network: Network,
    /// Seconds since 1970.
    pub(crate) started_unix_s: u64,
    pub(crate) took_ms: u64,
    /// Of that, what was not warm-up, settling or a slice.
    pub(crate) overhead_ms: Option<u64>,
    pub(crate) stages: Vec<StageTime>,
    /// What the probe takes to record a poll that does nothing, on central's core.
    pub(crate) probe_ns: Option<f64>,
    pub(crate) blocks: Option<u32>,
}

/// How long a stage of a run took.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StageTime {
    pub(crate) stage: String,
    pub(crate) took_ms: u64,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "kebab-case")]
pub(crate) enum End {
    /// Measured.
    Ok { stop: Stop },
    /// The network was not as asked, and nothing was measured.
    Invalid { reason: String },
    /// Something broke. What was measured before is there.
    Failed { stage: String, reason: String },
}

/// Why measuring stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Stop {
    /// Every slow ratio is known well enough.
    Precise,
    /// The time was up.
    Cap,
    /// Someone wanted it to.
    Interrupted,
}

/// The lab of a run.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Network {
    pub(crate) lab: Option<LabFacts>,
    pub(crate) rtt: Option<RttReport>,
    /// From the start of the nodes to their end.
    pub(crate) counters: Option<Counters>,
    pub(crate) delay_line: Option<DelayLineReport>,
}
