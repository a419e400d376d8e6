//! Counts every cell twice with each program. If the two attempts of a program differ, it makes up to three more. There are as
//! many attempts at a time as cores.

use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::available_parallelism;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use program::{ChildLimits, how_it_ended_and_why, in_threads, interrupts_seen};
use run_format::{
    CountKind, CountName, CountPlace, GateCell, GateCounts, GateTask, MeasuredSpan, Plausible,
    Security,
};

use super::args::GateProgram;
use super::callgrind::{self, Callgrind, Profile};
use super::cells::requests;
use super::change::{Count, CountsByName, changes};
use super::sides::{BaseAndHead, Side};
use super::strace::{self, Strace};
use crate::progress::Progress;

/// The number of times that each program counts a cell.
pub(super) const PLANNED_ATTEMPTS: usize = 2;

/// The number of times that a program counts a cell at most, if its attempts differ.
const MOST_ATTEMPTS: usize = 5;

/// The installed programs that count what a node cannot count itself.
pub(super) struct Tools {
    pub(super) strace: Option<Strace>,
    pub(super) callgrind: Option<Callgrind>,
}

/// The counts of one program in one attempt at a cell.
pub(super) struct Counted {
    pub(super) counts: CountsByName,
    /// The instructions, if callgrind counted them.
    pub(super) profile: Option<Profile>,
}

/// The counts of a cell.
pub(super) struct CountedCell {
    pub(super) cell: GateCell,
    /// The attempts of each program. Some are missing after an interrupt.
    pub(super) attempts: BaseAndHead<Vec<Result<Counted>>>,
}

impl CountedCell {
    /// The last profile of a program.
    pub(super) fn profile(&self, side: Side) -> Option<&Profile> {
        let counted = self.attempts[side].iter().flatten();
        let mut profiles = counted.filter_map(|counted| counted.profile.as_ref());
        profiles.next_back()
    }

    /// Whether a program made more attempts, since its first two differed.
    pub(super) fn was_repeated(&self) -> bool {
        let is_repeated = |side| self.attempts[side].len() > PLANNED_ATTEMPTS;
        Side::BOTH.into_iter().any(is_repeated)
    }
}

/// The counts of two attempts that agree, or else the different counts of the first two.
pub(super) fn agreed(attempts: &[Result<Counted>]) -> Result<&CountsByName, [&CountsByName; 2]> {
    let counted = attempts.iter().flatten();
    let counts: Vec<&CountsByName> = counted.map(|counted| &counted.counts).collect();
    let has_same = |(number, one): &(usize, &&CountsByName)| {
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
    programs: &BaseAndHead<GateProgram>,
    tools: &Tools,
    progress: &Progress,
) -> Result<Vec<CountedCell>> {
    let scratch = tempfile::tempdir().context("cannot make a temporary folder")?;
    let empty = cells.iter().map(|cell| CountedCell {
        cell: *cell,
        attempts: BaseAndHead::default(),
    });
    let counted = Mutex::new(empty.collect::<Vec<_>>());
    let locked = || counted.lock().unwrap_or_else(PoisonError::into_inner);
    // Makes an attempt. Returns whether the next one may begin.
    let attempt = |(cell, side): (usize, Side)| {
        progress.show(&cells[cell].to_string());
        let counts = count(cells[cell], &programs[side], tools, scratch.path());
        // An attempt that fails after an interrupt was interrupted itself.
        let may_go_on = interrupts_seen() == 0;
        if may_go_on {
            locked()[cell].attempts[side].push(counts);
        }
        may_go_on
    };
    let numbers = 0..cells.len();
    let pairs: Vec<(usize, Side)> = numbers
        .flat_map(|cell| Side::BOTH.map(|side| (cell, side)))
        .collect();
    // All second attempts come after all first ones, so that both are not disturbed by the same thing.
    on_all_cores(&pairs.repeat(PLANNED_ATTEMPTS), |pair| {
        let may_go_on = attempt(pair);
        progress.advance(may_go_on.into());
        may_go_on
    })?;
    on_all_cores(&pairs, |(cell, side)| {
        let differs = || {
            let attempts = &locked()[cell].attempts[side];
            let all_counted =
                attempts.len() >= PLANNED_ATTEMPTS && attempts.iter().all(Result::is_ok);
            all_counted && attempts.len() < MOST_ATTEMPTS && agreed(attempts).is_err()
        };
        while differs() {
            if !attempt((cell, side)) {
                return false;
            }
        }
        true
    })?;
    let counted = counted.into_inner();
    Ok(counted.unwrap_or_else(PoisonError::into_inner))
}

/// Calls `work` with every item, on as many threads as there are cores. A thread ends early when `work` returns false.
fn on_all_cores<T: Copy + Sync>(items: &[T], work: impl Fn(T) -> bool + Sync) -> Result<()> {
    let next = AtomicUsize::new(0);
    let thread = |_| -> Result<()> {
        loop {
            match items.get(next.fetch_add(1, Ordering::Relaxed)) {
                Some(item) if work(*item) => {}
                _ => return Ok(()),
            }
        }
    };
    let threads = 0..available_parallelism().map_or(1, usize::from);
    in_threads(threads, thread).map(drop)
}

fn count(cell: GateCell, program: &GateProgram, tools: &Tools, scratch: &Path) -> Result<Counted> {
    let (warm_up, requests) = requests(&cell);
    let task = GateTask {
        cell,
        budgets: program.budgets,
        warm_up,
        requests,
        counts: true,
    };
    let trace = tempfile::NamedTempFile::new_in(scratch)?;
    let command = match &tools.strace {
        Some(strace) => strace.command(&program.program, trace.path()),
        None => Command::new(&program.program),
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
        let requests = run(callgrind.command(&program.program, file.path()), &task)?.requests;
        let by_function = callgrind::read(file.path())?;
        let name = CountName {
            kind: CountKind::Instructions,
            place: CountPlace::Central,
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
    const LIMITS: ChildLimits = ChildLimits {
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
        bail!(
            "the program {}",
            how_it_ended_and_why(output.status, &errors)
        );
    }
    let wrong = "the program does not print counts";
    let counts: GateCounts = serde_json::from_slice(&output.stdout).context(wrong)?;
    counts.check(&MeasuredSpan::UNKNOWN).context(wrong)?;
    Ok(counts)
}

const TUNABLES: &str =
    "glibc.cpu.x86_rep_movsb_threshold=4294967295:glibc.cpu.x86_rep_stosb_threshold=4294967295";
