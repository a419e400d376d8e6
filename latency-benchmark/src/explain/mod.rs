//! Finds out why the cells of a sweep are slow: launches the worst of them again, to collect evidence in
//! place of comparing budgets.

pub(crate) mod args;
mod program;
mod progress;
mod worst;

use std::{
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, Result, anyhow};
use serde::Serialize;

use self::{
    args::{Asked, ExplainArgs},
    progress::Progress,
    worst::Chosen,
};
use crate::{
    cell::{CellTask, Told},
    cell_process::{CellProcess, Heard},
    config::{ExplainConfig, Load, RunConfig},
    failure::{Failure, bad_input, one_line},
    observe::process::move_to,
    signals::{Interrupts, Signals},
    store::{
        EXPLAIN, RUN, SCHEMA,
        manifest::{SweepConfig, Tool},
        rows::{End, RunRow, Stop},
        run_writer::write_whole,
        unix_s,
    },
    sweep,
};

const EXPLAINED: u8 = 0;
const SOME_FAILED: u8 = 1;
const INTERRUPTED: u8 = 130;

/// `explain.json`: what was asked for. Cells that were not launched, or whose launch did not end, have
/// no folder of their name.
#[derive(Serialize)]
struct ExplainRow<'a> {
    schema: u32,
    command: Vec<String>,
    tool: Tool,
    /// Indices into those of the sweep: the baseline, and what is held against it.
    variants: &'a [usize],
    cells: &'a [Chosen],
    created_unix_s: u64,
}

pub(crate) fn run(args: ExplainArgs) -> Result<ExitCode, Failure> {
    let asked = args.asked()?;
    if asked.only_list {
        list(&asked);
        return Ok(ExitCode::from(EXPLAINED));
    }
    let signals = Signals::block()?;
    move_to(&asked.config.lab.placement.peers).context("cannot leave central's core")?;
    let program = program::that_counts()?;
    let lock = sweep::lock(&asked.run)?;
    let dir = begin(&asked.run)?;
    let interrupts = Interrupts::count(signals)?;
    document(&asked, &dir)?;
    let code = all(&asked, &dir, &program, &interrupts);
    drop(lock);
    Ok(ExitCode::from(code))
}

fn list(asked: &Asked) {
    for chosen in &asked.cells {
        println!("{chosen}");
    }
    let labels: Vec<&str> = asked
        .explain
        .variants
        .iter()
        .map(|&variant| &*asked.config.variants[variant].label)
        .collect();
    println!("variants: {}", labels.join(", "));
}

/// A new folder. What was explained before is kept under another name.
fn begin(run: &Path) -> Result<PathBuf> {
    let dir = run.join(EXPLAIN);
    if dir.exists() {
        let mut names = (1..).map(|number| run.join(format!("{EXPLAIN}.earlier-{number}")));
        let free = names.find(|path| !path.exists()).unwrap_or_default();
        fs::rename(&dir, &free).with_context(|| format!("cannot rename {}", dir.display()))?;
        eprintln!("what was explained before is now in {}", free.display());
    }
    fs::create_dir(&dir).with_context(|| format!("cannot create {}", dir.display()))?;
    Ok(dir)
}

fn document(asked: &Asked, dir: &Path) -> Result<()> {
    let row = ExplainRow {
        schema: SCHEMA,
        command: std::env::args_os()
            .map(|word| word.to_string_lossy().into_owned())
            .collect(),
        tool: Tool::this(),
        variants: &asked.explain.variants,
        cells: &asked.cells,
        created_unix_s: unix_s(),
    };
    let text = serde_json::to_string_pretty(&row)? + "\n";
    write_whole(&dir.join(format!("{EXPLAIN}.json")), &text)
}

/// One cell after the other, each on disk before the next. Returns the exit code.
fn all(asked: &Asked, dir: &Path, program: &Path, interrupts: &Interrupts) -> u8 {
    let mut progress = Progress::new(asked);
    let (mut explained, mut failed) = (0, 0);
    let mut interrupted = false;
    for chosen in &asked.cells {
        interrupted |= interrupts.seen() > 0;
        if interrupted {
            break;
        }
        progress.begin(chosen);
        let dir = dir.join(chosen.cell.id());
        let config = run_config(&asked.config, &asked.explain, chosen);
        let row = launch(program, config, &dir, interrupts, &mut progress);
        let why_not = match row.and_then(|row| row.map(|row| keep(row, &dir)).transpose()) {
            // After a second interrupt.
            Ok(None) => {
                interrupted = true;
                break;
            }
            Ok(Some(End::Ok { stop })) => {
                interrupted |= stop == Stop::Interrupted;
                explained += 1;
                progress.end(chosen);
                continue;
            }
            Ok(Some(End::Invalid { reason })) => reason,
            Ok(Some(End::Failed { stage, reason })) => format!("while {stage}: {reason}"),
            Err(error) => one_line(&format!("{error:#}")),
        };
        failed += 1;
        progress.failed(chosen, &why_not);
    }
    progress.finish(explained, failed, interrupted, dir);
    match (interrupted, failed) {
        (true, _) => INTERRUPTED,
        (false, 0) => EXPLAINED,
        (false, _) => SOME_FAILED,
    }
}

/// Gives the launch its name, whatever became of it, and says what did.
fn keep(row: RunRow, dir: &Path) -> Result<End> {
    let text = serde_json::to_string_pretty(&row)? + "\n";
    let partial = partial(dir);
    write_whole(&partial.join(RUN), &text)?;
    fs::rename(&partial, dir).with_context(|| format!("cannot rename {}", partial.display()))?;
    Ok(row.end)
}

fn partial(dir: &Path) -> PathBuf {
    let mut name = dir.as_os_str().to_owned();
    name.push(".partial");
    name.into()
}

fn run_config(config: &SweepConfig, explain: &ExplainConfig, chosen: &Chosen) -> RunConfig {
    RunConfig {
        cell: chosen.cell,
        run: 1,
        subject: None,
        seed: config.seed,
        node: config.node,
        load: Load {
            payload: chosen.cell.payload_bytes,
            pace: config.pace,
        },
        runtime: config.runtime,
        variants: config.variants.clone(),
        plan: config.plan(chosen.cell.rtt_ms),
        lab: config.lab.clone(),
        explain: Some(explain.clone()),
    }
}

/// None after a second interrupt.
fn launch(
    program: &Path,
    config: RunConfig,
    dir: &Path,
    interrupts: &Interrupts,
    progress: &mut Progress,
) -> Result<Option<RunRow>> {
    let partial = partial(dir);
    fs::create_dir(&partial).with_context(|| format!("cannot create {}", partial.display()))?;
    let task = CellTask {
        config,
        soak: None,
        // The processes of a cell need not share this one's working folder.
        dir: fs::canonicalize(partial)?,
    };
    CellProcess::start(program, &task)?.follow(interrupts, |heard| {
        match heard {
            Heard::Told(Told::Block(_)) => progress.block(),
            Heard::Told(_) => {}
            Heard::Nothing => progress.tick(),
            Heard::Interrupt => progress.warn("finishing the slice; once more to stop at once"),
        }
        Ok(())
    })
}

/// Where the sweep was made.
fn refuse_subjects(config: &SweepConfig) -> Result<(), Failure> {
    if config.subjects.is_empty() {
        return Ok(());
    }
    Err(bad_input(anyhow!(
        "RUN: it compares subjects, and only sweeps of one program can be explained (check out the libp2p in question and sweep it alone)"
    )))
}
