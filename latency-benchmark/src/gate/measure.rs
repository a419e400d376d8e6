//! Runs every cell twice with each program. If the two runs of a program differ, it runs up to three times more. There are as
//! many runs at a time as cores.

use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::available_parallelism;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use program::{Limits, ended_saying, in_threads, interrupts_seen};
use run_format::{CountKind, CountName, Extent, GateCell, GateCounts, GateTask, Limited, Security};

use super::args::Side;
use super::callgrind::{self, Callgrind, Profile};
use super::cells::requests;
use super::change::{Counts, changes};
use super::strace::{self, Strace};
use crate::progress::Progress;

/// How often each program runs a cell.
pub(super) const ATTEMPTS: usize = 2;

/// How often a program runs a cell at most, if its runs differ.
const MOST_ATTEMPTS: usize = 5;

/// The planned runs of a cell.
pub(super) const RUNS: usize = ATTEMPTS * SIDES.len();

/// The names of the two programs.
pub(super) const SIDES: [&str; 2] = ["base", "head"];

/// The installed programs that count what a node cannot count itself.
pub(super) struct Tools {
    pub(super) strace: Option<Strace>,
    pub(super) callgrind: Option<Callgrind>,
}

/// What one program counted in one run of a cell.
pub(super) struct Counted {
    pub(super) counts: Counts,
    /// Instructions by function, and the number of requests, if callgrind counted them.
    pub(super) profile: Option<(Profile, u64)>,
}

/// What both programs counted, the base first.
pub(super) struct MeasuredCell {
    pub(super) cell: GateCell,
    /// The attempts of each program. Some are missing after an interrupt.
    pub(super) sides: [Vec<Result<Counted>>; SIDES.len()],
}

impl MeasuredCell {
    /// The successful runs: the name of the program, the number of the attempt, and its counts.
    pub(super) fn counted(&self) -> impl Iterator<Item = (&'static str, usize, &Counted)> {
        let sides = SIDES.into_iter().zip(&self.sides);
        sides.flat_map(|(side, attempts)| {
            let attempts = (1..).zip(attempts);
            attempts.filter_map(move |(attempt, run)| Some((side, attempt, run.as_ref().ok()?)))
        })
    }

    /// Whether a program ran more often, since its first two runs differed.
    pub(super) fn was_repeated(&self) -> bool {
        self.sides.iter().any(|attempts| attempts.len() > ATTEMPTS)
    }
}

/// The counts of two attempts that agree, or else the different counts of the first two.
pub(super) fn agreed(attempts: &[Result<Counted>]) -> Result<&Counts, [&Counts; 2]> {
    let counts: Vec<&Counts> = attempts.iter().flatten().map(|run| &run.counts).collect();
    let has_same = |(at, one): &(usize, &&Counts)| {
        counts[at + 1..]
            .iter()
            .any(|other| changes(one, other, &[]).is_empty())
    };
    let agreed = counts.iter().enumerate().find(has_same);
    agreed
        .map(|(_, counts)| *counts)
        .ok_or_else(|| [counts[0], counts[counts.len().min(2) - 1]])
}

pub(super) fn measure(
    cells: &[GateCell],
    sides: &[Side; 2],
    tools: &Tools,
    progress: &Progress,
) -> Result<Vec<MeasuredCell>> {
    let scratch = tempfile::tempdir().context("cannot make a temporary folder")?;
    let empty = cells.iter().map(|cell| MeasuredCell {
        cell: *cell,
        sides: Default::default(),
    });
    let measured = Mutex::new(empty.collect::<Vec<_>>());
    let locked = || measured.lock().unwrap_or_else(PoisonError::into_inner);
    // Runs a program once in a cell. Returns whether the next run may begin.
    let run_once = |cell: usize, side: usize| {
        progress.show(&cells[cell].to_string());
        let counted = count(cells[cell], &sides[side], tools, scratch.path());
        // A run that fails after an interrupt was interrupted itself.
        let may_go_on = interrupts_seen() == 0;
        if may_go_on {
            locked()[cell].sides[side].push(counted);
        }
        may_go_on
    };
    let threads = 0..available_parallelism().map_or(1, usize::from);
    let next = AtomicUsize::new(0);
    let work = |_| -> Result<()> {
        loop {
            // All second attempts come after all first ones, so that both are not disturbed by the same thing.
            let number = next.fetch_add(1, Ordering::Relaxed);
            let (attempt, number) = (number / (2 * cells.len()), number % (2 * cells.len()));
            if attempt >= ATTEMPTS || !run_once(number / 2, number % 2) {
                return Ok(());
            }
            progress.advance(1);
        }
    };
    in_threads(threads.clone(), work)?;
    let next = AtomicUsize::new(0);
    let repeat = |_| -> Result<()> {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let (cell, side) = (number / 2, number % 2);
            if cell >= cells.len() {
                return Ok(());
            }
            let differs = || {
                let attempts = &locked()[cell].sides[side];
                let all_counted = attempts.len() >= ATTEMPTS && attempts.iter().all(Result::is_ok);
                all_counted && attempts.len() < MOST_ATTEMPTS && agreed(attempts).is_err()
            };
            while differs() {
                if !run_once(cell, side) {
                    return Ok(());
                }
            }
        }
    };
    in_threads(threads, repeat)?;
    let measured = measured.into_inner();
    Ok(measured.unwrap_or_else(PoisonError::into_inner))
}

fn count(cell: GateCell, side: &Side, tools: &Tools, scratch: &Path) -> Result<Counted> {
    let (warm_up, requests) = requests(&cell);
    let task = GateTask {
        cell,
        budgets: side.budgets,
        warm_up,
        requests,
        counts: true,
    };
    let trace = tempfile::NamedTempFile::new_in(scratch)?;
    let command = match &tools.strace {
        Some(strace) => strace.command(&side.program, trace.path()),
        None => Command::new(&side.program),
    };
    let printed = run(command, &task)?;
    let calls = strace::read(trace.path())?.into_iter();
    let counts = printed.counts.into_iter().chain(calls);
    let counts = counts.map(|(name, count)| (name, (count, printed.requests)));
    let mut counted = Counted {
        counts: counts.collect(),
        profile: None,
    };
    // Callgrind takes fifty times as long, so it counts in few cells.
    let is_profiled = cell.peers == 1 && cell.security == Security::Plaintext;
    if let Some(callgrind) = tools.callgrind.as_ref().filter(|_| is_profiled) {
        let task = GateTask {
            requests: requests / 4,
            counts: false,
            ..task
        };
        let file = tempfile::NamedTempFile::new_in(scratch)?;
        let profiled_requests = run(callgrind.command(&side.program, file.path()), &task)?.requests;
        let profile = callgrind::read(file.path())?;
        let name = CountName {
            kind: CountKind::Instructions,
            site: None,
            child: None,
        };
        let instructions = profile.values().sum();
        counted
            .counts
            .insert(name, (instructions, profiled_requests));
        counted.profile = Some((profile, profiled_requests));
    }
    Ok(counted)
}

fn run(mut command: Command, task: &GateTask) -> Result<GateCounts> {
    /// Much longer than any cell takes.
    const LIMITS: Limits = Limits {
        time: Duration::from_secs(120),
        bytes: 1 << 24,
    };
    command
        .arg(serde_json::to_string(task)?)
        // The size of the environment moves the stack.
        .env_clear()
        // Callgrind counts each repetition of `rep movsb` as an instruction.
        .env("GLIBC_TUNABLES", TUNABLES);
    let output = LIMITS.output(&mut command)?;
    if !output.status.success() {
        let errors = String::from_utf8_lossy(&output.stderr);
        bail!("the program {}", ended_saying(output.status, &errors));
    }
    let wrong = "the program does not print counts";
    let counts: GateCounts = serde_json::from_slice(&output.stdout).context(wrong)?;
    counts.check(&Extent::UNKNOWN).context(wrong)?;
    Ok(counts)
}

const TUNABLES: &str =
    "glibc.cpu.x86_rep_movsb_threshold=4294967295:glibc.cpu.x86_rep_stosb_threshold=4294967295";
