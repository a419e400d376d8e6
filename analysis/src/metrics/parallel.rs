//! Collects what ran at the same time: runs that were measured beside others and again alone, and the workers of central.

use std::borrow::Cow;
use std::collections::BTreeMap;

use anyhow::Result;
use run_format::HistogramOf::{CotenantSameWorker, CotenantWake};
use run_format::WorkerRow;
use run_format::counts::Counts;
use run_format::plan::sums::{SliceSums, sums_by_variant};

use super::SweepSetup;
use crate::load::{CellRuns, LoadedRun, RunFiles};
use crate::stats::{self, AlonePair, GroupCounts};

#[derive(Clone, Debug, Default)]
pub(crate) struct JobsOfCell {
    /// The number of runs by how many runs were measured at the same time, themselves included.
    pub(crate) runs: BTreeMap<usize, usize>,
    pub(crate) pairs: Vec<AlonePair>,
}

pub(super) fn jobs(files: &CellRuns, variants: usize) -> Result<JobsOfCell> {
    let jobs_of = |file: &RunFiles| {
        let row = file.row.as_ref().filter(|row| row.is_measured());
        row.and_then(|row| row.config.jobs)
    };
    let mut cell = JobsOfCell::default();
    for beside in &files.runs {
        let Some(jobs_beside) = jobs_of(beside) else {
            continue;
        };
        *cell.runs.entry(jobs_beside).or_default() += 1;
        let is_same =
            |file: &&RunFiles| (file.subject, file.number) == (beside.subject, beside.number);
        let alone = files.alone.iter().find(is_same);
        if let Some(alone) = alone.filter(|file| jobs_of(file).is_some()) {
            let sum = |file: &RunFiles| -> Result<SliceSums> {
                let by_variant = sums_by_variant(&file.dir, variants)?.into_iter();
                Ok(by_variant.reduce(SliceSums::plus).unwrap_or_default())
            };
            cell.pairs.push(AlonePair {
                beside: sum(beside)?,
                alone: sum(alone)?,
            });
        }
    }
    Ok(cell)
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Workers {
    /// The sums of each thread. The first one is the main thread.
    pub(crate) threads: Vec<WorkerRow>,
    pub(crate) sampled_ms: f64,
    /// The delays of the co-tenant that another thread wakes. Any worker may run it.
    pub(crate) any_worker_ns: Counts,
    /// The delays of the co-tenant that a connection wakes. It runs on the connection's worker.
    pub(crate) same_worker_ns: Counts,
}

/// The workers by variant of every subject. Empty if central has one worker.
pub(super) fn workers(runs: &[LoadedRun], setup: &SweepSetup) -> Vec<Workers> {
    if !runs.iter().any(LoadedRun::has_workers) {
        return Vec::new();
    }
    let mut all = vec![Workers::default(); setup.variants().len()];
    for run in runs {
        let indices = run.blocks.iter().flat_map(|block| &block.slices);
        for slice in indices.map(|index| &run.slices[*index]) {
            all[run.subject * setup.variants_per_subject + slice.row.variant].add(&Workers {
                threads: slice.workers.clone(),
                sampled_ms: slice.row.sampled_ms,
                any_worker_ns: slice.histogram(CotenantWake).clone(),
                same_worker_ns: slice.histogram(CotenantSameWorker).clone(),
            });
        }
    }
    all
}

impl Workers {
    pub(crate) fn add(&mut self, other: &Workers) {
        for (worker, row) in other.threads.iter().enumerate() {
            match self.threads.get_mut(worker) {
                Some(sum) => add(sum, row),
                None => self.threads.push(row.clone()),
            }
        }
        self.sampled_ms += other.sampled_ms;
        self.any_worker_ns = Counts::sum(&[&self.any_worker_ns, &other.any_worker_ns]);
        self.same_worker_ns = Counts::sum(&[&self.same_worker_ns, &other.same_worker_ns]);
    }

    /// The 90th percentile of a co-tenant's delays. None if there are too few.
    pub(crate) fn p90_us(delays_ns: &Counts) -> Option<f64> {
        let all = [GroupCounts::new(vec![Cow::Borrowed(delays_ns)])];
        Some(stats::quantile(&all, 0.9)?.value / 1e3)
    }
}

fn add(sum: &mut WorkerRow, other: &WorkerRow) {
    let both = |one: Option<u64>, other: Option<u64>| Some(one? + other?);
    // Cells that are measured at the same time have different cores.
    if sum.cores != other.cores {
        sum.cores = None;
    }
    sum.polls += other.polls;
    sum.slow_polls += other.slow_polls;
    sum.poll_ns += other.poll_ns;
    sum.cpu_ns = both(sum.cpu_ns, other.cpu_ns);
    sum.runqueue_ns = both(sum.runqueue_ns, other.runqueue_ns);
}
