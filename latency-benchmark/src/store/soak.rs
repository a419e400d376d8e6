//! `soak.json` and `soak.csv`: what a soak was asked for and how it ended, and its rows.

use std::{fs::File, path::Path};

use anyhow::{Context, Result};
use poll_probe::Budgets;
use serde::{Deserialize, Serialize};

use super::{
    EDITS, SCHEMA, SOAK, SOAK_ROWS,
    manifest::{Machine, Tool},
    rows::{End, Network, StageTime},
    run_writer::write_whole,
    unix_s,
};
use crate::{
    config::{
        LabConfig, Load, NodeConfig, Plan, Role, RunConfig, RuntimeConfig, VariantConfig, as_text,
    },
    grid::Cell,
    soak::churn::Churn,
};

/// What a soak measures, and how.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SoakConfig {
    pub(crate) cell: Cell,
    pub(crate) duration_ms: u64,
    /// Of a row.
    pub(crate) interval_ms: u64,
    pub(crate) churn: Churn,
    #[serde(with = "as_text")]
    pub(crate) budgets: Budgets,
    pub(crate) node: NodeConfig,
    pub(crate) load: Load,
    pub(crate) runtime: RuntimeConfig,
    pub(crate) lab: LabConfig,
    pub(crate) seed: u64,
}

impl SoakConfig {
    /// As a cell is asked for it.
    pub(crate) fn run(&self) -> RunConfig {
        RunConfig {
            cell: self.cell,
            run: 1,
            subject: None,
            seed: self.seed,
            node: self.node,
            load: self.load,
            runtime: self.runtime,
            variants: vec![VariantConfig {
                label: self.budgets.to_string(),
                role: Role::Baseline,
                budgets: self.budgets,
            }],
            plan: Plan {
                max_ms: self.duration_ms,
                ..Plan::for_rtt(self.cell.rtt_ms, Some(self.interval_ms))
            },
            lab: self.lab.clone(),
            explain: None,
        }
    }
}

/// The whole of `soak.json`.
#[derive(Debug, Serialize)]
pub(crate) struct SoakFile {
    schema: u32,
    command: Vec<String>,
    created_unix_s: u64,
    pub(crate) config: SoakConfig,
    tool: Tool,
    machine: Machine,
    /// Null while it goes on, and for ever if it was killed.
    pub(crate) end: Option<SoakEnd>,
}

/// How it ended.
#[derive(Debug, Serialize)]
pub(crate) struct SoakEnd {
    #[serde(flatten)]
    pub(crate) end: End,
    pub(crate) rows: u64,
    pub(crate) restarts: Option<u64>,
    pub(crate) took_ms: Option<u64>,
    pub(crate) stages: Vec<StageTime>,
    /// What the probe takes to record a poll that does nothing, on central's core.
    pub(crate) probe_ns: Option<f64>,
    pub(crate) network: Network,
}

impl SoakFile {
    /// Of a soak that begins now.
    pub(crate) fn new(config: SoakConfig) -> SoakFile {
        SoakFile {
            schema: SCHEMA,
            command: std::env::args_os()
                .map(|word| word.to_string_lossy().into_owned())
                .collect(),
            created_unix_s: unix_s(),
            config,
            tool: Tool::this(),
            machine: Machine::this(),
            end: None,
        }
    }

    /// Writes it and, beside it, the lines that were inserted into the pristine crates.
    pub(crate) fn write(&self, dir: &Path) -> Result<()> {
        write_whole(
            &dir.join(EDITS),
            include_str!(concat!(env!("OUT_DIR"), "/edits.diff")),
        )?;
        write_whole(
            &dir.join(SOAK),
            &(serde_json::to_string_pretty(self)? + "\n"),
        )
    }
}

/// A row of `soak.csv`. An empty field is one that was not measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct SoakRow {
    pub(crate) at_s: f64,
    pub(crate) interval_s: f64,
    pub(crate) connection_polls: u64,
    pub(crate) connection_slow_polls: u64,
    pub(crate) task_polls: u64,
    pub(crate) task_slow_polls: u64,
    pub(crate) requests: u64,
    pub(crate) latency_p50_ns: Option<u64>,
    pub(crate) latency_p99_ns: Option<u64>,
    pub(crate) wakes: u64,
    pub(crate) late_wakes: u64,
    pub(crate) wake_p50_ns: Option<u64>,
    pub(crate) wake_p90_ns: Option<u64>,
    pub(crate) wake_p99_ns: Option<u64>,
    pub(crate) resident_bytes: Option<u64>,
    pub(crate) connections: u64,
    pub(crate) peers_connected: u64,
    pub(crate) tasks: u64,
    pub(crate) dials: u64,
    pub(crate) dial_failures: u64,
    pub(crate) connections_opened: u64,
    pub(crate) connections_closed: u64,
    /// Since the start. Central does not know; its cell, which restarts peers, fills it in.
    pub(crate) restarts: Option<u64>,
    pub(crate) central_cpu_ns: Option<u64>,
    pub(crate) lost_records: u64,
}

/// Writes each row to disk before the next.
pub(crate) struct SoakWriter {
    writer: csv::Writer<File>,
    name: String,
}

impl SoakWriter {
    pub(crate) fn create(dir: &Path) -> Result<SoakWriter> {
        let path = dir.join(SOAK_ROWS);
        let name = path.display().to_string();
        let file = File::create(&path).with_context(|| format!("cannot create {name}"))?;
        Ok(SoakWriter {
            writer: csv::Writer::from_writer(file),
            name,
        })
    }

    pub(crate) fn row(&mut self, row: &SoakRow) -> Result<()> {
        self.writer
            .serialize(row)
            .map_err(anyhow::Error::from)
            .and_then(|()| Ok(self.writer.flush()?))
            .with_context(|| format!("cannot write {}", self.name))
    }

    /// Has the disk confirm everything.
    pub(crate) fn finish(self) -> Result<()> {
        let file = self.writer.into_inner().map_err(|error| error.into_error());
        file.and_then(|file| file.sync_all())
            .with_context(|| format!("cannot write {}", self.name))
    }
}
