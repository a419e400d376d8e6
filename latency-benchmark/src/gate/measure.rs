//! Runs every cell with both programs, twice each, as many at a time as there are cores.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, available_parallelism};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use program::{Limits, ended_saying};
use run_format::{CountKind, CountName, GateCell, GateCounts, GateTask};

use super::args::Side;
use super::callgrind::{self, Callgrind, Profile};
use super::cells::PlannedCell;
use crate::interrupts::Interrupts;
use crate::progress::Progress;

/// How often each program runs a cell.
pub(super) const ATTEMPTS: usize = 2;

/// The names of the two programs.
pub(super) const SIDES: [&str; 2] = ["base", "head"];

/// Counts, each with the number of requests that it is of. A count of zero is absent.
pub(super) type Counts = BTreeMap<CountName, (u64, u64)>;

/// What one program counted in one cell.
#[derive(Default)]
pub(super) struct Measured {
    /// Of each attempt. Absent if it was interrupted.
    pub(super) attempts: [Option<Result<Counts>>; ATTEMPTS],
    /// Instructions by function, and of how many requests, where callgrind counted them.
    pub(super) profile: Option<(Profile, u64)>,
    /// Kinds that cannot be counted here, and why.
    pub(super) missing: Vec<(CountKind, String)>,
}

/// What both programs counted, the base first.
pub(super) struct MeasuredCell {
    pub(super) cell: GateCell,
    pub(super) sides: [Measured; 2],
}

#[derive(Clone, Copy)]
struct Run {
    cell: usize,
    side: usize,
    attempt: usize,
}

pub(super) fn measure(
    cells: &[PlannedCell],
    sides: &[Side; 2],
    callgrind: Option<&Callgrind>,
    progress: &Progress,
    interrupts: &Interrupts,
) -> Result<Vec<MeasuredCell>> {
    let scratch = tempfile::tempdir().context("cannot make a temporary folder")?;
    let empty = cells.iter().map(|planned| MeasuredCell {
        cell: planned.cell,
        sides: Default::default(),
    });
    let measured = Mutex::new(empty.collect::<Vec<_>>());
    let runs = runs(cells.len());
    let next = AtomicUsize::new(0);
    let work = || {
        while let Some(run) = runs.get(next.fetch_add(1, Ordering::Relaxed)) {
            let (planned, side) = (&cells[run.cell], &sides[run.side]);
            progress.show(&planned.cell.to_string());
            let mut counted = Measured::default();
            let counts = count(planned, side, callgrind, scratch.path(), &mut counted);
            // What fails after an interrupt was interrupted, too.
            if interrupts.seen() > 0 {
                return;
            }
            let mut measured = measured.lock().unwrap_or_else(PoisonError::into_inner);
            let of_side = &mut measured[run.cell].sides[run.side];
            of_side.attempts[run.attempt] = Some(counts);
            of_side.profile = counted.profile;
            of_side.missing = counted.missing;
            progress.advance(1);
        }
    };
    thread::scope(|scope| {
        for _ in 0..available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    Ok(measured
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner))
}

/// The second attempts come last, when the machine does something else.
fn runs(cells: usize) -> Vec<Run> {
    let of_attempt = |attempt| {
        let of_cell = move |cell| {
            [0, 1].map(|side| Run {
                cell,
                side,
                attempt,
            })
        };
        (0..cells).flat_map(of_cell)
    };
    (0..ATTEMPTS).flat_map(of_attempt).collect()
}

pub(super) fn planned_runs(cells: usize) -> u64 {
    runs(cells).len() as u64
}

fn count(
    planned: &PlannedCell,
    side: &Side,
    callgrind: Option<&Callgrind>,
    scratch: &Path,
    measured: &mut Measured,
) -> Result<Counts> {
    let task = GateTask {
        cell: planned.cell,
        budgets: side.budgets,
        warm_up: planned.warm_up,
        requests: planned.requests,
        counts: true,
    };
    let counted = run(Command::new(&side.program), &task)?;
    let counts = counted.counts.into_iter();
    let counts = counts.map(|it| (it.name, (it.count, counted.requests)));
    let mut counts: Counts = counts.collect();
    measured.missing = counted.missing;
    if let (Some(callgrind), Some(requests)) = (callgrind, planned.instructions_of) {
        let task = GateTask {
            requests,
            counts: false,
            ..task
        };
        let file = tempfile::NamedTempFile::new_in(scratch)?;
        let counted = run(callgrind.command(&side.program, file.path()), &task)?;
        let profile = callgrind::read(file.path())?;
        let name = CountName {
            kind: CountKind::Instructions,
            site: None,
            child: None,
        };
        counts.insert(name, (profile.values().sum(), counted.requests));
        measured.profile = Some((profile, counted.requests));
    }
    Ok(counts)
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
