//! How a metric is made of slices: a ratio of two sums, or a quantile.

use super::metric::{Metric, What};
use crate::{
    load::slice::{SiteSlice, Slice},
    site::Site,
    stats::{Counts, Kind, Part},
};

type OfSlice<T> = Box<dyn Fn(&Slice) -> Option<T> + Sync>;

/// How a metric is made, of events, seconds and nanoseconds; [`scale`] brings it to its unit.
pub(crate) enum Quantity {
    /// The sum of the numerators over the sum of the denominators.
    Ratio {
        /// Absent where the slice could not measure it.
        parts: OfSlice<Part>,
        kind: Kind,
    },
    Quantile {
        of: Distribution,
        at: f64,
    },
}

/// What slices count by value.
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

    /// Absent where the slice could not measure it.
    pub(crate) fn of(self, slice: &Slice) -> Option<&Counts> {
        match self {
            Distribution::PollDuration(site) => slice.site(site).map(|of| &of.duration_ns),
            Distribution::CotenantWake => Some(&slice.cotenant_wake_ns),
            Distribution::CotenantTimer => Some(&slice.cotenant_timer_ns),
            Distribution::Latency => Some(&slice.latency_ns),
        }
    }
}

impl Quantity {
    /// Of polls that are slow if they take longer than `threshold_ns`.
    pub(crate) fn of(what: What, threshold_ns: u64) -> Quantity {
        match what.site {
            Some(site) => of_site(site, what.metric, threshold_ns),
            None => of_worker(what.metric, threshold_ns),
        }
    }
}

/// From what is counted to the metric's unit.
pub(crate) fn scale(metric: Metric) -> f64 {
    const PERCENT: f64 = 100.0;
    const US_BY_NS: f64 = 1e-3;
    const MS_BY_NS: f64 = 1e-6;
    match metric {
        Metric::SlowPercent | Metric::SingleIterationPercent | Metric::CotenantLatePercent => {
            PERCENT
        }
        Metric::YieldsPer1000 => 1000.0,
        Metric::PollP99Us
        | Metric::CotenantP90Us
        | Metric::CotenantP99Us
        | Metric::TimerP99Us
        | Metric::CpuUsPerRequest => US_BY_NS,
        Metric::LatencyP50Ms | Metric::LatencyP99Ms | Metric::SlowMsPerS => MS_BY_NS,
        Metric::SlowPerRequest
        | Metric::PollsPerRequest
        | Metric::IterationsPerPoll
        | Metric::RequestsPerS => 1.0,
    }
}

fn of_site(site: Site, metric: Metric, threshold_ns: u64) -> Quantity {
    let slow = move |of: &SiteSlice| of.duration_ns.above(threshold_ns) as f64;
    let polls = |of: &SiteSlice| of.polls as f64;
    match metric {
        Metric::SlowPercent => by_site(Kind::Share, site, move |of, _| (slow(of), polls(of))),
        Metric::SlowMsPerS => by_site(Kind::Amount, site, move |of, slice| {
            let slow_ns = of.duration_ns.sum_above(threshold_ns);
            (slow_ns as f64, seconds(slice))
        }),
        Metric::SlowPerRequest => by_site(Kind::Count, site, move |of, slice| {
            (slow(of), slice.requests as f64)
        }),
        Metric::PollsPerRequest => by_site(Kind::Amount, site, move |of, slice| {
            (polls(of), slice.requests as f64)
        }),
        Metric::IterationsPerPoll => by_site(Kind::Amount, site, move |of, _| {
            (of.iterations as f64, polls(of))
        }),
        Metric::YieldsPer1000 => by_site(Kind::Share, site, move |of, _| {
            (of.yielded as f64, polls(of))
        }),
        Metric::SingleIterationPercent => ratio(Kind::Share, move |slice| {
            let of = slice.site(site)?;
            let longest = of.longest_iteration_ns.as_ref()?;
            Some((longest.above(threshold_ns) as f64, slow(of)))
        }),
        _ => quantile(0.99, Distribution::PollDuration(site)),
    }
}

fn of_worker(metric: Metric, threshold_ns: u64) -> Quantity {
    match metric {
        // Later than one slow poll may be: by this a co-tenant is kept waiting, and unlike a percentile
        // it is a share, which is known well.
        Metric::CotenantLatePercent => ratio(Kind::Share, move |slice| {
            let wakes = &slice.cotenant_wake_ns;
            Some((wakes.above(threshold_ns) as f64, wakes.total() as f64))
        }),
        Metric::CotenantP90Us => quantile(0.9, Distribution::CotenantWake),
        Metric::CotenantP99Us => quantile(0.99, Distribution::CotenantWake),
        Metric::TimerP99Us => quantile(0.99, Distribution::CotenantTimer),
        Metric::LatencyP50Ms => quantile(0.5, Distribution::Latency),
        Metric::LatencyP99Ms => quantile(0.99, Distribution::Latency),
        // CPU time spans a little more than the slice.
        Metric::CpuUsPerRequest => ratio(Kind::Amount, |slice| {
            let requests = slice.requests as f64 * slice.sampled_ms / slice.duration_ms;
            Some((slice.central_cpu_ns? as f64, requests))
        }),
        _ => ratio(Kind::Amount, |slice| {
            Some((slice.requests as f64, seconds(slice)))
        }),
    }
}

fn seconds(slice: &Slice) -> f64 {
    slice.duration_ms / 1000.0
}

fn by_site(
    kind: Kind,
    site: Site,
    parts: impl Fn(&SiteSlice, &Slice) -> (f64, f64) + Sync + 'static,
) -> Quantity {
    ratio(kind, move |slice| {
        slice.site(site).map(|of| parts(of, slice))
    })
}

fn ratio(kind: Kind, parts: impl Fn(&Slice) -> Option<(f64, f64)> + Sync + 'static) -> Quantity {
    Quantity::Ratio {
        parts: Box::new(move |slice| parts(slice).map(|(num, den)| Part { num, den })),
        kind,
    }
}

fn quantile(at: f64, of: Distribution) -> Quantity {
    Quantity::Quantile { of, at }
}
