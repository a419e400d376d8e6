//! The values that slices count in histograms.

use run_format::Site;

use crate::load::loaded_run::LoadedSlice;
use crate::stats::Counts;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Distribution {
    PollDuration(Site),
    CotenantWake,
    CotenantTimer,
    Latency,
}

impl Distribution {
    pub(crate) fn all() -> impl Iterator<Item = Distribution> {
        let of_worker = [
            Distribution::CotenantWake,
            Distribution::CotenantTimer,
            Distribution::Latency,
        ];
        let of_sites = Site::ALL.into_iter().map(Distribution::PollDuration);
        of_sites.chain(of_worker)
    }

    pub(crate) fn counts(self, slice: &LoadedSlice) -> Option<&Counts> {
        match self {
            Distribution::PollDuration(site) => slice.site(site).map(|site| &site.duration_ns),
            Distribution::CotenantWake => Some(&slice.cotenant_wake_ns),
            Distribution::CotenantTimer => Some(&slice.cotenant_timer_ns),
            Distribution::Latency => Some(&slice.latency_ns),
        }
    }
}
