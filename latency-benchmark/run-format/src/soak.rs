//! `soak.json` and `soak.csv`: one cell measured for hours, a row per interval.

use crate::Budgets;
use serde::{Deserialize, Serialize};

use crate::{
    churn::Churn,
    config::{LabConfig, Load, NodeConfig, RuntimeConfig},
    grid::Cell,
    manifest::{Machine, Tool},
    run_row::{End, NetworkReport, StageTime},
};

/// The whole of `soak.json`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SoakFile {
    pub schema: u32,
    pub command: Vec<String>,
    pub created_unix_s: u64,
    pub config: SoakConfig,
    pub tool: Tool,
    pub machine: Machine,
    /// Null while it goes on, and for ever if it was killed.
    pub end: Option<SoakEnd>,
}

/// What a soak measures, and how.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SoakConfig {
    pub cell: Cell,
    pub duration_ms: u64,
    /// The length of a row.
    pub interval_ms: u64,
    pub churn: Churn,
    pub budgets: Budgets,
    pub node: NodeConfig,
    pub load: Load,
    pub runtime: RuntimeConfig,
    pub lab: LabConfig,
    pub seed: u64,
}

/// How a soak ended.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SoakEnd {
    #[serde(flatten)]
    pub end: End,
    pub rows: u64,
    pub restarts: Option<u64>,
    pub took_ms: Option<u64>,
    pub stages: Vec<StageTime>,
    pub probe_ns: Option<f64>,
    pub network: NetworkReport,
    /// The checksum of `soak.csv`. Absent in older files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// That of `blocks.csv`. Absent in older files, which have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocks_sha256: Option<String>,
}

/// A row of `soak.csv`. An empty field was not measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SoakRow {
    pub at_s: f64,
    pub interval_s: f64,
    pub connection_polls: u64,
    pub connection_slow_polls: u64,
    pub task_polls: Option<u64>,
    pub task_slow_polls: Option<u64>,
    pub requests: u64,
    pub latency_p50_ns: Option<u64>,
    pub latency_p99_ns: Option<u64>,
    pub wakes: u64,
    pub late_wakes: u64,
    pub wake_p50_ns: Option<u64>,
    pub wake_p90_ns: Option<u64>,
    pub wake_p99_ns: Option<u64>,
    pub resident_bytes: Option<u64>,
    pub connections: u64,
    pub peers_connected: u64,
    pub tasks: u64,
    pub dials: u64,
    pub dial_failures: u64,
    pub connections_opened: u64,
    pub connections_closed: u64,
    /// Since the start. The cell, which restarts peers, fills it in.
    pub restarts: Option<u64>,
    pub central_cpu_ns: Option<u64>,
    pub lost_records: u64,
}
