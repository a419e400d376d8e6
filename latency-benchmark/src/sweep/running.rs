//! Measures and keeps the launches of a sweep.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::{Result, anyhow};
use fs_err as fs;
use program::{in_one_line, in_threads, interrupts_seen};
use run_format::files::{RUN, without_graft_folder};
use run_format::{
    BlockReport, Machine, Placement, RunConfig, RunOutcome, RunRow, Stage, Stop, SweepConfig, plan,
};

use super::run_folder::RunFolder;
use super::schedule::Launch;
use super::time::SavedTime;
use crate::cell::{CellMessage, row_without_figures};
use crate::programs::Programs;
use crate::progress::RunCounts;
use crate::progress_line::progress_line;
use crate::session::{Session, goes_on_after, others};
use crate::turn_order::{Seat, TurnOrder};

pub(super) struct RunningSweep<'a> {
    pub(super) config: &'a SweepConfig,
    pub(super) programs: &'a Programs,
    /// This machine, if it is not that of the manifest.
    pub(super) machine: Option<Machine>,
    pub(super) session: Session,
    pub(super) state: Mutex<SweepState>,
}

pub(super) struct SweepState {
    pub(super) time: SavedTime,
    pub(super) counts: RunCounts,
    /// The number of failures of each subject in a cell after its nodes had begun.
    pub(super) failures: BTreeMap<(String, Option<usize>), u32>,
    /// The first launch of each program of a subject that failed while its nodes ran, by the id of its build.
    pub(super) first_failures: BTreeMap<String, RunConfig>,
}

impl RunningSweep<'_> {
    pub(super) fn state(&self) -> MutexGuard<'_, SweepState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Measures launches that take turns, or a single one, unless all of them are done. Returns whether to go on.
    pub(super) fn measure(&self, launches: &[Launch], placement: &Placement) -> Result<bool> {
        if interrupts_seen() > 0 {
            return Ok(false);
        }
        let run_dir = |launch: &Launch| launch.run_dir(&self.session.folder.path);
        let is_done = |launch: &Launch| self.is_done(launch, &run_dir(launch));
        if launches.iter().all(is_done) {
            launches.iter().for_each(|launch| self.skip(launch));
            return Ok(true);
        }
        let (given_up, launches): (Vec<_>, Vec<_>) =
            launches.iter().partition(|launch| self.is_given_up(launch));
        for launch in given_up {
            self.give_up(launch, &run_dir(launch))?;
        }
        if launches.is_empty() {
            return Ok(true);
        }
        if let [launch] = launches[..]
            && launch.subject.is_none()
        {
            return self.launch(launch, placement, &run_dir(launch), None);
        }
        // Runs of launches that take turns are compared, so all of them are measured again together.
        for run_dir in launches.iter().copied().map(run_dir) {
            run_dir.set_aside(&run_dir.done(), "replaced")?;
        }
        let order = TurnOrder::new(launches.len(), launches[0].seed);
        let measure = |(number, launch): (usize, &&Launch)| {
            let seat = order.seat(number);
            seat.wait_to_start();
            self.launch(launch, placement, &run_dir(launch), Some(&seat))
        };
        let go_on = in_threads(launches.iter().enumerate(), measure)?;
        Ok(!go_on.contains(&false))
    }

    /// Whether the subject failed in so many launches of the cell that another one would only take time.
    fn is_given_up(&self, launch: &Launch) -> bool {
        const ENOUGH: u32 = 2;
        let state = self.state();
        let failures = state.failures.get(&(launch.cell.id(), launch.subject));
        failures.is_some_and(|failures| *failures >= ENOUGH)
    }

    /// Keeps the row of a launch that is not tried.
    fn give_up(&self, launch: &Launch, run_dir: &RunFolder) -> Result<()> {
        let config = launch.config(self.config);
        self.state().time.skip(config.plan.max_ms as f64);
        run_dir.begin()?;
        let end = RunOutcome::Failed {
            stage: Stage::Measuring,
            reason: "not tried again, since two launches of this cell had failed".to_owned(),
        };
        let row = row_without_figures(config, end);
        self.state().counts.add(&row.outcome);
        self.session.progress.advance(1);
        self.keep(launch, &row, run_dir)
    }

    fn skip(&self, launch: &Launch) {
        let planned_ms = launch.config(self.config).plan.max_ms;
        self.state().time.skip(planned_ms as f64);
        self.session.progress.skip(1);
    }

    /// Whether the run was measured before, with the options of this sweep, and is as it was written.
    fn is_done(&self, launch: &Launch, run_dir: &RunFolder) -> bool {
        let Some(row) = run_dir.measured() else {
            return false;
        };
        let plan = plan::run::plan_of_cell(self.config, launch.cell);
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

    /// Measures a launch and keeps its row. Returns whether to go on.
    fn launch(
        &self,
        launch: &Launch,
        placement: &Placement,
        run_dir: &RunFolder,
        seat: Option<&Seat<'_>>,
    ) -> Result<bool> {
        let session = &self.session;
        let name = format!("{} {}", launch.cell, launch.name(self.config));
        let mut config = launch.config(self.config);
        config.lab.placement = placement.clone();
        self.state().time.spend(&mut config, self.config);
        session.progress.show(&name);
        let others_before = others();
        session.folder.check()?;
        let partial = run_dir.begin()?;
        let programs = self.programs.for_launch(launch.subject, config.layout);
        let mut last_block = None;
        let row = session.measure(config, &programs, &partial, seat, |message| {
            if let CellMessage::Block(block) = message {
                if let Some(figures) = progress_line(&block, &self.config.variants) {
                    session.progress.show(&format!("{name}  {figures}"));
                }
                last_block = Some(block);
            }
            Ok(())
        })?;
        let Some(mut row) = row else {
            return Ok(false);
        };
        row.machine = self.machine.clone();
        let beside = others_before.into_iter().chain(others()).next();
        row.beside = beside.map(str::to_owned);
        let mut state = self.state();
        state.time.save(&row);
        state.counts.add(&row.outcome);
        if let RunOutcome::Failed { stage, .. } = &row.outcome
            && stage.is_of_nodes()
            && let Some(subject) = row.config.subject
        {
            let failures = (state.failures).entry((launch.cell.id(), launch.subject));
            *failures.or_default() += 1;
            if let Some(build) = &self.config.subjects[subject].build {
                let first = state.first_failures.entry(build.id.clone());
                first.or_insert_with(|| row.config.clone());
            }
        }
        session.progress.advance(1);
        let (done, total) = session.progress.position();
        let how = outcome(&row, last_block.as_ref(), self.config);
        let took_s = row.took_ms as f64 / 1e3;
        let line = format!("[{done:3}/{total}] {name}  {how}, {took_s:.1} s");
        match row.outcome {
            RunOutcome::Ok { .. } => session.progress.ended(&line),
            _ => session.progress.line(&line),
        }
        drop(state);
        self.keep(launch, &row, run_dir)?;
        Ok(goes_on_after(&row))
    }

    /// Keeps what was measured. A run that was interrupted has fewer blocks than asked for, and `--resume` measures it again.
    /// A full disk ends the sweep.
    fn keep(&self, launch: &Launch, row: &RunRow, run_dir: &RunFolder) -> Result<()> {
        let (folder, progress) = (&self.session.folder, &self.session.progress);
        let kept = run_dir.finish(row, row.outcome != RunOutcome::INTERRUPTED);
        if kept.is_err() || matches!(row.outcome, RunOutcome::Failed { .. }) {
            folder.check_room().map_err(|full| {
                let dir = folder.path.display();
                anyhow!("{full:#}; what was measured is kept (with more room: --resume {dir})")
            })?;
        }
        if let Err(error) = kept {
            let error = in_one_line(&error);
            progress.warn(&format!("{} cannot be kept: {error}", launch.cell));
            self.state().counts.unkept += 1;
        }
        Ok(())
    }

    /// Finds out whether subjects failed because of the inserted lines. The program of each is built without these lines and
    /// launched once, which shows only whether requests are answered. Returns whether to go on.
    pub(super) fn launch_without_graft(&self) -> Result<bool> {
        let failures = std::mem::take(&mut self.state().first_failures);
        let (session, config) = (&self.session, self.config);
        for run in failures.into_values() {
            let number = run.subject.unwrap_or(0);
            let label = &config.subjects[number].label;
            let dir = session.folder.path.join(without_graft_folder(number));
            // A host of peers has only the programs of the sweep.
            if dir.join(RUN).exists() || config.lab.peer_hosts.is_some() {
                continue;
            }
            session.progress.line(&format!(
                "{label} failed; it is built and launched once without the inserted lines"
            ));
            match self.launch_one_without_graft(run, number, &dir) {
                Ok(Some(row)) if goes_on_after(&row) => {
                    row.write(&dir)?;
                    let line = format!("{label} {}", row.outcome.sentence_without_graft());
                    session.progress.line(&line);
                }
                Ok(_) => return Ok(false),
                Err(error) => session.progress.warn(&format!(
                    "{label} cannot be launched without the inserted lines: {error:#}"
                )),
            }
        }
        Ok(true)
    }

    /// Returns None after a second interrupt.
    fn launch_one_without_graft(
        &self,
        mut run: RunConfig,
        number: usize,
        dir: &Path,
    ) -> Result<Option<RunRow>> {
        const LONGEST_MS: u64 = 2000;
        let subject = &self.config.subjects[number];
        let mut programs = self.programs.for_launch(Some(number), None);
        programs.central = self.programs.program_without_graft(subject)?;
        if subject.peers == number {
            programs.peer = programs.central.clone();
        }
        if dir.exists() {
            // An earlier attempt was interrupted.
            fs::remove_dir_all(dir)?;
        }
        fs::create_dir_all(dir)?;
        run.beside = 0;
        run.variants.truncate(1);
        run.plan.max_ms = run.plan.max_ms.min(LONGEST_MS);
        self.session.measure(run, &programs, dir, None, |_| Ok(()))
    }
}

fn outcome(row: &RunRow, block: Option<&BlockReport>, config: &SweepConfig) -> String {
    let stopped = match row.outcome.stop_or_problem() {
        Ok(Stop::Precise) => "precise",
        Ok(Stop::Cap) => "at the cap",
        Ok(Stop::Interrupted) => "interrupted",
        Err(problem) => return problem,
    };
    let blocks = row.blocks.unwrap_or(0);
    let known = block.and_then(|block| progress_line(block, &config.variants));
    let figures = known.map_or_else(String::new, |figures| format!("{figures}; "));
    format!("{figures}{blocks} blocks, {stopped}")
}
