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
use super::change::{Count, Counts, changes};
use super::strace::{self, Strace};
use crate::progress::Progress;

/// The number of times that each program runs a cell.
pub(super) const ATTEMPTS: usize = 2;

/// The number of times that a program runs a cell at most, if its runs differ.
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

/// The counts of one program in one run of a cell.
pub(super) struct Counted {
    pub(super) counts: Counts,
    /// The instructions, if callgrind counted them.
    pub(super) profile: Option<Profile>,
}

/// The counts of both programs, the base first.
pub(super) struct MeasuredCell {
    pub(super) cell: GateCell,
    /// The attempts of each program. Some are missing after an interrupt.
    pub(super) sides: [Vec<Result<Counted>>; SIDES.len()],
}

impl MeasuredCell {
    /// The last profile of a program.
    pub(super) fn profile(&self, side: usize) -> Option<&Profile> {
        let runs = self.sides[side].iter().flatten();
        runs.filter_map(|run| run.profile.as_ref()).next_back()
    }

    /// Whether a program ran more often, since its first two runs differed.
    pub(super) fn was_repeated(&self) -> bool {
        self.sides.iter().any(|attempts| attempts.len() > ATTEMPTS)
    }
}

/// The counts of two attempts that agree, or else the different counts of the first two.
pub(super) fn agreed(attempts: &[Result<Counted>]) -> Result<&Counts, [&Counts; 2]> {
    let counts: Vec<&Counts> = attempts.iter().flatten().map(|run| &run.counts).collect();
    let has_same = |(number, one): &(usize, &&Counts)| {
        let mut later = counts[number + 1..].iter();
        later.any(|other| changes(one, other, &[]).is_empty())
    };
    match counts.iter().enumerate().find(has_same) {
        Some((_, agreed)) => Ok(agreed),
        None => Err([counts[0], counts[counts.len().min(2) - 1]]),
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
    let pairs = 2 * cells.len();
    // All second attempts come after all first ones, so that both are not disturbed by the same thing.
    on_all_cores(ATTEMPTS * pairs, |number| {
        let pair = number % pairs;
        let may_go_on = run_once(pair / 2, pair % 2);
        progress.advance(may_go_on.into());
        may_go_on
    })?;
    on_all_cores(pairs, |pair| {
        let (cell, side) = (pair / 2, pair % 2);
        let differs = || {
            let attempts = &locked()[cell].sides[side];
            let all_counted = attempts.len() >= ATTEMPTS && attempts.iter().all(Result::is_ok);
            all_counted && attempts.len() < MOST_ATTEMPTS && agreed(attempts).is_err()
        };
        while differs() {
            if !run_once(cell, side) {
                return false;
            }
        }
        true
    })?;
    let measured = measured.into_inner();
    Ok(measured.unwrap_or_else(PoisonError::into_inner))
}

/// Calls `work` with every number below `count`, on as many threads as there are cores. A thread ends early when `work`
/// returns false.
fn on_all_cores(count: usize, work: impl Fn(usize) -> bool + Sync) -> Result<()> {
    let next = AtomicUsize::new(0);
    let thread = |_| -> Result<()> {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= count || !work(number) {
                return Ok(());
            }
        }
    };
    let threads = 0..available_parallelism().map_or(1, usize::from);
    in_threads(threads, thread).map(drop)
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
    let counts = counts.map(|(name, count)| {
        let requests = printed.requests;
        (name, Count { count, requests })
    });
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
        let requests = run(callgrind.command(&side.program, file.path()), &task)?.requests;
        let by_function = callgrind::read(file.path())?;
        let name = CountName {
            kind: CountKind::Instructions,
            site: None,
            child: None,
        };
        let count = by_function.values().sum();
        counted.counts.insert(name, Count { count, requests });
        counted.profile = Some(Profile {
            by_function,
            requests,
        });
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
