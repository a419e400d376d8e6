//! A slice with its histograms.

use run_format::{
    Site,
    tables::{QuicRow, SiteRow, SliceRow, TurnRow},
};

use crate::stats::Counts;

#[derive(Clone, Debug)]
pub(crate) struct LoadedSlice {
    pub(crate) row: SliceRow,
    pub(crate) sites: [Option<LoadedSite>; Site::ALL.len()],
    pub(crate) latency_ns: Counts,
    pub(crate) cotenant_wake_ns: Counts,
    pub(crate) cotenant_timer_ns: Counts,
    /// Where central has several workers.
    pub(crate) cotenant_same_worker_ns: Counts,
    /// Polls of connections by when they began, counted from the change of variant.
    pub(crate) after_switch: Vec<TurnRow>,
    /// Of nodes that speak QUIC.
    pub(crate) quic: Option<QuicRow>,
}

#[derive(Clone, Debug)]
pub(crate) struct LoadedSite {
    pub(crate) row: SiteRow,
    pub(crate) duration_ns: Counts,
    /// Only of the baseline, to see which slow polls a budget could not have prevented.
    pub(crate) longest_iteration_ns: Option<Counts>,
}

impl LoadedSlice {
    pub(crate) fn site(&self, site: Site) -> Option<&LoadedSite> {
        self.sites[site as usize].as_ref()
    }

    pub(crate) fn of_connections(&self) -> Option<&LoadedSite> {
        let sites = self.sites.iter().flatten();
        self.site(Site::of_connections(sites.map(|it| it.row.site)))
    }
}

impl LoadedSite {
    /// Polls of the site and of its children that were not recorded because a buffer was full.
    pub(crate) fn lost(&self) -> u64 {
        self.row.lost + self.row.children_lost
    }
}
