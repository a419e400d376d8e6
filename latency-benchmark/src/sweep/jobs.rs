//! Measures launches one after the other, or several at the same time, each job in a place of its own. Some are also
//! measured alone, by the same job, right before or after. If jobs disturb each other, half of them go on.

use std::{
    sync::{
        Mutex, PoisonError, RwLock,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    thread,
};

use anyhow::{Result, anyhow};
use plan::{
    jobs::{AlonePair, BesideOthers, LIMIT_PERCENT},
    slow_polls,
    sums::SliceSums,
};
use run_format::network::Placement;

use super::{RunningSweep, schedule::Launch, stop_rule::StopRule};

/// Where a launch is measured, and beside how many.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) placement: &'a Placement,
    /// Itself included. None in a sweep without jobs.
    pub(super) jobs: Option<usize>,
    /// To be compared with the same launch beside others.
    pub(super) is_alone: bool,
}

/// What the jobs have in common.
struct Jobs<'a> {
    sweep: &'a RunningSweep<'a>,
    /// What one job measures without a break: the launches of subjects in a cell are compared with each other.
    units: Vec<&'a [Launch]>,
    next_unit: AtomicUsize,
    running: AtomicUsize,
    /// Who is alone holds it for writing.
    quiet: RwLock<()>,
    pairs: Mutex<Vec<AlonePair>>,
}

/// Returns whether all were measured, so that nobody asked for an end.
pub(super) fn run(sweep: &RunningSweep<'_>, launches: &[Launch]) -> Result<bool> {
    let config = sweep.config;
    let single = [config.lab.placement.clone()];
    let places = config.jobs.as_ref().map_or(&single[..], |it| &it.places);
    let is_same = |a: &Launch, b: &Launch| a.subject.is_some() && a.cell == b.cell;
    let jobs = &Jobs {
        sweep,
        units: launches.chunk_by(is_same).collect(),
        next_unit: AtomicUsize::new(0),
        running: AtomicUsize::new(places.len()),
        quiet: RwLock::new(()),
        pairs: Mutex::default(),
    };
    thread::scope(|scope| {
        let start = |(job, placement)| scope.spawn(move || jobs.work(job, placement));
        let threads: Vec<_> = places.iter().enumerate().map(start).collect();
        let ends = threads.into_iter().map(|it| it.join());
        let ends: Vec<_> = ends.collect();
        ends.into_iter().try_fold(true, |all, end| {
            Ok(end.map_err(|_| anyhow!("a job panicked"))?? && all)
        })
    })
}

/// If a launch is also measured alone, the number of the pair. `alone` of all launches are, evenly spread.
fn pair_of(number: usize, alone: usize, launches: usize) -> Option<usize> {
    let before = |number: usize| number * alone / launches;
    (before(number + 1) > before(number)).then(|| before(number))
}

impl Jobs<'_> {
    fn work(&self, job: usize, placement: &Placement) -> Result<bool> {
        let mut stop_rule = StopRule::nothing(self.sweep.config);
        while job < self.running.load(Relaxed) {
            let number = self.next_unit.fetch_add(1, Relaxed);
            let Some(unit) = self.units.get(number) else {
                break;
            };
            let mut pair = pair_of(number, self.alone(), self.units.len());
            for launch in *unit {
                let goes_on = self.measure(launch, pair.take(), placement, &mut stop_rule);
                if !matches!(goes_on, Ok(true)) {
                    // Nor do the others.
                    self.next_unit.store(self.units.len(), Relaxed);
                    return goes_on;
                }
            }
        }
        Ok(true)
    }

    /// How many launches are also measured alone.
    fn alone(&self) -> usize {
        let jobs = self.sweep.config.jobs.as_ref();
        jobs.map_or(0, |jobs| jobs.alone.min(self.units.len()))
    }

    /// Also alone if it is of a pair. Returns whether to go on.
    fn measure(
        &self,
        launch: &Launch,
        pair: Option<usize>,
        placement: &Placement,
        stop_rule: &mut StopRule<'_>,
    ) -> Result<bool> {
        let running = self.running.load(Relaxed);
        let jobs = self.sweep.config.jobs.as_ref().map(|_| running);
        let order: &[bool] = match pair.filter(|_| running > 1) {
            None => &[false],
            Some(pair) if pair.is_multiple_of(2) => &[false, true],
            Some(_) => &[true, false],
        };
        for &is_alone in order {
            let shared = (!is_alone).then(|| self.quiet.read());
            let alone = is_alone.then(|| self.quiet.write());
            let place = Place {
                placement,
                jobs: if is_alone { Some(1) } else { jobs },
                is_alone,
            };
            let goes_on = self.sweep.launch(launch, place, stop_rule)?;
            drop((shared, alone));
            if !goes_on {
                return Ok(false);
            }
        }
        if order.len() > 1 {
            self.compare(launch)?;
        }
        Ok(true)
    }

    /// What was measured beside that many others, or alone.
    fn sums(&self, launch: &Launch, jobs: usize, is_alone: bool) -> Result<Option<SliceSums>> {
        let run_dir = self.sweep.run_dir(launch, is_alone);
        let row = run_dir
            .row()
            .filter(|row| row.is_measured() && row.config.jobs == Some(jobs));
        if row.is_none() {
            return Ok(None);
        }
        let by_variant = slow_polls::read(&run_dir.done(), self.sweep.config.variants.len())?;
        Ok(by_variant.into_iter().reduce(SliceSums::plus))
    }

    fn compare(&self, launch: &Launch) -> Result<()> {
        let mut pairs = self.pairs.lock().unwrap_or_else(PoisonError::into_inner);
        let running = self.running.load(Relaxed);
        let (Some(beside), Some(alone)) = (
            self.sums(launch, running, false)?,
            self.sums(launch, 1, true)?,
        ) else {
            return Ok(());
        };
        pairs.push([beside, alone]);
        if let Some(it) = BesideOthers::of(&pairs).iter().find(|it| it.disturbs()) {
            let left = running / 2;
            self.running.store(left, Relaxed);
            self.sweep.state().progress.warn(&format!(
                "{running} jobs disturb each other: {} is {:+.1} % [{:+.1}, {:+.1}] beside others, and the limit is {LIMIT_PERCENT} %; {left} go on",
                it.quantity, it.percent, it.interval.0, it.interval.1
            ));
            pairs.clear();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::{path::Path, time::Duration};

    use run_format::{
        config::SweepConfig,
        files::{MANIFEST, read_versioned},
        grid::Axes,
        manifest::Manifest,
        network::Rtt,
        payload::Payload,
    };

    use super::*;
    use crate::sweep::schedule::schedule;

    /// The default grid, with three runs of each cell.
    fn config() -> SweepConfig {
        let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixture");
        let manifest: Manifest = read_versioned(&fixture.join(MANIFEST)).expect("the fixture");
        let rtts = [0.0, 5.0, 25.0, 50.0, 100.0, 200.0];
        SweepConfig {
            max_cell_ms: None,
            repeat: 3,
            axes: Axes {
                peers: vec![1, 2, 5, 10, 15],
                rtt_ms: rtts.map(|ms| Rtt::from_ms(ms).expect("a time")).into(),
                payload_bytes: [4, 16, 64, 256].map(Payload::kib).into(),
                only: Vec::new(),
            },
            ..manifest.config
        }
    }

    /// METHODS.md has this table.
    #[test]
    fn the_time_with_many_jobs_is_the_documented_one() {
        let methods = include_str!("../../../analysis/METHODS.md");
        let config = config();
        let launches = schedule(&config);
        let mut table = String::new();
        for jobs in [1, 2, 8, 32, 64] {
            let place = config.lab.placement.clone();
            let alone = plan::jobs::in_places(vec![place; jobs], launches.len()).alone;
            let alone = if jobs > 1 { alone } else { 0 };
            let mut free = vec![Duration::ZERO; jobs];
            for (number, launch) in launches.iter().enumerate() {
                let takes = launch.longest(&config);
                *free.iter_mut().min().expect("a job") += takes;
                if pair_of(number, alone, launches.len()).is_some() {
                    let end = takes + *free.iter().max().expect("a job");
                    free.fill(end);
                }
            }
            let end = *free.iter().max().expect("a job");
            table += &format!("| {jobs} | {alone} | {:.0} |\n", end.as_secs_f64() / 60.0);
        }
        assert!(methods.contains(&table), "{table}");
    }
}
