//! Finds out why the cells of a sweep are slow: launches the worst of them again, to collect evidence in place of
//! comparing budgets.

pub(crate) mod args;
mod worst;

use std::{
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, Result};
use lab::move_to;
use program::{Failure, one_line, print, say};
use run_format::{
    config::{ENOUGH_SLOW_SAMPLES, Measurement, SweepConfig},
    evidence::ExplainFile,
    files::{EXPLAIN, SCHEMA, unix_s, write_json},
    run_row::{End, RunRow, Stop},
};

use self::{
    args::{AskedExplanation, ExplainArgs},
    worst::Chosen,
};
use crate::{
    cell_process::{CellEvent, measure_cell},
    interrupts::Interrupts,
    manifest::{command, tool},
    node_program::describe,
    progress::{INTERRUPTED, MEASURED, Progress, SOME_FAILED},
    sweep,
    watched_folder::WatchedFolder,
};

pub(crate) fn run(args: ExplainArgs, interrupts: &Interrupts) -> Result<ExitCode, Failure> {
    let asked = args.asked()?;
    if asked.only_list {
        list(&asked);
        return Ok(ExitCode::from(MEASURED));
    }
    let program = asked.program.counting(&asked.config.node)?;
    move_to(&asked.config.lab.placement.peers).context("cannot leave central's core")?;
    let lock = sweep::lock(&asked.run, false)?;
    let dir = begin(&asked.run)?;
    let file = ExplainFile {
        schema: SCHEMA,
        command: command(),
        tool: tool(&describe(&program)?),
        variants: asked.plan.variants.clone(),
        cells: asked
            .cells
            .iter()
            .map(|chosen| chosen.row.clone())
            .collect(),
        created_unix_s: unix_s(),
    };
    write_json(&dir.join(format!("{EXPLAIN}.json")), &file)?;
    let code = all(&asked, &dir, &program, interrupts);
    drop(lock);
    Ok(ExitCode::from(code?))
}

fn list(asked: &AskedExplanation) {
    let mut text = String::new();
    for chosen in &asked.cells {
        text += &format!("{}\n", chosen.row.in_words(&chosen.cell));
    }
    let variants = asked.plan.variants.iter();
    let labels: Vec<&str> = variants
        .map(|&variant| &*asked.config.variants[variant].label)
        .collect();
    print(format!("{text}variants: {}", labels.join(", ")));
}

/// A new folder. An earlier explanation is kept under another name.
fn begin(run: &Path) -> Result<PathBuf> {
    let dir = run.join(EXPLAIN);
    if dir.exists() {
        let mut names = (1..).map(|number| run.join(format!("{EXPLAIN}.earlier-{number}")));
        let free = names.find(|path| !path.exists()).unwrap_or_default();
        fs::rename(&dir, &free).with_context(|| format!("cannot rename {}", dir.display()))?;
        say(format!(
            "the earlier explanation is now in {}",
            free.display()
        ));
    }
    fs::create_dir(&dir).with_context(|| format!("cannot create {}", dir.display()))?;
    Ok(dir)
}

/// One cell after the other, each on disk before the next. Returns the exit code.
fn all(
    asked: &AskedExplanation,
    dir: &Path,
    program: &Path,
    interrupts: &Interrupts,
) -> Result<u8> {
    let folder = WatchedFolder::open(dir, &format!("{EXPLAIN}.json"))?;
    let blocks = asked.cells.len() as u64 * u64::from(asked.plan.blocks);
    let mut progress = Progress::new(blocks, true);
    let (mut explained, mut failed) = (0, 0);
    let mut interrupted = false;
    for chosen in &asked.cells {
        interrupted |= interrupts.seen() > 0;
        if interrupted {
            break;
        }
        folder.check()?;
        let dir = dir.join(&chosen.row.id);
        let why_not = match cell(asked, chosen, program, &dir, interrupts, &mut progress) {
            // After a second interrupt.
            Ok(None) => {
                interrupted = true;
                break;
            }
            Ok(Some(End::Ok { stop })) => {
                interrupted |= stop == Stop::Interrupted;
                explained += 1;
                progress.line(&format!("explained: {}", chosen.row.in_words(&chosen.cell)));
                continue;
            }
            Ok(Some(End::Invalid { reason })) => reason,
            Ok(Some(End::Failed { stage, reason })) => format!("while {stage}: {reason}"),
            Err(error) => one_line(&format!("{error:#}")),
        };
        folder.check()?;
        failed += 1;
        progress.line(&format!("FAILED: {}: {why_not}", chosen.cell));
        folder.check_room()?;
    }
    interrupted |= failed > 0 && interrupts.seen() > 0;
    let end = if interrupted { "; interrupted" } else { "" };
    progress.finish(
        &format!("{explained} cells explained, {failed} failed{end}"),
        dir,
    );
    Ok(match (interrupted, failed) {
        (true, _) => INTERRUPTED,
        (false, 0) => MEASURED,
        (false, _) => SOME_FAILED,
    })
}

/// Explains a cell into `dir`. None after a second interrupt.
fn cell(
    asked: &AskedExplanation,
    chosen: &Chosen,
    program: &Path,
    dir: &Path,
    interrupts: &Interrupts,
    progress: &mut Progress,
) -> Result<Option<End>> {
    progress.show(chosen.cell.to_string());
    let config = SweepConfig {
        measurement: Measurement::Explain(asked.plan.clone()),
        turn_ms: None,
        ..asked.config.clone()
    };
    let config = plan::run::run(&config, chosen.cell, 1, None, config.seed);
    let partial = dir.with_file_name(format!("{}.partial", chosen.row.id));
    fs::create_dir(&partial).with_context(|| format!("cannot create {}", partial.display()))?;
    let planned = u64::from(asked.plan.blocks);
    let mut done = 0;
    let row = measure_cell(config, program.into(), &partial, interrupts, |event| {
        match event {
            CellEvent::Block(block) => {
                if done < planned {
                    done += 1;
                    progress.advance(1);
                }
                let of = |&variant: &usize| block.slow_samples.get(variant);
                let samples: Vec<String> = asked
                    .plan
                    .variants
                    .iter()
                    .filter_map(of)
                    .map(u64::to_string)
                    .collect();
                progress.show(format!(
                    "{}, {} of {ENOUGH_SLOW_SAMPLES} samples in slow polls",
                    chosen.cell,
                    samples.join(" and ")
                ));
            }
            CellEvent::Interrupt => {
                progress.warn("finishing the slice; Ctrl-C again stops at once")
            }
            CellEvent::Row(_) | CellEvent::Tick => progress.tick(),
        }
        Ok(())
    });
    // The blocks of a cell that failed do not come any more.
    progress.skip(planned - done);
    row.map(|row| keep(&row, &partial, dir)).transpose()
}

/// Gives the launch its name, however it ended.
fn keep(row: &RunRow, partial: &Path, dir: &Path) -> Result<End> {
    row.write(partial)?;
    fs::rename(partial, dir).with_context(|| format!("cannot rename {}", partial.display()))?;
    Ok(row.end.clone())
}
