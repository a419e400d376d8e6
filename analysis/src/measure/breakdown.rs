//! Where the time of a cell goes: by child, by iterations, and by percentile.

use std::collections::BTreeMap;

use crate::{
    load::{run::Run, slice::Pass},
    site::Site,
    stats::{Counts, Histogram, Launch},
};

/// The lower ends of the bands of `bands.csv` and `children.csv`.
const BANDS_FROM_NS: [u64; 10] = [
    0, 10_000, 25_000, 50_000, 75_000, 100_000, 150_000, 200_000, 500_000, 1_000_000,
];

/// What stands for a site's own code among its children.
pub(crate) const OWN: &str = "own code";

/// The band from which on polls count as slow in the tables that know bands only: the first that is
/// not below the threshold.
pub(crate) fn slow_from_ns(threshold_ns: u64) -> Option<u64> {
    BANDS_FROM_NS
        .into_iter()
        .find(|from_ns| *from_ns >= threshold_ns)
}

/// Of the baseline in one cell; may be added to that of others. A poll is slow or not, which is what the
/// second part of a key says.
#[derive(Clone, Debug, Default)]
pub(crate) struct Breakdown {
    /// The time of polls by child, in nanoseconds.
    pub(crate) children: BTreeMap<(Site, bool, String), i64>,
    /// Polls by how often they iterated.
    pub(crate) iterations: BTreeMap<(Site, bool, u64), u64>,
}

impl Breakdown {
    pub(crate) fn of(runs: &[&Run], threshold_ns: u64) -> Breakdown {
        let mut breakdown = Breakdown::default();
        for run in runs {
            // Above all bands nothing is known to be slow.
            breakdown.add(run, slow_from_ns(threshold_ns).unwrap_or(u64::MAX));
        }
        breakdown
    }

    fn add(&mut self, run: &Run, slow_from_ns: u64) {
        let is_slow = |from_ns: u64| from_ns >= slow_from_ns;
        for it in &run.bands {
            let slice = &run.slices[it.slice];
            let slow = is_slow(it.from_ns);
            match slice.pass {
                Pass::Compare if slice.variant == 0 => {
                    let key = (it.site, slow, it.iterations);
                    *self.iterations.entry(key).or_default() += it.polls;
                }
                Pass::Compare => {}
                // Without children all time would look like the site's own.
                Pass::Children if run.children.is_empty() => {}
                Pass::Children => *self.own(it.site, slow) += signed(it.ns),
            }
        }
        // What children leave of the polls around them is the site's own code.
        for it in &run.children {
            let slow = is_slow(it.from_ns);
            *self.own(it.site, slow) -= signed(it.ns);
            let key = (it.site, slow, it.child.clone());
            *self.children.entry(key).or_default() += signed(it.ns);
        }
    }

    fn own(&mut self, site: Site, slow: bool) -> &mut i64 {
        let key = (site, slow, OWN.to_owned());
        self.children.entry(key).or_default()
    }
}

/// What is left of a poll may be less than nothing by what clocks are off.
fn signed(ns: u64) -> i64 {
    i64::try_from(ns).unwrap_or(i64::MAX)
}

/// Percentiles of the duration of polls.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Curve {
    pub(crate) variant: usize,
    pub(crate) site: Site,
    /// Share of polls not above, and duration in µs.
    pub(crate) points: Vec<(f64, f64)>,
}

impl Curve {
    /// From 0 to where two polls are left.
    pub(crate) fn of(variant: usize, site: Site, launches: &[Launch<'_>]) -> Option<Curve> {
        const POINTS_PER_HALVING: f64 = 4.0;
        let durations: Vec<&Counts> = launches.iter().map(Launch::sum).collect();
        let histogram = Histogram::merged(&durations)?;
        let halvings = (histogram.total() / 2.0).log2().max(0.0);
        let steps = (halvings * POINTS_PER_HALVING).floor() as u32;
        let points = (0..=steps).map(|step| {
            let share = 1.0 - 0.5f64.powf(f64::from(step) / POINTS_PER_HALVING);
            (share, histogram.quantile(share) / 1000.0)
        });
        Some(Curve {
            variant,
            site,
            points: points.collect(),
        })
    }
}
