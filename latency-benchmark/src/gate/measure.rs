//! Runs every cell with both programs, twice each, as many at a time as there are cores.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::available_parallelism;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use program::{Limits, ended_saying, in_threads, interrupts_seen};
use run_format::{CountKind, CountName, GateCell, GateCounts, GateTask, Security};

use super::args::Side;
use super::callgrind::{self, Callgrind, Profile};
use super::cells::requests;
use super::strace::{self, Strace};
use crate::progress::Progress;

/// How often each program runs a cell.
const ATTEMPTS: usize = 2;

/// The runs of a cell.
pub(super) const RUNS: usize = ATTEMPTS * SIDES.len();

/// The names of the two programs.
pub(super) const SIDES: [&str; 2] = ["base", "head"];

/// Counts, each with the number of requests that it is of. A count of zero is absent.
pub(super) type Counts = BTreeMap<CountName, (u64, u64)>;

/// The programs that count what a node cannot count itself, where they are installed.
pub(super) struct Tools {
    pub(super) strace: Option<Strace>,
    pub(super) callgrind: Option<Callgrind>,
}

/// What one program counted in one run of a cell.
pub(super) struct Counted {
    pub(super) counts: Counts,
    /// Instructions by function, and of how many requests, where callgrind counted them.
    pub(super) profile: Option<(Profile, u64)>,
}

/// What both programs counted, the base first.
pub(super) struct MeasuredCell {
    pub(super) cell: GateCell,
    /// Of each attempt. Absent if it was interrupted.
    pub(super) sides: [[Option<Result<Counted>>; ATTEMPTS]; SIDES.len()],
}

impl MeasuredCell {
    /// The runs that counted: which program, the number of the attempt, and its counts.
    pub(super) fn counted(&self) -> impl Iterator<Item = (&'static str, usize, &Counted)> {
        let sides = SIDES.into_iter().zip(&self.sides);
        sides.flat_map(|(side, attempts)| {
            let attempts = (1..).zip(attempts);
            attempts.filter_map(move |(attempt, run)| {
                let counted = run.as_ref()?.as_ref().ok()?;
                Some((side, attempt, counted))
            })
        })
    }
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
    let next = AtomicUsize::new(0);
    let work = |_| -> Result<()> {
        loop {
            // The second attempts come last, when the machine does something else.
            let run = next.fetch_add(1, Ordering::Relaxed);
            let (attempt, run) = (run / (2 * cells.len()), run % (2 * cells.len()));
            let (cell, side) = (run / 2, run % 2);
            if attempt >= ATTEMPTS {
                return Ok(());
            }
            progress.show(&cells[cell].to_string());
            let counted = count(cells[cell], &sides[side], tools, scratch.path());
            // What fails after an interrupt was interrupted, too.
            if interrupts_seen() > 0 {
                return Ok(());
            }
            let mut measured = measured.lock().unwrap_or_else(PoisonError::into_inner);
            measured[cell].sides[side][attempt] = Some(counted);
            progress.advance(1);
        }
    };
    in_threads(0..available_parallelism().map_or(1, usize::from), work)?;
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
    let of_requests = run(command, &task)?;
    let calls = strace::read(trace.path())?.into_iter();
    let counts = of_requests.counts.into_iter().chain(calls);
    let counts = counts.map(|(name, count)| (name, (count, of_requests.requests)));
    let mut counted = Counted {
        counts: counts.collect(),
        profile: None,
    };
    // It takes fifty times as long.
    let is_profiled = cell.peers == 1 && cell.security == Security::Plaintext;
    if let Some(callgrind) = tools.callgrind.as_ref().filter(|_| is_profiled) {
        let task = GateTask {
            requests: requests / 4,
            counts: false,
            ..task
        };
        let file = tempfile::NamedTempFile::new_in(scratch)?;
        let requests = run(callgrind.command(&side.program, file.path()), &task)?.requests;
        let profile = callgrind::read(file.path())?;
        let name = CountName {
            kind: CountKind::Instructions,
            site: None,
            child: None,
        };
        let instructions = profile.values().sum();
        counted.counts.insert(name, (instructions, requests));
        counted.profile = Some((profile, requests));
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
        // Its size moves the stack.
        .env_clear()
        // Callgrind counts the repetitions of `rep movsb`.
        .env("GLIBC_TUNABLES", TUNABLES);
    let output = LIMITS.output(&mut command)?;
    if !output.status.success() {
        let errors = String::from_utf8_lossy(&output.stderr);
        bail!("the program {}", ended_saying(output.status, &errors));
    }
    serde_json::from_slice(&output.stdout).context("the program does not print counts")
}

const TUNABLES: &str =
    "glibc.cpu.x86_rep_movsb_threshold=4294967295:glibc.cpu.x86_rep_stosb_threshold=4294967295";
