//! `--gate` compares counts per request of two programs. Each cell is one process with one thread, so it needs no lab, and
//! counts do not depend on the load of the machine.

pub(crate) mod args;
mod callgrind;
mod causes;
mod cells;
mod change;
mod compare;
mod measure;
mod report;
mod sides;
mod strace;

use std::path::Path;

use anyhow::Result;
use program::{Failure, interrupts_seen, print_line, printable};
use run_format::files::{COUNTS, GATE_REPORT, write_whole};
use run_format::{CountName, GateCountRow, PlaceColumns, TableWriters};

use self::args::{GateArgs, base_and_head};
use self::callgrind::Callgrind;
use self::cells::cells;
use self::change::Count;
use self::measure::{CountedCell, PLANNED_ATTEMPTS, Tools, measure};
use self::report::GateReport;
use self::sides::Side;
use self::strace::Strace;
use crate::progress::{INTERRUPTED, Progress};
use crate::results_folder;
use crate::sweep::args::SweepArgs;

pub(crate) fn run(gate: &GateArgs, sweep: &SweepArgs) -> Result<u8, Failure> {
    let dir = sweep.new_run.dir()?;
    results_folder::refuse_existing(&dir, "")?;
    let planned = cells(sweep)?;
    let programs = base_and_head(sweep)?;
    results_folder::create(&dir)?;
    let mut not_counted = Vec::new();
    let strace = noting(Strace::find(), "System calls", &mut not_counted);
    let callgrind = match gate.no_instructions {
        true => None,
        false => noting(Callgrind::find(), "Instructions", &mut not_counted),
    };
    let tools = Tools { strace, callgrind };
    let attempts = planned.len() * Side::BOTH.len() * PLANNED_ATTEMPTS;
    let progress = Progress::new(attempts as u64, true);
    let cells = measure(&planned, &programs, &tools, &progress)?;
    write_counts(&dir, &cells)?;
    let report = GateReport::new(&programs, &cells, &gate.allow, not_counted);
    // The names of functions come from outside.
    let text = printable(&report.text()).into_owned();
    write_whole(&dir.join(GATE_REPORT), &text)?;
    print_line(text);
    progress.finish(&format!("{} cells counted", cells.len()), &dir);
    if interrupts_seen() > 0 {
        return Ok(INTERRUPTED);
    }
    Ok(report.exit_code())
}

/// Returns the tool that was found, or notes why it does not count `what`.
fn noting<Tool>(found: Result<Tool>, what: &str, not_counted: &mut Vec<String>) -> Option<Tool> {
    found
        .map_err(|why| not_counted.push(format!("{what} were not counted, since {why:#}.")))
        .ok()
}

/// One row for each count of each attempt.
fn write_counts(dir: &Path, cells: &[CountedCell]) -> Result<()> {
    let mut table = TableWriters::create(dir, &[COUNTS])?;
    for CountedCell { cell, attempts } in cells {
        for side in Side::BOTH {
            for (attempt, counted) in (1..).zip(&attempts[side]) {
                let row = |(name, count): (&CountName, &Count)| {
                    let PlaceColumns { site, child } = name.place.clone().into();
                    GateCountRow {
                        cell: cell.to_string(),
                        program: side.to_string(),
                        attempt,
                        kind: name.kind,
                        site,
                        child,
                        count: count.count,
                        requests: count.requests,
                    }
                };
                let counts = counted.iter().flat_map(|counted| &counted.counts);
                table.rows(COUNTS, counts.map(row))?;
            }
        }
    }
    table.finish()
}
