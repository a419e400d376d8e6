//! Measures the cells of a grid, one after the other, each on disk before the next.

pub(crate) mod args;
mod counts;
mod expected;
mod jobs;
mod list;
mod lock;
mod outcome;
pub(crate) mod rr;
pub(crate) mod run_dir;
mod schedule;
mod stop_rule;
pub(crate) mod time;

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
    sync::{Mutex, MutexGuard, PoisonError},
};

use anyhow::{Context, Result, anyhow};
use lab::move_to;
use program::{Failure, one_line, say};
use run_format::{
    config::SweepConfig,
    manifest::{Machine, Manifest},
    protocol::BlockReport,
    run_row::{End, RunRow},
    search::is_search,
};

pub(crate) use self::lock::lock;
use self::{
    args::AskedSweep,
    counts::RunCounts,
    jobs::Place,
    outcome::outcome,
    run_dir::RunDir,
    schedule::{Launch, schedule},
    stop_rule::StopRule,
    time::SavedTime,
};
use crate::{
    cell::hosts::round_trip,
    cell_process::{CellEvent, measure_cell},
    interrupts::Interrupts,
    manifest, new_folder,
    node_program::NodeProgramArgs,
    other_load,
    programs::{self, Programs},
    progress::{MEASURED, Progress},
    watched_folder::WatchedFolder,
};

/// Does what was asked, with a manifest in the file `name`. Returns the folder, if something was measured.
pub(crate) fn carry_out(
    asked: AskedSweep,
    name: &str,
    node: &NodeProgramArgs,
    interrupts: &Interrupts,
) -> Result<(Option<PathBuf>, ExitCode), Failure> {
    let (manifest, programs, dir) = match asked {
        AskedSweep::DryRun(config) => {
            list::dry_run(&config);
            return Ok((None, ExitCode::from(MEASURED)));
        }
        AskedSweep::Measure(mut config, dir) => {
            let hint = format!(" (to continue it: --resume {})", dir.display());
            // A killed task may have left a shard's folder without a manifest, in which nothing was measured.
            let is_left = config.shard.is_some() && dir.is_dir();
            if !is_left {
                new_folder::refuse(&dir, &hint)?;
            }
            let programs = Programs::prepare(&mut config, node)?;
            time_hosts(&mut config, &programs)?;
            let description = programs.describe()?;
            if !is_left {
                new_folder::create(&dir, &hint)?;
            }
            programs::document(&config, node.stack, &dir)?;
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

/// The round trip of cells whose peers run on other hosts.
fn time_hosts(config: &mut SweepConfig, programs: &Programs) -> Result<(), Failure> {
    let largest = config.axes.cells().into_iter().max_by_key(|it| it.peers);
    if let Some(cell) = largest.filter(|_| config.lab.peer_hosts.is_some()) {
        let run = plan::run::run(config, cell, 1, None, config.seed);
        config.axes.rtt_ms = vec![round_trip(&run, programs.of(None).peer)?];
    }
    Ok(())
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
    let jobs = config.jobs.as_ref();
    let peers = jobs.map_or_else(|| config.lab.placement.peers.clone(), |jobs| jobs.peers());
    move_to(&peers).context("cannot leave central's core")?;
    let lock = lock(dir, config.shard.is_some())?;
    if let Some(precision) = expected::precision(config) {
        say(precision);
    }
    if let Some(amiss) = config.lab.placement.too_few_cores(config.runtime.workers) {
        say(format!("warning: {amiss}"));
    }
    let launches = schedule(config);
    let machine = manifest::machine();
    let alone = jobs.map_or(0, |jobs| jobs.alone.min(launches.len()));
    let progress = Progress::new((launches.len() + alone) as u64, true);
    for warning in other_load::warnings() {
        progress.warn(&warning);
    }
    let sweep = RunningSweep {
        config,
        folder,
        interrupts,
        programs,
        machine: (machine.host != manifest.machine.host).then_some(machine),
        state: Mutex::new(SweepState {
            progress,
            time: SavedTime::of(&launches, config),
            counts: RunCounts::default(),
        }),
    };
    let interrupted = !jobs::run(&sweep, &launches)?;
    drop(lock);
    let state = sweep.state.into_inner();
    let state = state.unwrap_or_else(PoisonError::into_inner);
    let mut counts = state.counts;
    counts.interrupted = interrupted;
    state.progress.finish(&counts.summary(), dir);
    if counts.exit_code() != MEASURED {
        // A round is resumed with its search.
        let search = dir.parent().filter(|parent| is_search(parent));
        let resumed = search.unwrap_or(dir).display();
        say(format!("to measure the rest: --resume {resumed}"));
    }
    Ok(counts.exit_code())
}

/// A sweep while it goes on.
struct RunningSweep<'a> {
    config: &'a SweepConfig,
    folder: &'a WatchedFolder,
    interrupts: &'a Interrupts,
    programs: &'a Programs,
    /// If it is not that of the manifest.
    machine: Option<Machine>,
    state: Mutex<SweepState>,
}

/// What becomes of it.
struct SweepState {
    progress: Progress,
    time: SavedTime,
    counts: RunCounts,
}

impl SweepState {
    fn skip(&mut self, planned_ms: f64) {
        self.time.skip(planned_ms);
        self.progress.skip(1);
    }
}

impl RunningSweep<'_> {
    fn state(&self) -> MutexGuard<'_, SweepState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run_dir(&self, launch: &Launch, is_alone: bool) -> RunDir {
        let cell = launch.cell.id();
        let run_dir = RunDir::new(&self.folder.path, &cell, launch.run, launch.subject);
        if is_alone { run_dir.alone() } else { run_dir }
    }

    /// Measures a launch, unless that is done or not needed. Returns whether to go on, also after the last
    /// one: what an interrupt cut short is not done.
    fn launch(
        &self,
        launch: &Launch,
        place: Place<'_>,
        stop_rule: &mut StopRule<'_>,
    ) -> Result<bool> {
        if self.interrupts.seen() > 0 {
            return Ok(false);
        }
        let run_dir = self.run_dir(launch, place.is_alone);
        let is_needed = !stop_rule.is_enough_without(launch);
        if !is_needed || self.is_done(launch, &run_dir) {
            if is_needed && !place.is_alone {
                stop_rule.add(launch, &run_dir.done())?;
            }
            // The time of those that are alone is not shared out.
            let planned_ms = match place.is_alone {
                true => 0.0,
                false => launch.config(self.config).plan.max_ms as f64,
            };
            self.state().skip(planned_ms);
            return Ok(true);
        }
        self.folder.check()?;
        let partial = run_dir.begin()?;
        let Some((row, last, room)) = self.measure(launch, place, &partial) else {
            return Ok(false);
        };
        self.folder.check()?;
        self.say_outcome(&self.name(launch, place), &row, last.as_ref());
        let is_kept = self.keep(launch, &row, &run_dir, room)?;
        if is_kept && row.is_measured() && run_dir.done().exists() && !place.is_alone {
            stop_rule.add(launch, &run_dir.done())?;
        }
        let is_whole = row.is_measured() && row.end != End::INTERRUPTED;
        Ok(is_whole || self.interrupts.seen() == 0)
    }

    /// Whether the run was measured before, with the options of this sweep, and is as it was written.
    fn is_done(&self, launch: &Launch, run_dir: &RunDir) -> bool {
        let Some(row) = run_dir.row().filter(RunRow::is_measured) else {
            return false;
        };
        let plan = plan::run::of_cell(self.config, launch.cell);
        let checked = match plan::run::differs_in(self.config, &row.config, plan) {
            Some(field) => {
                let run = run_dir.done();
                Err(anyhow!(
                    "{}: its {field} is not that of this sweep",
                    run.display()
                ))
            }
            None => row.check_files(&run_dir.done()).map(drop),
        };
        if let Err(error) = &checked {
            let warning = format!("{error:#}; the run is measured again");
            self.state().progress.warn(&warning);
        }
        checked.is_ok()
    }

    fn say_outcome(&self, name: &str, row: &RunRow, last: Option<&BlockReport>) {
        let mut state = self.state();
        state.counts.add(&row.end);
        state.progress.advance(1);
        let (done, total) = state.progress.position();
        let outcome = outcome(row, last, self.config);
        let took_s = row.took_ms as f64 / 1e3;
        let line = format!("[{done:3}/{total}] {name}  {outcome}, {took_s:.1} s");
        state.progress.line(&line);
    }

    /// Keeps what was measured, and says whether that worked. A full disk ends the sweep.
    fn keep(
        &self,
        launch: &Launch,
        row: &RunRow,
        run_dir: &RunDir,
        room: Result<()>,
    ) -> Result<bool> {
        let kept = keep(row, run_dir);
        let room = if kept.is_ok() {
            room
        } else {
            self.folder.check_room()
        };
        let dir = self.folder.path.display();
        room.map_err(|full| {
            anyhow!("{full:#}; what was measured is kept (with more room: --resume {dir})")
        })?;
        let Err(error) = kept else { return Ok(true) };
        let error = one_line(&format!("{error:#}"));
        let mut state = self.state();
        let warning = format!("{} cannot be kept: {error}", launch.cell);
        state.progress.warn(&warning);
        state.counts.unkept += 1;
        Ok(false)
    }

    fn name(&self, launch: &Launch, place: Place<'_>) -> String {
        let alone = if place.is_alone { ", alone" } else { "" };
        format!("{} {}{alone}", launch.cell, launch.name(self.config))
    }

    /// The row of the run, its last block, and an error if there was no room for it. None after a second interrupt.
    fn measure(
        &self,
        launch: &Launch,
        place: Place<'_>,
        dir: &Path,
    ) -> Option<(RunRow, Option<BlockReport>, Result<()>)> {
        let name = self.name(launch, place);
        let mut last: Option<BlockReport> = None;
        let mut config = launch.config(self.config);
        config.jobs = place.jobs;
        config.lab.placement = place.placement.clone();
        let mut state = self.state();
        state.progress.show(name.clone());
        if !place.is_alone {
            state.time.spend(&mut config, self.config);
        }
        drop(state);
        let before = other_load::another();
        let programs = self.programs.of(launch.subject);
        let mut row = measure_cell(config, programs, dir, self.interrupts, |event| {
            let mut state = self.state();
            let progress = &mut state.progress;
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
        let room = match &mut row.end {
            End::Failed { reason, .. } => {
                let room = self.folder.check_room();
                room.inspect_err(|full| *reason = one_line(&format!("{full:#}")))
            }
            _ => Ok(()),
        };
        row.machine = self.machine.clone();
        row.beside = before.or_else(other_load::another).map(str::to_owned);
        if !place.is_alone {
            self.state().time.save(&row);
        }
        Some((row, last, room))
    }
}

/// Writes the row, and gives the run its name, unless it was interrupted: then it has fewer blocks
/// than asked for, and is measured again by `--resume`.
fn keep(row: &RunRow, run_dir: &RunDir) -> Result<()> {
    row.write(&run_dir.partial())?;
    match row.end {
        End::INTERRUPTED => Ok(()),
        _ => run_dir.finish(),
    }
}
