//! A run and its slices in memory.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use run_format::counts::Counts;
use run_format::{
    BASELINE, BandRow, BlockRow, BoundRow, ChildRow, Disturbance, HistogramOf, IdleRow, PeerRow,
    QuicRow, RunRow, Site, SiteRow, SliceRow, TurnRow, WorkRow, WorkerRow,
};

use crate::stats::mean;
use crate::text;

const NS_PER_MS: f64 = 1e6;

pub(crate) type Disturbances = BTreeMap<Disturbance, usize>;

pub(crate) struct LoadedRun {
    pub(crate) dir: PathBuf,
    pub(crate) subject: usize,
    pub(crate) number: u32,
    pub(crate) row: Option<RunRow>,
    /// Whether an application wrote the run. Its peers are not known, and its requests only if it counts them.
    pub(crate) is_application: bool,
    pub(crate) slices: Vec<LoadedSlice>,
    pub(crate) blocks: Vec<CompleteBlock>,
    pub(crate) block_rows: Vec<BlockRow>,
    /// The row about the time before there were requests. Runs of `rr` and of applications have no such row.
    pub(crate) idle: Option<IdleRow>,
    /// The benchmark's own CPU time on central's threads, divided by the time that passed. None without `idle.csv`.
    pub(crate) benchmark_cpu_per_time: Option<f64>,
    pub(crate) work: Vec<WorkRow>,
    /// The number of complete blocks that are not in `blocks` because they were disturbed.
    pub(crate) set_aside: Disturbances,
}

/// A block in which every variant of the run has a slice.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct CompleteBlock {
    pub(crate) number: u32,
    /// The indices of its slices in the run, by variant.
    pub(crate) slices: Vec<usize>,
}

impl CompleteBlock {
    pub(crate) fn baseline(&self) -> usize {
        self.slices[BASELINE]
    }
}

impl LoadedRun {
    /// The host of the run. None if the sweep names the machine for all its runs.
    pub(crate) fn host(&self) -> Option<String> {
        self.row.as_ref()?.machine.as_ref().map(text::host)
    }

    /// The share of central's CPU time that is the benchmark's own. Zero if that is not known.
    pub(crate) fn benchmark_share_of_cpu(&self) -> f64 {
        let (mut ms, mut cpu_ns) = (0.0, 0.0);
        for row in self.rows() {
            if let Some(ns) = row.central_cpu_ns {
                ms += row.sampled_ms;
                cpu_ns += ns as f64;
            }
        }
        match cpu_ns > 0.0 {
            true => self.benchmark_cpu_per_time.unwrap_or(0.0) * ms * NS_PER_MS / cpu_ns,
            false => 0.0,
        }
    }

    /// The sites that the run recorded. They are the same in every slice.
    pub(crate) fn sites(&self) -> Vec<Site> {
        let first = self.slices.first().into_iter();
        let sites = first.flat_map(LoadedSlice::sites);
        sites.map(|site| site.row.site).collect()
    }

    pub(crate) fn rows(&self) -> impl Iterator<Item = &SliceRow> + Clone {
        self.slices.iter().map(|slice| &slice.row)
    }

    pub(crate) fn has_workers(&self) -> bool {
        self.slices.iter().any(|slice| !slice.workers.is_empty())
    }
}

/// Sets the benchmark's own CPU time per time in every run. Gives all subjects of a launch the mean, so that noise in
/// this short measurement does not look like a difference between subjects.
pub(crate) fn set_benchmark_cpu(runs: &mut [LoadedRun]) {
    let share = |idle: IdleRow| Some(idle.central_cpu_ns? as f64 / (idle.duration_ms * NS_PER_MS));
    let numbered = |run: &LoadedRun| (run.number, run.idle.and_then(share));
    let shares: Vec<(u32, Option<f64>)> = runs.iter().map(numbered).collect();
    for run in runs {
        let of_launch = shares.iter().filter(|(number, _)| *number == run.number);
        run.benchmark_cpu_per_time = mean(of_launch.filter_map(|(_, share)| *share));
    }
}

#[derive(Clone, Debug)]
pub(crate) struct LoadedSlice {
    pub(crate) row: SliceRow,
    pub(crate) sites: [Option<LoadedSite>; Site::ALL.len()],
    /// The histograms that are not of a site. The floor, which is the median wait before there were requests, is subtracted
    /// from waits of the co-tenant.
    pub(crate) histograms: HashMap<HistogramOf, Counts>,
    /// The polls of connections, grouped by the time from the change of variant to their beginning.
    pub(crate) after_switch: Vec<TurnRow>,
    pub(super) peers: Vec<PeerRow>,
    pub(crate) workers: Vec<WorkerRow>,
    pub(crate) quic: Option<QuicRow>,
}

#[derive(Clone, Debug)]
pub(crate) struct LoadedSite {
    pub(crate) row: SiteRow,
    /// The own times of polls.
    pub(crate) duration_ns: Counts,
    /// The longest iterations of polls, which show which slow polls a budget could not have prevented. Only slices of the
    /// baseline have them.
    pub(crate) longest_iteration_ns: Option<Counts>,
    pub(crate) bands: Vec<BandRow>,
    pub(crate) children: Vec<ChildRow>,
    pub(crate) bounds: Vec<BoundRow>,
}

impl LoadedSlice {
    pub(crate) fn site(&self, site: Site) -> Option<&LoadedSite> {
        self.sites[site as usize].as_ref()
    }

    pub(crate) fn sites(&self) -> impl Iterator<Item = &LoadedSite> {
        self.sites.iter().flatten()
    }

    /// The values that the slice counted. None for a site that was not recorded.
    pub(crate) fn counts(&self, histogram: HistogramOf) -> Option<&Counts> {
        match histogram {
            HistogramOf::Polls(site) => Some(&self.site(site)?.duration_ns),
            HistogramOf::LongestIteration(site) => self.site(site)?.longest_iteration_ns.as_ref(),
            other => Some(self.histogram(other)),
        }
    }

    /// The values of a histogram. It is empty if the log does not have it.
    pub(crate) fn histogram(&self, histogram: HistogramOf) -> &Counts {
        static EMPTY: Counts = Counts::EMPTY;
        self.histograms.get(&histogram).unwrap_or(&EMPTY)
    }

    /// The number of records that found a buffer full.
    pub(crate) fn lost(&self) -> u64 {
        self.sites().map(LoadedSite::lost).sum::<u64>() + self.row.lost_entries
    }

    pub(super) fn polls_of_connections(&self) -> Option<u64> {
        let site = Site::of_connections(self.sites().map(|site| site.row.site));
        Some(self.site(site)?.row.polls)
    }
}

impl LoadedSite {
    /// Polls of the site and of its children that were not recorded because a buffer was full.
    pub(crate) fn lost(&self) -> u64 {
        self.row.lost + self.row.children_lost
    }
}
