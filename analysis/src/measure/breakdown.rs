//! The time of polls by child.

use std::collections::BTreeMap;

use run_format::{
    Site,
    tables::{BANDS_FROM_NS, Pass},
};

use crate::load::loaded_run::LoadedRun;

/// The name of a site's own code among its children.
pub(crate) const OWN: &str = "own code";

/// The lowest band whose polls count as slow in tables by band: the first that is not below the threshold.
pub(crate) fn slow_from_ns(threshold_ns: u64) -> Option<u64> {
    BANDS_FROM_NS
        .into_iter()
        .find(|from_ns| *from_ns >= threshold_ns)
}

/// Of the baseline in one cell. The second part of a key says whether the polls are slow.
#[derive(Clone, Debug, Default)]
pub(crate) struct Breakdown {
    /// The time of polls by child, in nanoseconds.
    pub(crate) children: BTreeMap<(Site, bool, String), i64>,
}

impl Breakdown {
    pub(crate) fn of(runs: &[&LoadedRun], threshold_ns: u64) -> Breakdown {
        let mut breakdown = Breakdown::default();
        for run in runs {
            // With a threshold above all bands, no poll is known to be slow.
            breakdown.add(run, slow_from_ns(threshold_ns).unwrap_or(u64::MAX));
        }
        breakdown
    }

    fn add(&mut self, run: &LoadedRun, slow_from_ns: u64) {
        let is_slow = |from_ns: u64| from_ns >= slow_from_ns;
        let sites = || {
            run.slices
                .iter()
                .flat_map(|slice| slice.sites().map(move |site| (slice, site)))
        };
        let has_children = sites().any(|(_, site)| !site.children.is_empty());
        for (slice, of_site) in sites() {
            let site = of_site.row.site;
            for band in &of_site.bands {
                // Null where the loops of the site are not marked. Then its children are not known either, but for sites
                // that have no loop.
                let is_known = band.iterations.is_some() || site.is_of_quic();
                // Without children all time would count as the site's own code.
                if is_known && slice.row.pass == Pass::Children && has_children {
                    *self.own(site, is_slow(band.from_ns)) += signed(band.ns);
                }
            }
            // The time of a poll without its children is the site's own code.
            for child in &of_site.children {
                let slow = is_slow(child.from_ns);
                *self.own(site, slow) -= signed(child.ns);
                let key = (site, slow, child.child.to_string());
                *self.children.entry(key).or_default() += signed(child.ns);
            }
        }
    }

    fn own(&mut self, site: Site, slow: bool) -> &mut i64 {
        let key = (site, slow, OWN.to_owned());
        self.children.entry(key).or_default()
    }
}

/// Signed, since clock errors can make children longer than their poll.
fn signed(ns: u64) -> i64 {
    i64::try_from(ns).unwrap_or(i64::MAX)
}
