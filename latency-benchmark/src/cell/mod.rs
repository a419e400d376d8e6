//! One run of one cell, from inside the lab: wires it, starts the nodes, passes on what central
//! tells, and says how it ended.

mod central;
mod nodes;
mod peers;

use std::{
    path::{Path, PathBuf},
    sync::mpsc::{Receiver, RecvTimeoutError},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, anyhow, bail};
use lab::{Inside, Lab, LabSpec};
use serde::{Deserialize, Serialize};

use self::{
    central::{Central, last_words_of_central},
    nodes::forget_empty_logs,
    peers::Peers,
};
use crate::{
    config::RunConfig,
    failure::one_line,
    observe::process::move_to,
    slices::{BlockDone, Others},
    soak::{SoakPlan, turns::Turns},
    store::{
        SCHEMA,
        rows::{End, Network, RunRow, StageTime, Stop},
        soak::SoakRow,
        unix_s,
    },
};

/// What a cell's process is started with.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct CellTask {
    pub(crate) config: RunConfig,
    /// If it is not blocks that are measured, but a series of rows.
    pub(crate) soak: Option<SoakPlan>,
    /// Where central writes. It is there and empty.
    pub(crate) dir: PathBuf,
}

/// What central's process is started with by a cell.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct CentralTask {
    pub(crate) config: RunConfig,
    pub(crate) soak: Option<SoakPlan>,
    pub(crate) dir: PathBuf,
    /// Where to dial.
    pub(crate) peers: Vec<String>,
    pub(crate) others: Others,
}

/// What central tells its cell, and a cell its sweep, each in a line.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Told {
    /// All peers are connected.
    Connected {
        /// None where no poll is recorded.
        probe_ns: Option<f64>,
    },
    /// A block is done.
    Block(BlockDone),
    /// An interval of a soak is over.
    Row(Box<SoakRow>),
    /// Central is done. In a soak, rows count as blocks.
    Measured {
        stop: Stop,
        blocks: u32,
        planned_ms: u64,
    },
    /// The run is over.
    Over(Box<RunRow>),
}

/// The line on standard input by which a cell or central is told to finish the slice and stop.
pub(crate) const STOP_LINE: &str = "stop";

/// Runs the cell. Only a failure to say how it ended is an error.
pub(crate) fn run(
    inside: Inside,
    task: &CellTask,
    stop: &Receiver<()>,
    mut tell: impl FnMut(&Told) -> Result<()>,
) -> Result<()> {
    let started = Instant::now();
    let started_unix_s = unix_s();
    let mut running = Running {
        task,
        stage: "wiring the lab",
        stage_since: started,
        stages: Vec::new(),
        network: Network::default(),
        probe_ns: None,
        measured: None,
    };
    let end = match running.run(inside, stop, &mut tell) {
        Ok(end) => end,
        Err(error) => End::Failed {
            stage: running.stage.to_owned(),
            reason: one_line(&format!("{error:#}")),
        },
    };
    running.enter("over");
    forget_empty_logs(&task.dir);
    let took_ms = ms(started.elapsed());
    tell(&Told::Over(Box::new(RunRow {
        schema: SCHEMA,
        cell: task.config.cell.id(),
        config: task.config.clone(),
        end,
        network: running.network,
        started_unix_s,
        took_ms,
        overhead_ms: running
            .measured
            .map(|measured| took_ms.saturating_sub(measured.planned_ms)),
        stages: running.stages,
        probe_ns: running.probe_ns,
        blocks: running.measured.map(|measured| measured.blocks),
    })))
}

struct Running<'a> {
    task: &'a CellTask,
    stage: &'static str,
    stage_since: Instant,
    stages: Vec<StageTime>,
    network: Network,
    probe_ns: Option<f64>,
    measured: Option<Measured>,
}

#[derive(Clone, Copy)]
struct Measured {
    stop: Stop,
    blocks: u32,
    planned_ms: u64,
}

impl Running<'_> {
    fn enter(&mut self, stage: &'static str) {
        let now = Instant::now();
        self.stages.push(StageTime {
            stage: self.stage.to_owned(),
            took_ms: ms(now - self.stage_since),
        });
        (self.stage, self.stage_since) = (stage, now);
    }

    fn run(
        &mut self,
        inside: Inside,
        stop: &Receiver<()>,
        tell: &mut dyn FnMut(&Told) -> Result<()>,
    ) -> Result<End> {
        let config = &self.task.config;
        move_to(&config.lab.placement.peers).context("cannot leave central's core")?;
        let mut lab = Lab::wire(inside, spec(config))?;
        self.network.lab = Some(lab.facts().clone());

        self.enter("measuring the round trip");
        let rtt = lab.measure_rtt()?;
        let invalid = rtt.invalid();
        self.network.rtt = Some(rtt);
        if let Some(invalid) = invalid {
            return Ok(End::Invalid {
                reason: one_line(&invalid.to_string()),
            });
        }

        self.enter("starting the peers");
        let before = lab.counters()?;
        let mut peers = Peers::start(&lab, self.task)?;

        self.enter("connecting");
        let others = Others {
            peers: peers.pids(),
            delay_line: lab.delay_line_pid().and_then(|pid| i32::try_from(pid).ok()),
        };
        let mut central = Central::start(&lab, self.task, peers.addresses(), others)?;
        let outcome = self.follow(&mut central, &mut peers, &mut lab, stop, tell);
        self.network.counters = lab.counters().ok().map(|after| after.since(&before));
        outcome.map_err(|error| who_died(error, central, peers, &self.task.dir))?;
        self.enter("taking down the lab");
        self.network.delay_line = lab.finish()?;
        let measured = self
            .measured
            .ok_or_else(|| anyhow!("central ended without a word"))?;
        Ok(End::Ok {
            stop: measured.stop,
        })
    }

    /// Passes on what central tells until it is done, and restarts peers if they are to come and go.
    fn follow(
        &mut self,
        central: &mut Central,
        peers: &mut Peers<'_>,
        lab: &mut Lab,
        stop: &Receiver<()>,
        tell: &mut dyn FnMut(&Told) -> Result<()>,
    ) -> Result<()> {
        const LOOK_AROUND: Duration = Duration::from_millis(200);
        /// Beyond what is planned: connecting, and a machine that is busy with something else.
        const PATIENCE: Duration = Duration::from_secs(120);
        let config = &self.task.config;
        let planned = config.longest() + config.plan.pass(config.variants.len() + 1);
        let deadline = Instant::now() + planned + PATIENCE;
        let mut turns: Option<Turns> = None;
        let mut restarts = 0;
        loop {
            match central.told.recv_timeout(LOOK_AROUND) {
                Ok(Told::Connected { probe_ns }) => {
                    self.probe_ns = probe_ns;
                    self.enter("measuring");
                    turns = self.turns();
                }
                Ok(block @ Told::Block(_)) => tell(&block)?,
                Ok(Told::Row(mut row)) => {
                    row.restarts = Some(restarts);
                    tell(&Told::Row(row))?;
                }
                Ok(Told::Measured {
                    stop,
                    blocks,
                    planned_ms,
                }) => {
                    self.enter("waiting for the nodes to end");
                    self.measured = Some(Measured {
                        stop,
                        blocks,
                        planned_ms,
                    });
                }
                Ok(Told::Over(_)) => bail!("central told what only a cell tells"),
                Err(RecvTimeoutError::Disconnected) => return central.end(),
                Err(RecvTimeoutError::Timeout) => {}
            }
            if self.measured.is_some() {
                continue; // The nodes are about to end, and the delay line with them.
            }
            lab.check()?;
            if let Some(turns) = &mut turns
                && peers.listen()?
                && let Some(number) = turns.due(Instant::now())
            {
                peers.restart(lab, number)?;
                restarts += 1;
            }
            if stop.try_recv().is_ok() {
                central.stop();
            }
            if Instant::now() > deadline {
                let limit = planned + PATIENCE;
                bail!("central did not end within {:.0} s", limit.as_secs_f64());
            }
        }
    }
}

impl Running<'_> {
    /// When which peer is to be restarted, counted from now, in a soak.
    fn turns(&self) -> Option<Turns> {
        let config = &self.task.config;
        let churn = self.task.soak?.churn;
        Some(Turns::begin(
            churn,
            config.cell.peers,
            config.seed,
            Instant::now(),
        ))
    }
}

fn spec(config: &RunConfig) -> LabSpec {
    LabSpec {
        rtt: config.cell.rtt_ms,
        backend: config.lab.backend,
        loss: config.lab.loss_percent,
        jitter: config.lab.jitter_ms,
        congestion_control: config.lab.congestion_control.clone(),
        ..LabSpec::new(config.cell.peers, config.lab.placement.clone())
    }
}

/// Adds to an error which peer is gone, and the last words of who is.
fn who_died(
    error: anyhow::Error,
    central: Central,
    mut peers: Peers<'_>,
    dir: &Path,
) -> anyhow::Error {
    drop(central);
    let gone = peers.gone();
    let words = last_words_of_central(dir);
    let mut text = format!("{error:#}: {words}");
    if !gone.is_empty() {
        text = format!("{text}; {}", gone.join("; "));
    }
    anyhow!("{text}")
}

fn ms(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
