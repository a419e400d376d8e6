//! The process of a cell, seen from the verb that has it measured.

use std::{
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::mpsc::RecvTimeoutError,
    thread::{self, JoinHandle},
    time::Duration,
};

use anyhow::{Context, Result, anyhow};
use lab::Reaped;
use program::{ended_saying, one_line, tail};
use run_format::{
    config::RunConfig,
    files::{SCHEMA, unix_s},
    protocol::BlockReport,
    run_row::{End, NetworkReport, RunRow},
    soak::SoakRow,
};
use serde::{Deserialize, Serialize};

use crate::{conversation::Conversation, interrupts::Interrupts};

/// What a cell's process is started with.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct CellTask {
    pub(crate) config: RunConfig,
    /// The program of central.
    pub(crate) central: PathBuf,
    /// The program of the peers.
    pub(crate) peer: PathBuf,
    /// An empty folder, where central writes.
    pub(crate) dir: PathBuf,
}

/// The node programs of a run.
#[derive(Clone, Copy)]
pub(crate) struct NodePrograms<'a> {
    pub(crate) central: &'a Path,
    pub(crate) peer: &'a Path,
}

impl<'a> From<&'a Path> for NodePrograms<'a> {
    fn from(all: &'a Path) -> Self {
        NodePrograms {
            central: all,
            peer: all,
        }
    }
}

/// What a cell reports.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum CellMessage {
    /// A block is done.
    Block(BlockReport),
    /// An interval of a soak is over.
    Row(Box<SoakRow>),
    /// The run is over.
    Over(Box<RunRow>),
}

/// What happens while a cell is measured.
pub(crate) enum CellEvent {
    Block(BlockReport),
    Row(Box<SoakRow>),
    /// Nothing for a moment.
    Tick,
    /// The first interrupt, which asks the cell to stop.
    Interrupt,
}

/// Runs a cell and passes on what happens. None after a second interrupt.
pub(crate) fn measure_cell(
    config: RunConfig,
    programs: NodePrograms<'_>,
    dir: &Path,
    interrupts: &Interrupts,
    on: impl FnMut(CellEvent) -> Result<()>,
) -> Option<RunRow> {
    let follow = || -> Result<Option<RunRow>> {
        let task = CellTask {
            config: config.clone(),
            // The processes of a cell need not share this one's working folder.
            central: programs.central.canonicalize()?,
            peer: programs.peer.canonicalize()?,
            dir: dir.canonicalize()?,
        };
        CellProcess::start(&task)?.follow(interrupts, on)
    };
    follow().unwrap_or_else(|error| {
        let end = End::Failed {
            stage: "running the cell's process".to_owned(),
            reason: one_line(&format!("{error:#}")),
        };
        Some(ended(config, end))
    })
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
        beside: None,
        machine: None,
        files: None,
    }
}

struct CellProcess {
    /// Everything in its namespaces ends with it.
    process: Reaped,
    conversation: Conversation<CellMessage>,
    errors: Option<JoinHandle<String>>,
}

impl CellProcess {
    fn start(task: &CellTask) -> Result<CellProcess> {
        let child = Command::new("/proc/self/exe")
            .arg("cell")
            // Ctrl-C on the terminal is for this process alone.
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .context("cannot start this program again")?;
        let mut process = Reaped { child };
        let conversation = Conversation::begin(&mut process.child, task)?;
        let stderr = process
            .child
            .stderr
            .take()
            .context("it has no standard error")?;
        let errors = thread::Builder::new().spawn(move || tail(stderr))?;
        Ok(CellProcess {
            process,
            conversation,
            errors: Some(errors),
        })
    }

    /// Waits for its end and passes on interrupts. None if there were two.
    fn follow(
        &mut self,
        interrupts: &Interrupts,
        mut on: impl FnMut(CellEvent) -> Result<()>,
    ) -> Result<Option<RunRow>> {
        const LOOK_AROUND: Duration = Duration::from_millis(100);
        let mut stopping = false;
        loop {
            match self.conversation.messages.recv_timeout(LOOK_AROUND) {
                Ok(CellMessage::Over(row)) => {
                    self.process.child.wait()?;
                    return Ok(Some(*row));
                }
                Ok(CellMessage::Block(block)) => on(CellEvent::Block(block))?,
                Ok(CellMessage::Row(row)) => on(CellEvent::Row(row))?,
                Err(RecvTimeoutError::Disconnected) => return Err(self.died()),
                Err(RecvTimeoutError::Timeout) => on(CellEvent::Tick)?,
            }
            match interrupts.seen() {
                0 => {}
                1 if stopping => {}
                1 => {
                    stopping = true;
                    on(CellEvent::Interrupt)?;
                    self.conversation.ask_to_stop();
                }
                _ => return Ok(None), // The drop ends it.
            }
        }
    }

    fn died(&mut self) -> anyhow::Error {
        let errors = self.errors.take().and_then(|errors| errors.join().ok());
        let errors = errors.unwrap_or_default();
        let how = self
            .process
            .child
            .wait()
            .map(|status| ended_saying(status, &errors));
        anyhow!("it {}", how.unwrap_or_else(|_| "ended".to_owned()))
    }
}
