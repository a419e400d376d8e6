//! Measures the cells of a grid, one after the other, each on disk before the next.

pub(crate) mod args;
mod expected;
mod known;
mod list;
pub(crate) mod rr;
pub(crate) mod run_dir;
mod schedule;
pub(crate) mod time;

use std::{
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, Result, anyhow};
use lab::move_to;
use program::{Failure, bad_input, one_line, say};
use run_format::{
    config::SweepConfig,
    files::MANIFEST,
    manifest::Manifest,
    protocol::BlockReport,
    run_row::{End, RunRow, Stop},
};

use self::{
    args::{AskedSweep, SweepArgs},
    known::Known,
    run_dir::RunDir,
    schedule::{Launch, schedule},
    time::SavedTime,
};
use crate::{
    cell_process::{CellEvent, NodePrograms, measure_cell},
    interrupts::Interrupts,
    manifest, new_folder,
    node_program::NodeProgramArgs,
    other_load,
    programs::{self, Programs},
    progress::{INTERRUPTED, MEASURED, Progress, SOME_FAILED},
    watched_folder::WatchedFolder,
};

pub(crate) fn run(args: SweepArgs) -> Result<ExitCode, Failure> {
    let interrupts = Interrupts::count()?;
    let (_, code) = carry_out(args.asked()?, MANIFEST, &args.program, &interrupts)?;
    Ok(code)
}

/// Does what was asked, with a manifest in the file `name`. Returns the folder, if something was measured.
pub(crate) fn carry_out(
    asked: AskedSweep,
    name: &str,
    node: &NodeProgramArgs,
    interrupts: &Interrupts,
) -> Result<(Option<PathBuf>, ExitCode), Failure> {
    let (manifest, programs, dir) = match asked {
        AskedSweep::List(config) => {
            list::list(&config);
            return Ok((None, ExitCode::from(MEASURED)));
        }
        AskedSweep::DryRun(config) => {
            list::dry_run(&config);
            return Ok((None, ExitCode::from(MEASURED)));
        }
        AskedSweep::Measure(mut config, dir) => {
            let hint = format!(" (to continue it: --resume {})", dir.display());
            new_folder::refuse(&dir, &hint)?;
            let programs = Programs::prepare(&mut config, node)?;
            let description = programs.describe()?;
            new_folder::create(&dir, &hint)?;
            programs::document(&config, &dir)?;
            let manifest = manifest::begin(&dir, name, config, &description)?;
            (manifest, programs, dir)
        }
        AskedSweep::Resume(dir) => {
            let manifest = manifest::read(&dir, name)?;
            let programs = Programs::find(&manifest.config, &node.again(&manifest))?;
            manifest::check_same(&manifest, &programs.describe()?, &dir)?;
            (manifest, programs, dir)
        }
    };
    let folder = WatchedFolder::open(&dir, name)?;
    let code = measure(&manifest, &programs, &folder, interrupts)?;
    Ok((Some(dir), ExitCode::from(code)))
}

fn measure(
    manifest: &Manifest,
    programs: &Programs,
    folder: &WatchedFolder,
    interrupts: &Interrupts,
) -> Result<u8, Failure> {
    let dir = &*folder.path;
    let config = &manifest.config;
    // Nothing but central runs on central's core.
    move_to(&config.lab.placement.peers).context("cannot leave central's core")?;
    let lock = lock(dir)?;
    if let Some(precision) = expected::precision(config) {
        say(precision);
    }
    let launches = schedule(config);
    let mut sweep = RunningSweep {
        config,
        folder,
        interrupts,
        progress: Progress::new(launches.len() as u64, true),
        known: Known::nothing(config),
        time: SavedTime::of(&launches, config),
        counts: RunCounts::default(),
    };
    for warning in other_load::warnings() {
        sweep.progress.warn(&warning);
    }
    for launch in &launches {
        if !sweep.launch(launch, programs.of(launch.subject))? {
            sweep.counts.interrupted = true;
            break;
        }
    }
    drop(lock);
    let RunningSweep {
        counts, progress, ..
    } = sweep;
    progress.finish(&counts.summary(), dir);
    if counts.exit_code() != MEASURED {
        say(format!("to measure the rest: --resume {}", dir.display()));
    }
    Ok(counts.exit_code())
}

/// A sweep while it goes on.
struct RunningSweep<'a> {
    config: &'a SweepConfig,
    folder: &'a WatchedFolder,
    interrupts: &'a Interrupts,
    progress: Progress,
    known: Known<'a>,
    time: SavedTime,
    counts: RunCounts,
}

impl RunningSweep<'_> {
    /// Measures a launch, unless that is done or not needed. Returns whether to go on.
    fn launch(&mut self, launch: &Launch, programs: NodePrograms<'_>) -> Result<bool> {
        if self.interrupts.seen() > 0 {
            return Ok(false);
        }
        let planned_ms = launch.config(self.config).plan.max_ms as f64;
        if self.known.is_enough_without(launch) {
            self.time.skip(planned_ms);
            self.progress.skip(1);
            return Ok(true);
        }
        let run_dir = RunDir::new(
            &self.folder.path,
            &launch.cell.id(),
            launch.run,
            launch.subject,
        );
        let row = run_dir.row().filter(RunRow::is_measured);
        let held = row.map(|row| row.check_files(&run_dir.done()));
        if let Some(Err(error)) = &held {
            self.progress
                .warn(&format!("{error:#}; the run is measured again"));
        }
        if let Some(Ok(_)) = held {
            self.known.add(launch, &run_dir.done())?;
            self.time.skip(planned_ms);
            self.progress.skip(1);
            return Ok(true);
        }
        self.folder.check()?;
        let partial = run_dir.begin()?;
        let Some((row, line)) = self.measure(launch, programs, &partial) else {
            return Ok(false);
        };
        self.folder.check()?;
        self.counts.add(&row.end);
        self.progress.advance(1);
        self.progress.line(&line);
        let kept = keep(&row, &run_dir);
        if kept.is_err() || !row.is_measured() {
            let dir = self.folder.path.display();
            self.folder.check_room().map_err(|full| {
                anyhow!("{full:#}; what was measured is kept (with more room: --resume {dir})")
            })?;
        }
        if let Err(error) = kept {
            let error = one_line(&format!("{error:#}"));
            self.progress
                .warn(&format!("{} cannot be kept: {error}", launch.cell));
            self.counts.unkept += 1;
        } else if row.is_measured() && run_dir.done().exists() {
            self.known.add(launch, &run_dir.done())?;
        }
        Ok(true)
    }

    /// The row of the run, and a line about it. None after a second interrupt.
    fn measure(
        &mut self,
        launch: &Launch,
        programs: NodePrograms<'_>,
        dir: &Path,
    ) -> Option<(RunRow, String)> {
        let name = format!("{} {}", launch.cell, launch.name(self.config));
        let progress = &mut self.progress;
        progress.show(name.clone());
        let mut last: Option<BlockReport> = None;
        let mut config = launch.config(self.config);
        self.time.spend(&mut config, self.config);
        let before = other_load::another();
        let mut row = measure_cell(config, programs, dir, self.interrupts, |event| {
            match event {
                CellEvent::Block(block) => {
                    let slow = block.slow_percent.first().copied().flatten();
                    let slow = slow.map_or_else(String::new, |slow| format!("  {slow:.1} % slow"));
                    progress.show(format!("{name}{slow}"));
                    last = Some(block);
                }
                CellEvent::Interrupt => {
                    progress.warn("finishing the slice; Ctrl-C again stops at once");
                }
                CellEvent::Row(_) | CellEvent::Tick => progress.tick(),
            }
            Ok(())
        })?;
        if let (End::Failed { reason, .. }, Err(full)) = (&mut row.end, self.folder.check_room()) {
            *reason = one_line(&format!("{full:#}"));
        }
        row.beside = before.or_else(other_load::another).map(str::to_owned);
        self.time.save(&row);
        let (done, total) = progress.position();
        let line = format!(
            "[{:3}/{total}] {name}  {}, {:.1} s",
            done + 1,
            outcome(&row, last.as_ref(), self.config),
            row.took_ms as f64 / 1e3
        );
        Some((row, line))
    }
}

/// How a run went, in a few words.
fn outcome(row: &RunRow, block: Option<&BlockReport>, config: &SweepConfig) -> String {
    match &row.end {
        End::Invalid { reason } => format!("INVALID: {reason}"),
        End::Failed { stage, reason } => format!("FAILED while {stage}: {reason}"),
        End::Ok { stop } => {
            let stop = match stop {
                Stop::Precise => "precise",
                Stop::Cap => "at the cap",
                Stop::Interrupted => "interrupted",
            };
            let blocks = row.blocks.unwrap_or(0);
            let by_variant = |block| format!("{}; ", by_variant(block, config));
            let variants = block.map_or_else(String::new, by_variant);
            format!("{variants}{blocks} blocks, {stop}")
        }
    }
}

/// The share of slow polls, or the rate of requests where no poll is recorded.
fn by_variant(block: &BlockReport, config: &SweepConfig) -> String {
    let (before, unit, decimals, values) = if block.requests_per_s.is_empty() {
        ("slow: ", " %", 1, &block.slow_percent)
    } else {
        ("", "/s", 0, &block.requests_per_s)
    };
    let variants = config.variants.iter().zip(values);
    let texts: Vec<String> = variants
        .map(|(variant, value)| {
            let value = value.map_or_else(|| "-".to_owned(), |value| format!("{value:.decimals$}"));
            format!("{} {value}{unit}", variant.label)
        })
        .collect();
    format!("{before}{}", texts.join(", "))
}

#[derive(Default)]
struct RunCounts {
    measured: usize,
    invalid: usize,
    failed: usize,
    /// Runs whose rows could not be written.
    unkept: usize,
    interrupted: bool,
}

impl RunCounts {
    fn add(&mut self, end: &End) {
        match end {
            // It is measured again.
            End::Ok {
                stop: Stop::Interrupted,
            } => {}
            End::Ok { .. } => self.measured += 1,
            End::Invalid { .. } => self.invalid += 1,
            End::Failed { .. } => self.failed += 1,
        }
    }

    fn summary(&self) -> String {
        let RunCounts {
            measured,
            invalid,
            failed,
            unkept,
            interrupted,
        } = self;
        let unkept = match unkept {
            0 => String::new(),
            count => format!(", {count} not kept"),
        };
        let interrupted = if *interrupted { "; interrupted" } else { "" };
        format!("{measured} runs measured, {invalid} invalid, {failed} failed{unkept}{interrupted}")
    }

    fn exit_code(&self) -> u8 {
        match self {
            RunCounts {
                interrupted: true, ..
            } => INTERRUPTED,
            RunCounts {
                invalid: 0,
                failed: 0,
                unkept: 0,
                ..
            } => MEASURED,
            _ => SOME_FAILED,
        }
    }
}

/// Writes the row, and gives the run its name, unless it was interrupted: then it has fewer blocks
/// than asked for, and is measured again by `--resume`.
fn keep(row: &RunRow, run_dir: &RunDir) -> Result<()> {
    row.write(&run_dir.partial())?;
    match row.end {
        End::Ok {
            stop: Stop::Interrupted,
        } => Ok(()),
        _ => run_dir.finish(),
    }
}

/// Two sweeps must not write into the same folder.
pub(crate) fn lock(dir: &Path) -> Result<fs::File, Failure> {
    let path = dir.join(".lock");
    let file =
        fs::File::create(&path).with_context(|| format!("cannot create {}", path.display()))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(_) => Err(bad_input(anyhow!(
            "{}: another sweep is writing there",
            dir.display()
        ))),
    }
}
