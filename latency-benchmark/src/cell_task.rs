//! What passes between the process of a cell and the verb that has it measured.

use std::path::PathBuf;

use run_format::config::RunConfig;
use run_format::files::{SCHEMA, unix_s};
use run_format::protocol::BlockReport;
use run_format::run_row::{End, NetworkReport, RunRow};
use run_format::soak::SoakRow;
use serde::{Deserialize, Serialize};

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct CellTask {
    pub(crate) config: RunConfig,
    pub(crate) central: PathBuf,
    pub(crate) peer: PathBuf,
    /// An empty folder, where central writes.
    pub(crate) dir: PathBuf,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum CellMessage {
    Block(BlockReport),
    /// All of its processes are paused until it gets a turn of that block.
    AsksForTurn(u32),
    /// An interval of a soak is over.
    Row(Box<SoakRow>),
    Over(Box<RunRow>),
}

/// The row of a run of which nothing is known but how it ended.
pub(crate) fn ended(config: RunConfig, end: End) -> RunRow {
    RunRow {
        schema: SCHEMA,
        cell: config.cell.id(),
        config,
        end,
        network: NetworkReport::default(),
        started_unix_s: unix_s(),
        took_ms: 0,
        overhead_ms: None,
        stages: Vec::new(),
        probe_ns: None,
        blocks: None,
        messages: Vec::new(),
        outstanding: None,
        stall: None,
        beside: None,
        machine: None,
        files: None,
    }
}
