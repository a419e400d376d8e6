//! Runs one cell, from inside the lab: wires the lab, starts the nodes, forwards the reports of central, and reports how the
//! run ended.

mod nodes;
mod peers;
mod task;

use std::io::{self, BufRead};
use std::iter::Peekable;
use std::path::Path;
use std::process::Command;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use lab::{Inside, KillOnDrop, Lab, LabSpec, NodePlace, cards_to, move_thread_to};
use program::{
    Failure, how_it_ended_and_why, last_words, lines_or_end, one_line, print_raw, wait_within,
};
use run_format::{
    CentralTask, Counters, Measured, Measurement, NodeMessage, OtherProcesses, RunOutcome, RunRow,
    STOP_LINE, Stage, StageTime, Stop, TURN_LINE, plan,
};

use self::nodes::{errors_in, remove_empty_logs, start};
pub(crate) use self::peers::round_trip;
use self::peers::{Peers, restarts};
pub(crate) use self::task::{CellMessage, CellPrograms, CellTask, row_without_figures};
use crate::conversation::Conversation;

/// The verb `cell`: reads a task from standard input, and prints messages.
pub(crate) fn run() -> Result<u8, Failure> {
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    let task: CellTask =
        serde_json::from_str(&line).context("standard input has no task in its first line")?;
    // With a lab, this is a process inside the lab's namespaces from here on. With --peer-hosts there is no lab. The process
    // still has one thread, as entering namespaces requires.
    let inside = match task.config.lab.peer_hosts {
        None => Some(lab::enter()?),
        Some(_) => None,
    };
    let started = Instant::now();
    let mut cell_run = CellRun {
        task: &task,
        lines: lines_or_end([STOP_LINE, TURN_LINE])?,
        stage: Stage::WiringLab,
        stage_since: started,
        paused: Duration::ZERO,
        restarted: 0,
        // The end is a placeholder until the run is over.
        row: row_without_figures(task.config.clone(), RunOutcome::INTERRUPTED),
        measured: None,
    };
    let end = cell_run.run(inside);
    cell_run.row.outcome = end.unwrap_or_else(|error| {
        let mut reason = format!("{error:#}");
        if let Some(stall) = &cell_run.row.stall {
            let variant = task.config.variants.get(stall.variant);
            let label = variant.map_or("", |variant| &variant.label);
            reason = format!("under {label}, {stall}");
        }
        RunOutcome::Failed {
            stage: cell_run.stage,
            reason: one_line(&reason),
        }
    });
    cell_run.note_time();
    remove_empty_logs(&task.dir);
    let mut row = cell_run.row;
    row.took_ms = ms(started.elapsed());
    if let Some(measured) = cell_run.measured {
        row.overhead_ms = Some(row.took_ms.saturating_sub(measured.planned_ms));
        row.blocks = Some(measured.blocks);
        row.messages = measured.messages;
        row.outstanding = measured.outstanding;
    }
    report(&CellMessage::Over(Box::new(row)))?;
    Ok(0)
}

fn report(message: &CellMessage) -> Result<()> {
    print_raw(&(serde_json::to_string(message)? + "\n"));
    Ok(())
}

struct CellRun<'a> {
    task: &'a CellTask,
    /// The lines that the parent process sends: to stop, or to take a turn.
    lines: Receiver<&'static str>,
    stage: Stage,
    stage_since: Instant,
    /// The time for which the processes were paused while other programs had their turns.
    paused: Duration,
    /// The number of restarts of peers.
    restarted: u64,
    row: RunRow,
    measured: Option<Measured>,
}

impl<'a> CellRun<'a> {
    fn enter(&mut self, stage: Stage) {
        self.note_time();
        (self.stage, self.stage_since) = (stage, Instant::now());
    }

    fn note_time(&mut self) {
        self.row.stages.push(StageTime {
            stage: self.stage,
            took_ms: ms(self.stage_since.elapsed()),
        });
    }

    fn run(&mut self, inside: Option<Inside>) -> Result<RunOutcome> {
        move_thread_to(&self.task.config.lab.placement.peers)
            .context("cannot leave central's core")?;
        let mut lab = inside.map(|inside| self.wire(inside)).transpose()?;
        if let Some(lab) = &mut lab
            && let Some(reason) = self.measure_links(lab)?
        {
            return Ok(RunOutcome::Invalid { reason });
        }
        self.enter(Stage::StartingPeers);
        let before = lab.as_ref().map(Lab::counters).transpose()?;
        let peers = self.start_peers(lab.as_ref())?;
        self.enter(Stage::Connecting);
        let stop = self.run_central(lab.as_mut(), peers, before)?;
        self.enter(Stage::TakingDownLab);
        self.row.network.delay_line = lab.map(Lab::finish).transpose()?.flatten();
        Ok(RunOutcome::Ok { stop })
    }

    fn wire(&mut self, inside: Inside) -> Result<Lab> {
        let config = &self.task.config;
        let spec = LabSpec {
            peers: config.cell.peers,
            rtt: config.cell.rtt_ms,
            network: config.lab.clone(),
        };
        let lab = Lab::wire(inside, spec)?;
        self.row.network.lab = Some(lab.facts().clone());
        Ok(lab)
    }

    /// Measures the round trips of the lab. Returns the reason if they are not as asked for.
    fn measure_links(&mut self, lab: &mut Lab) -> Result<Option<String>> {
        self.enter(Stage::MeasuringRoundTrip);
        let rtt = lab.measure_rtt()?;
        let invalid = rtt.invalid();
        self.row.network.rtt = Some(rtt);
        Ok(invalid)
    }

    /// Starts the peers. The links to peers on other hosts can be measured only now.
    fn start_peers(&mut self, lab: Option<&Lab>) -> Result<Peers<'a>> {
        let config = &self.task.config;
        let peers = Peers::start(lab, self.task)?;
        if let Some(peer_hosts) = &config.lab.peer_hosts {
            self.enter(Stage::MeasuringRoundTrip);
            self.row.network.rtt = Some(peers.time_links()?);
            let hosts = peer_hosts.hosts.iter().take(config.cell.peers);
            self.row.network.cards = cards_to(hosts.map(|host| host.address));
        }
        Ok(peers)
    }

    /// Runs central to its end, and ends the peers. Returns why central stopped measuring.
    fn run_central(
        &mut self,
        mut lab: Option<&mut Lab>,
        mut peers: Peers<'_>,
        before: Option<Counters>,
    ) -> Result<Stop> {
        let log = self.task.dir.join("central.log");
        let mut central = self.start_central(lab.as_deref(), &peers, &log)?;
        let followed = self.follow(&mut central, &mut peers, lab.as_deref_mut());
        let outcome = followed.and_then(|()| {
            ended_well(&mut central, &log)?;
            let stop = self.measured.as_ref().map(|measured| measured.stop);
            stop.context("central ended before it had measured anything")
        });
        let after = lab.and_then(|lab| lab.counters().ok());
        let counters = after.zip(before);
        self.row.network.counters = counters.map(|(after, before)| after.since(&before));
        outcome.map_err(|error| who_died(error, central, &log, peers))
    }

    fn start_central(
        &self,
        lab: Option<&Lab>,
        peers: &Peers<'_>,
        log: &Path,
    ) -> Result<Conversation<NodeMessage>> {
        let config = &self.task.config;
        let delay_line = lab.and_then(Lab::delay_line_pid);
        let others = OtherProcesses {
            peers: peers.pids(),
            delay_line: delay_line.and_then(|pid| i32::try_from(pid).ok()),
        };
        let cores = config.lab.placement.central_cores();
        let mut command = Command::new(&self.task.programs.central);
        command.arg("central");
        let process = start(lab, NodePlace::Central, &cores, command, log)?;
        let task = CentralTask {
            config: config.clone(),
            dir: self.task.dir.clone(),
            peers: peers.addresses(),
            others,
            page: peers.page(),
        };
        Conversation::begin(process, &task)
    }

    /// Forwards the reports of central until it closes its output. In a soak it also restarts peers.
    fn follow(
        &mut self,
        central: &mut Conversation<NodeMessage>,
        peers: &mut Peers<'_>,
        mut lab: Option<&mut Lab>,
    ) -> Result<()> {
        const LOOK_AROUND: Duration = Duration::from_millis(200);
        let config = &self.task.config;
        let mut due_restarts = match &config.measurement {
            Measurement::Soak(plan) => {
                Some(restarts(plan.churn, config.cell.peers, config.seed).peekable())
            }
            _ => None,
        };
        loop {
            match central.messages.recv_timeout(LOOK_AROUND) {
                Ok(NodeMessage::Connected { probe_ns }) => {
                    self.row.probe_ns = probe_ns;
                    self.enter(Stage::Measuring);
                }
                Ok(NodeMessage::Block(block)) => report(&CellMessage::Block(block))?,
                Ok(NodeMessage::AsksForTurn(block)) => {
                    self.pause_until_turn(block, central, peers, lab.is_some())?;
                }
                Ok(NodeMessage::Row(mut row)) => {
                    row.restarts = Some(self.restarted);
                    report(&CellMessage::Row(row))?;
                }
                Ok(NodeMessage::Stalled(stall)) => self.row.stall = Some(stall),
                Ok(NodeMessage::Measured(measured)) => {
                    self.enter(Stage::WaitingForNodes);
                    self.measured = Some(measured);
                }
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
                Err(RecvTimeoutError::Timeout) => {}
            }
            // Once central has measured, the nodes are about to end, and the delay line with them.
            if self.measured.is_none() {
                self.look_after(central, peers, lab.as_deref_mut(), &mut due_restarts)?;
            }
        }
    }

    /// Checks that the lab, the peers of a soak and central still work, restarts a due peer, and forwards a stop request.
    fn look_after(
        &mut self,
        central: &mut Conversation<NodeMessage>,
        peers: &mut Peers<'_>,
        mut lab: Option<&mut Lab>,
        due_restarts: &mut Option<Peekable<impl Iterator<Item = (Duration, usize)>>>,
    ) -> Result<()> {
        if let Some(lab) = &mut lab {
            lab.check()?;
        }
        if let Some(due_restarts) = due_restarts
            && self.stage == Stage::Measuring
        {
            self.restart_due_peer(peers, lab.as_deref(), due_restarts)?;
        }
        if self.lines.try_recv().is_ok() {
            central.ask_to_stop();
        }
        self.refuse_overdue_stage()
    }

    /// Restarts the next peer if that is due and all peers listen. Fails if a peer has ended.
    fn restart_due_peer(
        &mut self,
        peers: &mut Peers<'_>,
        lab: Option<&Lab>,
        due_restarts: &mut Peekable<impl Iterator<Item = (Duration, usize)>>,
    ) -> Result<()> {
        let is_due = |(at, _): &(Duration, usize)| *at <= self.stage_since.elapsed();
        if peers.all_listen()?
            && let Some((_, number)) = due_restarts.next_if(is_due)
        {
            peers.restart(lab, number)?;
            self.restarted += 1;
        }
        Ok(())
    }

    /// Fails if central takes too long for the current stage.
    fn refuse_overdue_stage(&self) -> Result<()> {
        let limit = self.longest_stage();
        if self.stage_since.elapsed() > limit + self.paused {
            let (stage, seconds) = (self.stage, limit.as_secs_f64());
            bail!("central was not done with {stage} within {seconds:.0} s");
        }
        Ok(())
    }

    /// The time that central may take for the current stage.
    fn longest_stage(&self) -> Duration {
        /// A run may take this much longer than planned, for example on a busy machine.
        const PATIENCE: Duration = Duration::from_secs(120);
        /// A node waits for half of this time until all peers have answered its dials.
        const CONNECTING: Duration = Duration::from_secs(40);
        let config = &self.task.config;
        match self.stage {
            Stage::Measuring => {
                // For up to a quarter of the time, disturbed blocks are measured again.
                let repeats = Duration::from_millis(config.plan.max_ms / 4);
                let block = plan::block::longest_block(config);
                plan::block::planned_time(config) + block + repeats + PATIENCE
            }
            _ => CONNECTING,
        }
    }

    /// Asks for a turn for central, and pauses the processes of the cell until it comes. Every 3 s they run for a moment,
    /// which is not measured, because libp2p gives up a stream that is not negotiated after 10 s, and a ping after 20 s.
    fn pause_until_turn(
        &mut self,
        block: u32,
        central: &mut Conversation<NodeMessage>,
        peers: &Peers<'_>,
        is_lab: bool,
    ) -> Result<()> {
        const LONGEST_PAUSE: Duration = Duration::from_secs(3);
        const MOMENT: Duration = Duration::from_millis(30);
        // Peers on other hosts have nothing to do while central is paused.
        let peers_here = peers.processes().filter(|_| is_lab);
        let processes: Vec<&KillOnDrop> = peers_here.chain([&central.process]).collect();
        let pause = || processes.iter().for_each(|process| process.pause());
        let resume = || processes.iter().for_each(|process| process.resume());
        pause();
        report(&CellMessage::AsksForTurn(block))?;
        let began = Instant::now();
        let line = loop {
            match self.lines.recv_timeout(LONGEST_PAUSE) {
                Ok(line) => break line,
                Err(RecvTimeoutError::Disconnected) => break STOP_LINE,
                Err(RecvTimeoutError::Timeout) => {}
            }
            resume();
            sleep(MOMENT);
            pause();
        };
        resume();
        central.send_line(line);
        self.paused += began.elapsed();
        Ok(())
    }
}

/// Waits for the end of central, which has closed its output.
fn ended_well(central: &mut Conversation<NodeMessage>, log: &Path) -> Result<()> {
    const PATIENCE: Duration = Duration::from_secs(20);
    let Some(status) = wait_within(&mut central.process.child, PATIENCE)? else {
        bail!("central closed its output and did not end");
    };
    if !status.success() {
        bail!("central {}", how_it_ended_and_why(status, &errors_in(log)));
    }
    Ok(())
}

/// Adds the processes that died, and the last words of central, to an error.
fn who_died(
    error: anyhow::Error,
    central: Conversation<NodeMessage>,
    log: &Path,
    mut peers: Peers<'_>,
) -> anyhow::Error {
    let text = format!("{error:#}");
    let words = last_words(&errors_in(log)).filter(|_| !text.starts_with("central "));
    drop(central);
    let mut died = peers.descriptions_of_ended();
    // If the error is about a peer that died, that peer is in the list with its last words.
    if !died.iter().any(|peer| peer.starts_with(&text)) {
        died.push(text);
    }
    died.extend(words.map(|words| format!("central: {words}")));
    anyhow!("{}", died.join("; "))
}

fn ms(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
