//! Measures the cells of a grid, one after the other, each on disk before the next.

pub(crate) mod args;
mod expected;
mod jobs;
mod list;
mod outcome;
pub(crate) mod rr;
pub(crate) mod run_dir;
mod schedule;
mod stop_rule;
pub(crate) mod time;

use std::{
    process::ExitCode,
    sync::{Mutex, MutexGuard, PoisonError},
};

use anyhow::{Result, anyhow};
use program::{Failure, one_line, say};
use run_format::{
    config::SweepConfig,
    manifest::{Machine, Manifest},
    network::Placement,
    run_row::{End, RunRow},
    search::is_search,
};

use self::{
    args::AskedSweep,
    outcome::outcome,
    run_dir::RunDir,
    schedule::{Launch, schedule},
    stop_rule::StopRule,
    time::SavedTime,
};
use crate::{
    cell::hosts::round_trip,
    cell_task::CellMessage,
    interrupts::Interrupts,
    manifest,
    node_program::NodeProgramArgs,
    other_load,
    programs::{self, Programs},
    progress::{MEASURED, Progress, RunCounts},
    results_folder::{self, ResultsFolder},
    session::Session,
};

/// Does what was asked, with a manifest in the file `name`.
pub(crate) fn carry_out(
    asked: AskedSweep,
    name: &str,
    node: &NodeProgramArgs,
    interrupts: &Interrupts,
) -> Result<ExitCode, Failure> {
    let (manifest, programs, dir) = match asked {
        AskedSweep::DryRun(config) => {
            list::dry_run(&config);
            return Ok(ExitCode::from(MEASURED));
        }
        AskedSweep::Measure(mut config, dir) => {
            let hint = format!(" (to continue it: --resume {})", dir.display());
            // A killed task may have left a shard's folder without a manifest, in which nothing was measured.
            let is_left = config.shard.is_some() && dir.is_dir();
            if !is_left {
                results_folder::refuse_existing(&dir, &hint)?;
            }
            let programs = Programs::prepare(&mut config, node)?;
            time_hosts(&mut config, &programs)?;
            let description = programs.describe()?;
            if !is_left {
                results_folder::create(&dir)?;
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
    let folder = ResultsFolder::lock(&dir, name, manifest.config.shard.is_some())?;
    let code = measure(&manifest, &programs, folder, interrupts)?;
    Ok(ExitCode::from(code))
}

/// The round trip of cells whose peers run on other hosts.
fn time_hosts(config: &mut SweepConfig, programs: &Programs) -> Result<(), Failure> {
    let largest = config
        .axes
        .cells()
        .into_iter()
        .max_by_key(|cell| cell.peers);
    if let Some(cell) = largest.filter(|_| config.lab.peer_hosts.is_some()) {
        let run = plan::run::run(config, cell, 1, None, config.seed);
        config.axes.rtt_ms = vec![round_trip(&run, programs.for_subject(None).1)?];
    }
    Ok(())
}

fn measure(
    manifest: &Manifest,
    programs: &Programs,
    folder: ResultsFolder,
    interrupts: &Interrupts,
) -> Result<u8> {
    let config = &manifest.config;
    if let Some(precision) = expected::precision(config) {
        say(precision);
    }
    if let Some(amiss) = config.lab.placement.too_few_cores(config.runtime.workers) {
        say(format!("warning: {amiss}"));
    }
    let launches = schedule(config);
    let alone = jobs::alone(config, &launches);
    let all = launches
        .iter()
        .chain(alone.iter().map(|(launch, _)| launch));
    let progress = Progress::new((launches.len() + alone.len()) as u64, true);
    let peers = match &config.jobs {
        Some(jobs) => jobs.peers(),
        None => config.lab.placement.peers.clone(),
    };
    let machine = manifest::machine();
    let sweep = RunningSweep {
        config,
        programs,
        machine: (machine.host != manifest.machine.host).then_some(machine),
        session: Session::begin(folder, progress, &peers, interrupts)?,
        state: Mutex::new(SweepState {
            time: SavedTime::new(all, config),
            counts: RunCounts::default(),
        }),
    };
    let is_complete = jobs::run(&sweep, &launches, &alone)?;
    let Session {
        folder, progress, ..
    } = &sweep.session;
    let mut state = sweep.state();
    let counts = &mut state.counts;
    counts.interrupted = !is_complete;
    progress.finish(&counts.summary("runs measured"), &folder.path);
    if counts.exit_code() != MEASURED {
        // A round is resumed with its search.
        let search = folder.path.parent().filter(|parent| is_search(parent));
        let resumed = search.unwrap_or(&folder.path).display();
        say(format!("to measure the rest: --resume {resumed}"));
    }
    Ok(counts.exit_code())
}

struct RunningSweep<'a> {
    config: &'a SweepConfig,
    programs: &'a Programs,
    /// If it is not that of the manifest.
    machine: Option<Machine>,
    session: Session<'a>,
    state: Mutex<SweepState>,
}

struct SweepState {
    time: SavedTime,
    counts: RunCounts,
}

impl RunningSweep<'_> {
    fn state(&self) -> MutexGuard<'_, SweepState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Measures a launch, unless that is done or not needed. Returns whether to go on.
    fn launch(
        &self,
        launch: &Launch,
        placement: &Placement,
        stop_rule: &mut StopRule<'_>,
    ) -> Result<bool> {
        if self.session.interrupts.seen() > 0 {
            return Ok(false);
        }
        let run_dir = launch.run_dir(&self.session.folder.path);
        let is_needed = !stop_rule.is_enough_without(launch);
        let mut goes_on = true;
        if is_needed && !self.is_done(launch, &run_dir) {
            goes_on = self.measure(launch, placement, &run_dir)?;
        } else {
            let planned_ms = launch.config(self.config).plan.max_ms;
            self.state().time.skip(planned_ms as f64);
            self.session.progress.skip(1);
        }
        if is_needed {
            stop_rule.add(launch, &run_dir)?;
        }
        Ok(goes_on)
    }

    /// Whether the run was measured before, with the options of this sweep, and is as it was written.
    fn is_done(&self, launch: &Launch, run_dir: &RunDir) -> bool {
        let Some(row) = run_dir.measured() else {
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
            self.session.progress.warn(&warning);
        }
        checked.is_ok()
    }

    /// Returns whether to go on.
    fn measure(&self, launch: &Launch, placement: &Placement, run_dir: &RunDir) -> Result<bool> {
        let session = &self.session;
        let name = format!("{} {}", launch.cell, launch.name(self.config));
        let mut config = launch.config(self.config);
        config.lab.placement = placement.clone();
        self.state().time.spend(&mut config, self.config);
        session.progress.show(&name);
        let before = other_load::another();
        session.folder.check()?;
        let partial = run_dir.begin()?;
        let programs = self.programs.for_subject(launch.subject);
        let mut last = None;
        let row = session.measure(config, programs, &partial, |message| {
            if let CellMessage::Block(block) = message {
                let slow = block.slow_percent.first().copied().flatten();
                let slow = slow.map_or_else(String::new, |slow| format!("  {slow:.1} % slow"));
                session.progress.show(&format!("{name}{slow}"));
                last = Some(block);
            }
            Ok(())
        })?;
        let Some(mut row) = row else {
            return Ok(false);
        };
        row.machine = self.machine.clone();
        row.beside = before.or_else(other_load::another).map(str::to_owned);
        let mut state = self.state();
        state.time.save(&row);
        state.counts.add(&row.end);
        session.progress.advance(1);
        let (done, total) = session.progress.position();
        let outcome = outcome(&row, last.as_ref(), self.config);
        let took_s = row.took_ms as f64 / 1e3;
        let line = format!("[{done:3}/{total}] {name}  {outcome}, {took_s:.1} s");
        session.progress.line(&line);
        drop(state);
        self.keep(launch, &row, run_dir)?;
        Ok(session.goes_on_after(&row))
    }

    /// Keeps what was measured. One that was interrupted has fewer blocks than asked for, and is measured again by
    /// `--resume`. A full disk ends the sweep.
    fn keep(&self, launch: &Launch, row: &RunRow, run_dir: &RunDir) -> Result<()> {
        let Session {
            folder, progress, ..
        } = &self.session;
        let kept = run_dir.finish(row, row.end != End::INTERRUPTED);
        if kept.is_err() || matches!(row.end, End::Failed { .. }) {
            folder.check_room().map_err(|full| {
                let dir = folder.path.display();
                anyhow!("{full:#}; what was measured is kept (with more room: --resume {dir})")
            })?;
        }
        if let Err(error) = kept {
            let error = one_line(&format!("{error:#}"));
            progress.warn(&format!("{} cannot be kept: {error}", launch.cell));
            self.state().counts.unkept += 1;
        }
        Ok(())
    }
}
