//! What each worker of central did, where there are several. Sums over complete blocks.

use std::borrow::Cow;

use run_format::histogram_tag::HistogramOf::{CotenantSameWorker, CotenantWake};
use run_format::tables::WorkerRow;

use crate::load::LoadedRun;
use crate::stats::{self, Counts, LaunchCounts};

#[derive(Clone, Debug, Default)]
pub(crate) struct Workers {
    /// Sums. The first is the main thread.
    pub(crate) threads: Vec<WorkerRow>,
    pub(crate) sampled_ms: f64,
    /// How late co-tenants ran: one that another thread wakes, so that any worker may run it, and one that a connection
    /// wakes on its own worker.
    pub(crate) any_worker_ns: Counts,
    pub(crate) same_worker_ns: Counts,
}

/// By variant of every subject. Empty where central has one worker.
pub(super) fn of(runs: &[LoadedRun], budgets: usize, subjects: usize) -> Vec<Workers> {
    if !runs.iter().any(LoadedRun::has_workers) {
        return Vec::new();
    }
    let mut all = vec![Workers::default(); budgets * subjects];
    for run in runs {
        for slice in run.blocks.iter().flatten().map(|at| &run.slices[*at]) {
            all[run.subject * budgets + slice.row.variant].add(&Workers {
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
        for (at, row) in other.threads.iter().enumerate() {
            match self.threads.get_mut(at) {
                Some(sum) => add(sum, row),
                None => self.threads.push(row.clone()),
            }
        }
        self.sampled_ms += other.sampled_ms;
        self.any_worker_ns = Counts::sum(&[&self.any_worker_ns, &other.any_worker_ns]);
        self.same_worker_ns = Counts::sum(&[&self.same_worker_ns, &other.same_worker_ns]);
    }

    /// Of a co-tenant's delays. None of too few.
    pub(crate) fn p90_us(delays_ns: &Counts) -> Option<f64> {
        let all = [LaunchCounts::of(vec![Cow::Borrowed(delays_ns)])];
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
