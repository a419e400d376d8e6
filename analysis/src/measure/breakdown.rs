//! How the time of polls is divided between children.

use std::collections::BTreeMap;

use run_format::{BANDS_FROM_NS, Pass, Site};

use crate::load::{LoadedRun, LoadedSlice};

/// The name of a site's own code among its children.
pub(crate) const OWN: &str = "own code";

/// The lowest band whose polls count as slow in tables by band: the first that is not below the threshold.
pub(crate) fn slow_from_ns(threshold_ns: u64) -> Option<u64> {
    let mut bands = BANDS_FROM_NS.into_iter();
    bands.find(|from_ns| *from_ns >= threshold_ns)
}

/// The times of the baseline in one cell, in nanoseconds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Breakdown {
    /// The time of polls by child. The second part of a key says whether the polls are slow.
    pub(crate) times: BTreeMap<(Site, bool, String), i64>,
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
            for loaded in slice.sites() {
                let site = loaded.row.site;
                let mut add = |from_ns: u64, child: &str, ns: i64| {
                    let key = (site, from_ns >= slow_from_ns, child.to_owned());
                    *breakdown.times.entry(key).or_default() += ns;
                };
                for band in &loaded.bands {
                    // Iterations are absent if the loops of the site are not marked. Then its children are not known either.
                    // Sites of QUIC have no such loops.
                    let is_known = band.iterations.is_some() || site.is_of_quic();
                    // In a launch without children all time would count as the site's own code.
                    if is_known && slice.row.pass == Pass::Children && has_children {
                        add(band.from_ns, OWN, signed(band.ns));
                    }
                }
                // The time of a poll without its children is the site's own code.
                for child in &loaded.children {
                    add(child.from_ns, OWN, -signed(child.ns));
                    add(child.from_ns, &child.child, signed(child.ns));
                    let key = (site, child.child.to_string());
                    *breakdown.beyond.entry(key).or_default() += child.beyond_ns;
                }
            }
        }
    }
    breakdown
}

/// Times are signed, because clock errors can make children longer than their poll.
fn signed(ns: u64) -> i64 {
    i64::try_from(ns).unwrap_or(i64::MAX)
}
