//! One run of one cell, from inside the lab: wires it, starts the nodes, passes on what central
//! tells, and says how it ended.

use std::{
    fs::{self, File},
    io::{self, BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::mpsc::{Receiver, RecvTimeoutError, channel},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, anyhow, bail};
use lab::{Inside, Lab, LabSpec, Reaped, Where};
use serde::{Deserialize, Serialize};

use crate::{
    config::{RunConfig, Transport},
    failure::{self, ended, one_line},
    observe::process::move_to,
    slices::{BlockDone, Others},
    store::{
        SCHEMA,
        rows::{End, Network, RunRow, StageTime, Stop},
        unix_s,
    },
};

/// What a cell's process is started with.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct CellTask {
    pub(crate) config: RunConfig,
    /// Where central writes. It is there and empty.
    pub(crate) dir: PathBuf,
}

/// What central's process is started with by a cell.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct CentralTask {
    pub(crate) config: RunConfig,
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
    Connected { probe_ns: f64 },
    /// A block is done.
    Block(BlockDone),
    /// Central is done.
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
        let (peers, addresses) = start_peers(&lab, self.task)?;

        self.enter("connecting");
        let others = Others {
            peers: peers.iter().map(pid).collect(),
            delay_line: lab.delay_line_pid().and_then(|pid| i32::try_from(pid).ok()),
        };
        let mut central = Central::start(&lab, self.task, addresses, others)?;
        let outcome = self.follow(&mut central, &mut lab, stop, tell);
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

    /// Passes on what central tells until it is done.
    fn follow(
        &mut self,
        central: &mut Central,
        lab: &mut Lab,
        stop: &Receiver<()>,
        tell: &mut dyn FnMut(&Told) -> Result<()>,
    ) -> Result<()> {
        const LOOK_AROUND: Duration = Duration::from_millis(200);
        /// Beyond what is planned: connecting, and a machine that is busy with something else.
        const PATIENCE: Duration = Duration::from_secs(120);
        let plan = self.task.config.plan;
        let planned = Duration::from_millis(plan.warm_up_ms + plan.max_ms)
            + plan.pass(self.task.config.variants.len() + 1);
        let deadline = Instant::now() + planned + PATIENCE;
        loop {
            match central.told.recv_timeout(LOOK_AROUND) {
                Ok(Told::Connected { probe_ns }) => {
                    self.probe_ns = Some(probe_ns);
                    self.enter("measuring");
                }
                Ok(block @ Told::Block(_)) => tell(&block)?,
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
            if stop.try_recv().is_ok() {
                central.stop()?;
            }
            if Instant::now() > deadline {
                let limit = planned + PATIENCE;
                bail!("central did not end within {:.0} s", limit.as_secs_f64());
            }
        }
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

/// This program again, with a log for what it says on standard error.
fn node(verb: &str, log: &Path) -> Result<Command> {
    let mut command = Command::new("/proc/self/exe");
    let log = File::create(log).with_context(|| format!("cannot create {}", log.display()))?;
    command.arg(verb).stdout(Stdio::piped()).stderr(log);
    Ok(command)
}

fn peer_log(dir: &Path, peer: usize) -> PathBuf {
    dir.join(format!("peer-{}.log", peer + 1))
}

fn central_log(dir: &Path) -> PathBuf {
    dir.join("central.log")
}

/// Starts all peers at once, then waits for the address of each.
fn start_peers(lab: &Lab, task: &CellTask) -> Result<(Vec<Reaped>, Vec<String>)> {
    let mut peers = Vec::new();
    let mut waiting = Vec::new();
    for number in 0..task.config.cell.peers {
        let address = lab.peer_address(number);
        let listen = match task.config.node.transport {
            Transport::Tcp => format!("/ip4/{address}/tcp/0"),
            Transport::Quic => format!("/ip4/{address}/udp/0/quic-v1"),
        };
        let mut command = node("peer", &peer_log(&task.dir, number))?;
        command
            .arg("--listen")
            .arg(listen)
            .arg("--config")
            .stdin(Stdio::piped());
        let mut peer = lab.spawn_placed(Where::Peer(number), command)?;
        if let Some(mut input) = peer.stdin.take() {
            // A peer that is gone already says why below.
            let _ = serde_json::to_writer(&mut input, &(task.config.node, task.config.load));
        }
        waiting.push(first_line(&mut peer));
        peers.push(peer);
    }
    const PATIENCE: Duration = Duration::from_secs(20);
    let deadline = Instant::now() + PATIENCE;
    let addresses = waiting.into_iter().enumerate().map(|(number, line)| {
        let line = line.recv_timeout(deadline.saturating_duration_since(Instant::now()));
        line.map_err(|_| {
            let words = last_words(&peer_log(&task.dir, number));
            anyhow!("peer {} does not listen: {words}", number + 1)
        })
    });
    let addresses = addresses.collect::<Result<_>>()?;
    Ok((peers, addresses))
}

/// The first line that a child prints. Nothing comes if it ends without one.
fn first_line(child: &mut Reaped) -> Receiver<String> {
    let (tell, told) = channel();
    if let Some(output) = child.stdout.take() {
        thread::spawn(move || {
            let mut lines = BufReader::new(output).lines();
            if let Some(Ok(line)) = lines.next() {
                let _ = tell.send(line);
            }
            // Holds the pipe open; a peer says no more, but must not find it broken.
            lines.for_each(drop);
        });
    }
    told
}

struct Central {
    process: Reaped,
    told: Receiver<Told>,
    stopped: bool,
}

impl Central {
    fn start(lab: &Lab, task: &CellTask, peers: Vec<String>, others: Others) -> Result<Central> {
        let mut command = node("central", &central_log(&task.dir))?;
        command.arg("--task").stdin(Stdio::piped());
        let mut process = lab.spawn_placed(Where::Central, command)?;
        let task = CentralTask {
            config: task.config.clone(),
            dir: task.dir.clone(),
            peers,
            others,
        };
        let mut line = serde_json::to_vec(&task)?;
        line.push(b'\n');
        let input = process
            .stdin
            .as_mut()
            .ok_or_else(|| anyhow!("central has no standard input"))?;
        input.write_all(&line).context("central does not listen")?;
        let output = process
            .stdout
            .take()
            .ok_or_else(|| anyhow!("central has no standard output"))?;
        let (tell, told) = channel();
        thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                match serde_json::from_str(&line) {
                    Ok(event) => drop(tell.send(event)),
                    Err(_) => eprintln!("central: {line}"),
                }
            }
        });
        Ok(Central {
            process,
            told,
            stopped: false,
        })
    }

    fn stop(&mut self) -> Result<()> {
        if !std::mem::replace(&mut self.stopped, true)
            && let Some(input) = &mut self.process.stdin
        {
            writeln!(input, "{STOP_LINE}").context("central does not listen")?;
        }
        Ok(())
    }

    /// Waits for the end, which its closed output has announced.
    fn end(&mut self) -> Result<()> {
        let status = self.process.wait()?;
        if status.success() {
            Ok(())
        } else {
            bail!("central {}", ended(status))
        }
    }
}

/// Adds to an error which peer is gone, and the last words of who is.
fn who_died(
    error: anyhow::Error,
    central: Central,
    peers: Vec<Reaped>,
    dir: &Path,
) -> anyhow::Error {
    drop(central);
    let mut gone = Vec::new();
    for (number, mut peer) in peers.into_iter().enumerate() {
        if let Ok(Some(status)) = peer.try_wait() {
            gone.push(format!(
                "peer {} {}: {}",
                number + 1,
                ended(status),
                last_words(&peer_log(dir, number))
            ));
        }
    }
    let words = last_words(&central_log(dir));
    let mut text = format!("{error:#}: {words}");
    if !gone.is_empty() {
        text = format!("{text}; {}", gone.join("; "));
    }
    anyhow!("{text}")
}

fn last_words(log: &Path) -> String {
    failure::last_words(&fs::read_to_string(log).unwrap_or_default())
}

fn forget_empty_logs(dir: &Path) {
    let entries = fs::read_dir(dir)
        .into_iter()
        .flatten()
        .filter_map(io::Result::ok);
    for entry in entries {
        let is_log = entry
            .path()
            .extension()
            .is_some_and(|extension| extension == "log");
        if is_log && entry.metadata().is_ok_and(|metadata| metadata.len() == 0) {
            // A log more does no harm.
            let _ = fs::remove_file(entry.path());
        }
    }
}

fn pid(child: &Reaped) -> i32 {
    i32::try_from(child.id()).expect("a process id is an int")
}

fn ms(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
