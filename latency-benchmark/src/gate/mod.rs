//! `--gate`: compares counts per request of two programs. Each cell is one process with one thread, so it needs no lab, and
//! what else the machine does changes nothing.

pub(crate) mod args;
mod callgrind;
mod cells;
mod compare;
mod measure;
mod report;

use std::path::Path;

use anyhow::{Context, Result};
use program::{Failure, print};
use run_format::files::write_whole;
use run_format::{CountName, Site};

use self::args::{GateArgs, sides};
use self::callgrind::Callgrind;
use self::cells::cells;
use self::compare::compare;
use self::measure::{MeasuredCell, SIDES, measure, planned_runs};
use self::report::Gate;
use crate::interrupts::Interrupts;
use crate::progress::{INTERRUPTED, MEASURED, Progress, SOME_FAILED};
use crate::results_folder;
use crate::sweep::args::SweepArgs;

/// The exit code where nothing rose, and some counts are not the same in every run.
const NOT_DETERMINISTIC: u8 = 3;

const REPORT: &str = "gate.md";
const COUNTS: &str = "counts.csv";

pub(crate) fn run(
    gate: &GateArgs,
    sweep: &SweepArgs,
    interrupts: &Interrupts,
) -> Result<u8, Failure> {
    let dir = sweep.new_run.dir()?;
    results_folder::refuse_existing(&dir, "")?;
    let planned = cells(sweep)?;
    let sides = sides(sweep)?;
    results_folder::create(&dir)?;
    let callgrind = match gate.no_instructions {
        true => None,
        false => Callgrind::find(),
    };
    let progress = Progress::new(planned_runs(planned.len()), true);
    let cells = measure(&planned, &sides, callgrind.as_ref(), &progress, interrupts)?;
    write_counts(&dir.join(COUNTS), &cells)?;
    let compared = cells.iter().map(|cell| compare(cell, &gate.allow));
    let gate = Gate {
        sides: &sides,
        cells: &cells,
        compared: compared.collect(),
        lacks_callgrind: callgrind.is_none() && !gate.no_instructions,
    };
    let text = gate.text();
    write_whole(&dir.join(REPORT), &text)?;
    print(text);
    progress.finish(&format!("{} cells counted", cells.len()), &dir);
    Ok(match &gate {
        _ if interrupts.seen() > 0 => INTERRUPTED,
        gate if gate.has_risen() || gate.has_failed() => SOME_FAILED,
        gate if !gate.is_deterministic() => NOT_DETERMINISTIC,
        _ => MEASURED,
    })
}

/// One row for each count of each attempt.
fn write_counts(path: &Path, cells: &[MeasuredCell]) -> Result<()> {
    let mut table =
        csv::Writer::from_path(path).with_context(|| format!("cannot write {}", path.display()))?;
    table.write_record([
        "cell", "program", "attempt", "kind", "site", "child", "count", "requests",
    ])?;
    for cell in cells {
        for (side, measured) in SIDES.iter().zip(&cell.sides) {
            for (attempt, counts) in measured.attempts.iter().enumerate() {
                for (CountName { kind, site, child }, (count, requests)) in
                    counts.iter().flatten().flatten()
                {
                    let cell = cell.cell.to_string();
                    let site = site.map(Site::name);
                    table.serialize((
                        cell,
                        side,
                        attempt + 1,
                        kind.name(),
                        site,
                        child,
                        count,
                        requests,
                    ))?;
                }
            }
        }
    }
    Ok(table.flush()?)
}
