//! `soak.json` and `soak.csv`: one cell measured for hours, a row per interval.

use serde::{Deserialize, Serialize};

use crate::plausible::{
    ANY, CALL_NS, MS, UNIX_S, WHAT_THE_TYPE_ALLOWS, length, part_of, plausible,
};
use crate::{
    Budgets, Cell, Churn, LabConfig, Load, MAX_PEERS, Machine, NetworkReport, NodeConfig,
    RunOutcome, RuntimeConfig, StageTime, Tool,
};

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SoakFile {
    pub schema: u32,
    pub command: Vec<String>,
    pub created_unix_s: u64,
    pub config: SoakConfig,
    pub tool: Tool,
    pub machine: Machine,
    pub end: Option<SoakEnd>,
}

plausible! { SoakFile;
    schema command config tool machine end: WHAT_THE_TYPE_ALLOWS;
    created_unix_s: UNIX_S;
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SoakConfig {
    pub cell: Cell,
    pub duration_ms: u64,
    pub interval_ms: u64,
    pub churn: Churn,
    pub budgets: Budgets,
    pub node: NodeConfig,
    pub load: Load,
    pub runtime: RuntimeConfig,
    pub lab: LabConfig,
    pub seed: u64,
}

plausible! { SoakConfig;
    cell churn budgets node load runtime lab: WHAT_THE_TYPE_ALLOWS;
    duration_ms interval_ms: MS;
    seed: ANY;
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SoakEnd {
    #[serde(flatten)]
    pub outcome: RunOutcome,
    pub rows: u64,
    pub restarts: Option<u64>,
    pub took_ms: Option<u64>,
    pub stages: Vec<StageTime>,
    pub probe_ns: Option<f64>,
    pub network: NetworkReport,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocks_sha256: Option<String>,
}

plausible! { SoakEnd;
    outcome rows restarts stages network sha256 blocks_sha256: WHAT_THE_TYPE_ALLOWS;
    took_ms: MS;
    probe_ns: CALL_NS;
}

/// A row of `soak.csv`. An empty field was not measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SoakRow {
    /// End of the interval, counted from when all peers were connected.
    pub at_s: f64,
    /// Length of the interval. At least 20 ms are between two intervals: in the first 10, polls that have
    /// begun can end. Then the row is written.
    pub interval_s: f64,
    /// Polls of the site of connections, and those that exceed 50 µs.
    pub connection_polls: u64,
    pub connection_slow_polls: u64,
    /// The same for the site `task`. Empty if the network stack has no such site.
    pub task_polls: Option<u64>,
    pub task_slow_polls: Option<u64>,
    /// Requests answered in the interval.
    pub requests: u64,
    /// Percentiles of their latency. Empty without requests.
    pub latency_p50_ns: Option<u64>,
    pub latency_p99_ns: Option<u64>,
    /// Wake-ups of the co-tenant that another thread wakes, and late ones: with a wake-up latency over 50 µs.
    pub wakes: u64,
    pub late_wakes: u64,
    /// Percentiles of the wake-up latency. Empty without wake-ups.
    pub wake_p50_ns: Option<u64>,
    pub wake_p90_ns: Option<u64>,
    pub wake_p99_ns: Option<u64>,
    /// Resident memory of central's process at the end of the interval. About 60 MB are buffers of the measurement.
    /// Empty if unknown.
    pub resident_bytes: Option<u64>,
    /// Connections at the end of the interval, and peers that have one.
    pub connections: u64,
    pub peers_connected: u64,
    /// Tasks on central's runtime at the end of the interval, those of the measurement included.
    pub tasks: u64,
    /// Events since the row before, or since all peers were connected.
    pub dials: u64,
    pub dial_failures: u64,
    pub connections_opened: u64,
    pub connections_closed: u64,
    /// Restarts of peers since the soak began. Empty if unknown.
    pub restarts: Option<u64>,
    /// CPU time of central's worker since the row before. Empty if unknown.
    pub central_cpu_ns: Option<u64>,
    /// Polls, requests and co-tenant delays that were not recorded because a buffer was full.
    pub lost_records: u64,
}

plausible! { SoakRow, |span|;
    at_s: length(span.launch_s());
    interval_s: length(part_of(at_s));
    connection_polls task_polls requests wakes lost_records: span.events();
    dials dial_failures connections_opened connections_closed: span.events();
    connection_slow_polls: part_of(connection_polls);
    task_slow_polls: part_of(task_polls);
    latency_p50_ns: part_of(latency_p99_ns);
    latency_p99_ns wake_p99_ns: span.launch_ns();
    late_wakes: part_of(wakes);
    wake_p50_ns: part_of(wake_p90_ns);
    wake_p90_ns: part_of(wake_p99_ns);
    resident_bytes: PAGE_BYTES..=*span.buffered().end();
    connections: *peers_connected as f64..=MOST_ALIVE;
    peers_connected: 0.0..=MAX_PEERS as f64;
    tasks: 0.0..=MOST_ALIVE;
    restarts: WHAT_THE_TYPE_ALLOWS;
    central_cpu_ns: span.ns();
}

/// A process has at least one page of memory.
const PAGE_BYTES: f64 = 4096.0;

/// No machine has memory for more connections or tasks.
const MOST_ALIVE: f64 = 1e9;
