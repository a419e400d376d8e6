//! How the time of polls is divided between children.

use std::collections::BTreeMap;

use run_format::{BANDS_FROM_NS, Pass, Site};

use crate::load::{LoadedRun, LoadedSite, LoadedSlice};

/// The name of a site's own code among its children.
pub(crate) const OWN: &str = "own code";

/// The lowest band whose polls count as slow in tables by band: the first that is not below the threshold.
pub(crate) fn slow_from_ns(threshold_ns: u64) -> Option<u64> {
    let mut bands = BANDS_FROM_NS.into_iter();
    bands.find(|from_ns| *from_ns >= threshold_ns)
}

/// The times of the baseline's polls in one cell, in nanoseconds, by site and child.
#[derive(Clone, Debug, Default)]
pub(crate) struct Breakdown {
    pub(crate) all_polls: BTreeMap<(Site, String), i64>,
    pub(crate) slow_polls: BTreeMap<(Site, String), i64>,
    /// The time of polls of children beyond their first 50 µs.
    pub(crate) beyond: BTreeMap<(Site, String), u64>,
}

pub(super) fn break_down(runs: &[&LoadedRun], threshold_ns: u64) -> Breakdown {
    // With a threshold above all bands, no poll is known to be slow.
    let slow_from_ns = slow_from_ns(threshold_ns).unwrap_or(u64::MAX);
    let mut breakdown = Breakdown::default();
    for run in runs {
        let mut sites = run.slices.iter().flat_map(LoadedSlice::sites);
        let has_children = sites.any(|site| !site.children.is_empty());
        for slice in &run.slices {
            // In a launch without children all time would count as the site's own code.
            let has_whole_polls = slice.row.pass == Pass::Children && has_children;
            for site in slice.sites() {
                breakdown.add(site, slow_from_ns, has_whole_polls);
            }
        }
    }
    breakdown
}

impl Breakdown {
    fn add(&mut self, loaded: &LoadedSite, slow_from_ns: u64, has_whole_polls: bool) {
        let site = loaded.row.site;
        let mut add = |from_ns: u64, child: &str, ns: i64| {
            let key = (site, child.to_owned());
            if from_ns >= slow_from_ns {
                *self.slow_polls.entry(key.clone()).or_default() += ns;
            }
            *self.all_polls.entry(key).or_default() += ns;
        };
        for band in &loaded.bands {
            // Iterations are absent if the loops of the site are not marked. Then its children are not known either. Sites of
            // QUIC have no such loops.
            let is_known = band.iterations.is_some() || site.is_of_quic();
            if is_known && has_whole_polls {
                add(band.from_ns, OWN, signed(band.ns));
            }
        }
        // The time of a poll without its children is the site's own code.
        for child in &loaded.children {
            add(child.from_ns, OWN, -signed(child.ns));
            add(child.from_ns, &child.child, signed(child.ns));
            let key = (site, child.child.to_string());
            *self.beyond.entry(key).or_default() += child.beyond_ns;
        }
    }
}

/// Times are signed, because clock errors can make children longer than their poll.
fn signed(ns: u64) -> i64 {
    i64::try_from(ns).unwrap_or(i64::MAX)
}
