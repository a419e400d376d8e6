//! The messages between a session and the process of a cell.

use std::path::PathBuf;

use run_format::files::{SCHEMA, unix_s};
use run_format::{BlockReport, NetworkReport, RunConfig, RunOutcome, RunRow, SoakRow};
use serde::{Deserialize, Serialize};

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct CellTask {
    pub(crate) config: RunConfig,
    pub(crate) programs: CellPrograms,
    /// An empty folder for central's files.
    pub(crate) dir: PathBuf,
}

/// The node programs that a cell runs.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct CellPrograms {
    pub(crate) central: PathBuf,
    pub(crate) peer: PathBuf,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum CellMessage {
    Block(BlockReport),
    /// All processes of the cell are paused until it gets a turn of this block.
    AsksForTurn(u32),
    /// An interval of a soak is over.
    Row(Box<SoakRow>),
    Over(Box<RunRow>),
}

/// The row of a run about which only its end is known.
pub(crate) fn row_without_figures(config: RunConfig, outcome: RunOutcome) -> RunRow {
    RunRow {
        schema: SCHEMA,
        cell: config.cell.id(),
        config,
        outcome,
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
