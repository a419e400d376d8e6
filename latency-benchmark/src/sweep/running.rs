//! A sweep that measures: what its launches share, and how one is measured and kept.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use anyhow::{Result, anyhow};
use program::one_line;
use run_format::config::{RunConfig, SweepConfig};
use run_format::manifest::Machine;
use run_format::network::Placement;
use run_format::protocol::BlockReport;
use run_format::run_row::{End, RunRow, Stop};

use super::run_dir::RunDir;
use super::schedule::Launch;
use super::time::SavedTime;
use crate::cell_task::CellMessage;
use crate::other_load;
use crate::programs::Programs;
use crate::progress::RunCounts;
use crate::session::Session;
use crate::turn_order::{Seat, TurnOrder};

pub(super) struct RunningSweep<'a> {
    pub(super) config: &'a SweepConfig,
    pub(super) programs: &'a Programs,
    /// If it is not that of the manifest.
    pub(super) machine: Option<Machine>,
    pub(super) session: Session<'a>,
    pub(super) state: Mutex<SweepState>,
}

pub(super) struct SweepState {
    pub(super) time: SavedTime,
    pub(super) counts: RunCounts,
    /// The first launch of each program of a subject in which central failed, by the id of its build.
    pub(super) failed: BTreeMap<String, RunConfig>,
}

impl RunningSweep<'_> {
    pub(super) fn state(&self) -> MutexGuard<'_, SweepState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Measures launches that take turns, or a single one, unless all of them are done. Returns whether to go on.
    pub(super) fn measure(&self, launches: &[Launch], placement: &Placement) -> Result<bool> {
        if self.session.interrupts.seen() > 0 {
            return Ok(false);
        }
        let run_dir = |launch: &Launch| launch.run_dir(&self.session.folder.path);
        if launches.iter().all(|it| self.is_done(it, &run_dir(it))) {
            launches.iter().for_each(|launch| self.skip(launch));
            return Ok(true);
        }
        if let [launch] = launches
            && launch.subject.is_none()
        {
            return self.launch(launch, placement, &run_dir(launch), None);
        }
        // What was measured beside another launch than this one is no part of it.
        for run_dir in launches.iter().map(run_dir) {
            run_dir.set_aside(&run_dir.done(), "replaced")?;
        }
        let order = TurnOrder::new(launches.len(), launches[0].seed);
        let measure = |(place, launch): (usize, &Launch)| {
            let seat = order.seat(place);
            seat.wait_to_start();
            self.launch(launch, placement, &run_dir(launch), Some(&seat))
        };
        thread::scope(|scope| {
            let start = |launch| scope.spawn(move || measure(launch));
            let threads: Vec<_> = launches.iter().enumerate().map(start).collect();
            let mut goes_on = true;
            for thread in threads {
                goes_on &= thread.join().map_err(|_| anyhow!("a launch panicked"))??;
            }
            Ok(goes_on)
        })
    }

    fn skip(&self, launch: &Launch) {
        let planned_ms = launch.config(self.config).plan.max_ms;
        self.state().time.skip(planned_ms as f64);
        self.session.progress.skip(1);
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
    fn launch(
        &self,
        launch: &Launch,
        placement: &Placement,
        run_dir: &RunDir,
        seat: Option<&Seat<'_>>,
    ) -> Result<bool> {
        let session = &self.session;
        let name = format!("{} {}", launch.cell, launch.name(self.config));
        let mut config = launch.config(self.config);
        config.lab.placement = placement.clone();
        self.state().time.spend(&mut config, self.config);
        session.progress.show(&name);
        let before = other_load::another();
        session.folder.check()?;
        let partial = run_dir.begin()?;
        let central = self.programs.central(launch.subject, config.layout);
        let peer = self.programs.peer(launch.subject);
        let mut last = None;
        let row = session.measure(config, (&central, peer), &partial, seat, |message| {
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
        if let Some(build) = self.failed_build(&row) {
            let first = state.failed.entry(build.to_owned());
            first.or_insert_with(|| row.config.clone());
        }
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

    /// The build of the subject, if its central failed.
    fn failed_build(&self, row: &RunRow) -> Option<&str> {
        let End::Failed { stage, .. } = &row.end else {
            return None;
        };
        let subject = &self.config.subjects[row.config.subject?];
        let build = subject.build.as_ref()?;
        ["connecting", "measuring"]
            .contains(&stage.as_str())
            .then_some(build.id.as_str())
    }

    /// Keeps what was measured. One that was interrupted has fewer blocks than asked for, and is measured again by
    /// `--resume`. A full disk ends the sweep.
    fn keep(&self, launch: &Launch, row: &RunRow, run_dir: &RunDir) -> Result<()> {
        let (folder, progress) = (&self.session.folder, &self.session.progress);
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
