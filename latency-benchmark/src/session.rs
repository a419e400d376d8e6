//! A session runs cells for a verb that measures: it writes into a folder, shows progress, and obeys interrupts.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};
use std::{fs, thread};

use anyhow::{Context, Result, bail};
use lab::move_thread_to;
use lab::preflight::busy_cores;
use program::{how_it_ended_and_why, in_one_line, interrupts_seen, tail, wait_within};
use run_format::{Cores, RunConfig, RunOutcome, RunRow, Stage, TURN_LINE};

use crate::cell::{CellMessage, CellPrograms, CellTask, row_without_figures};
use crate::conversation::Conversation;
use crate::progress::Progress;
use crate::results_folder::ResultsFolder;
use crate::stopped::StoppedWatch;
use crate::turn_order::Seat;

pub(crate) struct Session {
    pub(crate) folder: ResultsFolder,
    pub(crate) progress: Progress,
}

impl Session {
    /// Begins to measure. This process moves to the cores of the peers, since only central may run on central's core.
    pub(crate) fn begin(
        folder: ResultsFolder,
        progress: Progress,
        peers: &Cores,
    ) -> Result<Session> {
        move_thread_to(peers).context("cannot leave central's core")?;
        let other_verbs = others();
        if !other_verbs.is_empty() {
            let verbs = other_verbs.join(" and another ");
            progress.warn(&format!(
                "another {verbs} is running on this machine; each disturbs the other's figures"
            ));
        }
        if let Some(cores) = busy_cores().filter(|cores| *cores > 0.5) {
            progress.warn(&format!(
                "other work keeps {cores:.1} cores of this machine busy and disturbs the figures"
            ));
        }
        Ok(Session { folder, progress })
    }

    /// Runs a cell, whose files go into `dir`, and passes its messages on. Returns None after a second interrupt.
    pub(crate) fn measure(
        &self,
        config: RunConfig,
        programs: &CellPrograms,
        dir: &Path,
        seat: Option<&Seat<'_>>,
        on_message: impl FnMut(CellMessage) -> Result<()>,
    ) -> Result<Option<RunRow>> {
        let run = || {
            // The processes of a cell may have another working folder.
            let task = CellTask {
                config: config.clone(),
                programs: CellPrograms {
                    central: programs.central.canonicalize()?,
                    peer: programs.peer.canonicalize()?,
                },
                dir: dir.canonicalize()?,
            };
            self.follow(&task, seat, on_message)
        };
        let began = Instant::now();
        let mut row = run().unwrap_or_else(|error| {
            let end = RunOutcome::Failed {
                stage: Stage::RunningCell,
                reason: in_one_line(&error),
            };
            Some(row_without_figures(config, end))
        });
        // A cell that was killed cannot say how long it took.
        if let Some(row) = row.as_mut().filter(|row| row.took_ms == 0) {
            row.took_ms = began.elapsed().as_millis() as u64;
        }
        self.folder.check()?;
        Ok(row)
    }

    /// Starts the process of a cell and passes its messages on until it ends.
    fn follow(
        &self,
        task: &CellTask,
        seat: Option<&Seat<'_>>,
        mut on_message: impl FnMut(CellMessage) -> Result<()>,
    ) -> Result<Option<RunRow>> {
        const LOOK_AROUND: Duration = Duration::from_millis(100);
        const LAST_PATIENCE: Duration = Duration::from_secs(2);
        let mut command = Command::new("/proc/self/exe");
        // When the cell's process ends, all processes in its namespaces end, too.
        let cell = Conversation::start(command.arg("cell").stderr(Stdio::piped()), task);
        let mut cell = cell.context("cannot start this program again")?;
        let stderr = cell.process.child.stderr.take();
        let stderr = stderr.context("it has no standard error")?;
        let errors = thread::Builder::new().spawn(move || tail(stderr))?;
        let mut asking: Option<&Seat<'_>> = None;
        let mut watch = StoppedWatch::new(cell.process.child.id());
        loop {
            // While the cell asks for a turn, its processes are paused and send no messages.
            if asking.is_some_and(|seat| seat.has_turn_within(LOOK_AROUND)) {
                asking = None;
                cell.send_line(TURN_LINE);
            }
            let patience = asking.map_or(LOOK_AROUND, |_| Duration::ZERO);
            match cell.messages.recv_timeout(patience) {
                Ok(CellMessage::AsksForTurn(block)) => {
                    asking = seat.inspect(|seat| seat.ask(block));
                }
                Ok(CellMessage::Over(row)) => {
                    // The cell is done. Dropping it kills the process if it does not end.
                    wait_within(&mut cell.process.child, LAST_PATIENCE)?;
                    return Ok(Some(*row));
                }
                Ok(message) => on_message(message)?,
                Err(RecvTimeoutError::Timeout) => self.progress.tick(),
                Err(RecvTimeoutError::Disconnected) => {
                    let errors = errors.join().unwrap_or_default();
                    bail!(
                        "it {}",
                        how_it_ended_and_why(cell.process.child.wait()?, &errors)
                    );
                }
            }
            if asking.is_some() {
                // The processes are paused on purpose.
                watch.pause();
            } else if let Some(stopped) = watch.look() {
                bail!("{stopped}, so nothing is heard of it");
            }
            // Dropping the cell kills its process.
            match self.obey_interrupts(&mut cell) {
                Obeyed::GoOn => {}
                Obeyed::AskedToStop => asking = None,
                Obeyed::Overdue => {
                    let config = task.config.clone();
                    return Ok(Some(row_without_figures(config, RunOutcome::INTERRUPTED)));
                }
                Obeyed::StopAtOnce => return Ok(None),
            }
        }
    }

    /// Asks the cell to stop after the first interrupt.
    fn obey_interrupts(&self, cell: &mut Conversation<CellMessage>) -> Obeyed {
        match interrupts_seen() {
            0 => Obeyed::GoOn,
            1 if cell.ask_to_stop() => {
                self.progress
                    .warn("finishing the slice; Ctrl-C again stops at once");
                Obeyed::AskedToStop
            }
            1 if cell.is_overdue() => Obeyed::Overdue,
            1 => Obeyed::GoOn,
            _ => Obeyed::StopAtOnce,
        }
    }
}

/// The consequence of the interrupts so far.
enum Obeyed {
    GoOn,
    AskedToStop,
    /// The cell was asked to stop and has not done so.
    Overdue,
    StopAtOnce,
}

/// Whether to go on after a run. After an interrupt this is true only if the run had already come to its end, since the sweep
/// may be complete with it.
pub(crate) fn goes_on_after(row: &RunRow) -> bool {
    let is_whole = row.is_measured() && row.outcome != RunOutcome::INTERRUPTED;
    is_whole || interrupts_seen() == 0
}

/// The verbs of other processes of this program that measure.
pub(crate) fn others() -> Vec<&'static str> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let verbs = entries.filter_map(|entry| {
        let process: u32 = entry.file_name().to_str()?.parse().ok()?;
        let command = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let mut words = command.split(|byte| *byte == 0);
        let is_this_program = words.next()?.ends_with(b"latency-benchmark");
        let is_another = is_this_program && process != std::process::id();
        let verb = words.next().filter(|_| is_another)?;
        let mut known = ["sweep", "explain", "rr", "soak"].into_iter();
        known.find(|known| known.as_bytes() == verb)
    });
    let verbs: BTreeSet<&str> = verbs.collect();
    verbs.into_iter().collect()
}
