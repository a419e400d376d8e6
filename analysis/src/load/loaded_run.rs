//! A run and its slices in memory.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use run_format::counts::Counts;
use run_format::{
    BandRow, BlockRow, BoundRow, ChildRow, Disturbance, HistogramOf, IdleRow, PeerRow, QuicRow,
    RunRow, Site, SiteRow, SliceRow, TurnRow, WorkRow, WorkerRow,
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
    /// Of which no peers are known, and requests only if it counts them.
    pub(crate) is_application: bool,
    pub(crate) slices: Vec<LoadedSlice>,
    /// The complete blocks: in each the slices of every variant, by variant.
    pub(crate) blocks: Vec<Vec<usize>>,
    pub(crate) machine: Vec<BlockRow>,
    /// What was seen before there were requests. Runs of `rr` and of applications have none.
    pub(crate) idle: Option<IdleRow>,
    /// The CPU time that the benchmark itself uses in each nanosecond on central's threads. None without `idle.csv`.
    pub(crate) own_cpu_share: Option<f64>,
    pub(crate) work: Vec<WorkRow>,
    /// Complete blocks that are not in `blocks` because they were disturbed.
    pub(crate) set_aside: Disturbances,
}

impl LoadedRun {
    /// The machine, if it is not said for the whole sweep.
    pub(crate) fn host(&self) -> Option<String> {
        self.row.as_ref()?.machine.as_ref().map(text::host)
    }

    /// The part of central's CPU time that is the benchmark's own. Zero if that is not known.
    pub(crate) fn own_cpu_part(&self) -> f64 {
        let rows = self.slices.iter().map(|slice| &slice.row);
        let rows = rows.filter_map(|row| Some((row.sampled_ms, row.central_cpu_ns? as f64)));
        let (ms, cpu_ns) = rows.fold((0.0, 0.0), |sum, of| (sum.0 + of.0, sum.1 + of.1));
        self.own_cpu_share.unwrap_or(0.0) * ms * NS_PER_MS / cpu_ns
    }

    /// Those that it recorded, which are the same in every slice.
    pub(crate) fn sites(&self) -> Vec<Site> {
        let first = self.slices.first().into_iter();
        first
            .flat_map(LoadedSlice::sites)
            .map(|site| site.row.site)
            .collect()
    }

    pub(crate) fn has_workers(&self) -> bool {
        self.slices.iter().any(|slice| !slice.workers.is_empty())
    }
}

/// A quarter of a second without requests does not say it well. Programs that are alive together run the same code of the
/// benchmark, so each gets their mean, and no difference between programs comes from there.
pub(crate) fn set_own_cpu(runs: &mut [LoadedRun]) {
    let share = |idle: IdleRow| Some(idle.central_cpu_ns? as f64 / (idle.duration_ms * NS_PER_MS));
    let shares = runs.iter().map(|it| (it.number, it.idle.and_then(share)));
    let shares: Vec<_> = shares.collect();
    for run in runs {
        let together = shares.iter().filter(|(number, _)| *number == run.number);
        run.own_cpu_share = mean(together.filter_map(|(_, share)| *share));
    }
}

#[derive(Clone, Debug)]
pub(crate) struct LoadedSlice {
    pub(crate) row: SliceRow,
    pub(crate) sites: [Option<LoadedSite>; Site::ALL.len()],
    /// Those that are not of a site. Waits of the co-tenant are above the floor: less the median wait before there were
    /// requests.
    pub(crate) histograms: HashMap<HistogramOf, Counts>,
    /// Polls of connections by when they began, counted from the change of variant.
    pub(crate) after_switch: Vec<TurnRow>,
    pub(super) peers: Vec<PeerRow>,
    pub(crate) workers: Vec<WorkerRow>,
    pub(crate) quic: Option<QuicRow>,
}

#[derive(Clone, Debug)]
pub(crate) struct LoadedSite {
    pub(crate) row: SiteRow,
    /// Their own time.
    pub(crate) duration_ns: Counts,
    /// Only of the baseline, to see which slow polls a budget could not have prevented.
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

    /// None of a site that was not recorded.
    pub(crate) fn counts(&self, of: HistogramOf) -> Option<&Counts> {
        match of {
            HistogramOf::Polls(site) => Some(&self.site(site)?.duration_ns),
            HistogramOf::LongestIteration(site) => self.site(site)?.longest_iteration_ns.as_ref(),
            of => Some(self.histogram(of)),
        }
    }

    /// A histogram without values is not in the log.
    pub(crate) fn histogram(&self, of: HistogramOf) -> &Counts {
        static EMPTY: Counts = Counts::EMPTY;
        self.histograms.get(&of).unwrap_or(&EMPTY)
    }

    /// Records that found a buffer full.
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
