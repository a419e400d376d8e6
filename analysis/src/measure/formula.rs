//! The formulas of metrics: each is a ratio of two sums over slices, or a quantile.

use run_format::{Site, tables::QuicRow};

use super::metric::{Metric, What};
use crate::{
    load::slice::{LoadedSite, LoadedSlice},
    stats::{Counts, RatioKind, RatioPart},
};

type OfSlice<T> = Box<dyn Fn(&LoadedSlice) -> Option<T> + Sync>;

/// The formula of a metric, in events, seconds and nanoseconds. The `scale` of its facts converts it to its unit.
pub(crate) enum MetricFormula {
    /// The sum of the numerators over the sum of the denominators.
    Ratio {
        /// None if the slice did not measure it.
        parts: OfSlice<RatioPart>,
        kind: RatioKind,
    },
    Quantile {
        of: Distribution,
        at: f64,
    },
}

/// The values that slices count in histograms.
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

    /// None if the slice did not measure it.
    pub(crate) fn of(self, slice: &LoadedSlice) -> Option<&Counts> {
        match self {
            Distribution::PollDuration(site) => slice.site(site).map(|of| &of.duration_ns),
            Distribution::CotenantWake => Some(&slice.cotenant_wake_ns),
            Distribution::CotenantTimer => Some(&slice.cotenant_timer_ns),
            Distribution::Latency => Some(&slice.latency_ns),
        }
    }
}

impl MetricFormula {
    /// A poll is slow if it takes longer than `threshold_ns`.
    pub(crate) fn of(what: What, threshold_ns: u64) -> MetricFormula {
        match what.site {
            Some(site) => of_site(site, what.metric, threshold_ns),
            None => of_worker(what.metric, threshold_ns),
        }
    }
}

fn of_site(site: Site, metric: Metric, threshold_ns: u64) -> MetricFormula {
    let slow = move |of: &LoadedSite| of.duration_ns.above(threshold_ns) as f64;
    let polls = |of: &LoadedSite| of.row.polls as f64;
    match metric {
        Metric::SlowPercent => by_site(RatioKind::Share, site, move |of, _| (slow(of), polls(of))),
        Metric::SlowMsPerS => by_site(RatioKind::Amount, site, move |of, slice| {
            let slow_ns = of.duration_ns.sum_above(threshold_ns);
            (slow_ns as f64, seconds(slice))
        }),
        Metric::SlowPerRequest => by_site(RatioKind::Count, site, move |of, slice| {
            (slow(of), slice.row.requests as f64)
        }),
        Metric::PollsPerRequest => by_site(RatioKind::Amount, site, move |of, slice| {
            (polls(of), slice.row.requests as f64)
        }),
        Metric::IterationsPerPoll => ratio(RatioKind::Amount, move |slice| {
            let of = slice.site(site)?;
            Some((of.row.iterations? as f64, polls(of)))
        }),
        Metric::YieldsPer1000 => by_site(RatioKind::Share, site, move |of, _| {
            (of.row.yielded as f64, polls(of))
        }),
        Metric::SingleIterationPercent => ratio(RatioKind::Share, move |slice| {
            let of = slice.site(site)?;
            let longest = of.longest_iteration_ns.as_ref()?;
            Some((longest.above(threshold_ns) as f64, slow(of)))
        }),
        _ => quantile(0.99, Distribution::PollDuration(site)),
    }
}

fn of_worker(metric: Metric, threshold_ns: u64) -> MetricFormula {
    match metric {
        // The threshold is that of slow polls: a wake-up later than this waited for one. A share has a
        // narrower interval than a percentile.
        Metric::CotenantLatePercent => ratio(RatioKind::Share, move |slice| {
            let wakes = &slice.cotenant_wake_ns;
            Some((wakes.above(threshold_ns) as f64, wakes.total() as f64))
        }),
        Metric::CotenantP90Us => quantile(0.9, Distribution::CotenantWake),
        Metric::CotenantP99Us => quantile(0.99, Distribution::CotenantWake),
        Metric::TimerP99Us => quantile(0.99, Distribution::CotenantTimer),
        Metric::LatencyP50Ms => quantile(0.5, Distribution::Latency),
        Metric::LatencyP99Ms => quantile(0.99, Distribution::Latency),
        Metric::CpuUsPerRequest => ratio(RatioKind::Amount, |slice| {
            Some((slice.row.central_cpu_ns? as f64, sampled_requests(slice)))
        }),
        Metric::QuicRttMs => of_quic(RatioKind::Amount, |it, _| (it.rtt_ns, 1.0)),
        Metric::QuicDatagramsPerSend => of_quic(RatioKind::Amount, |it, _| {
            (it.datagrams_sent, it.send_calls as f64)
        }),
        Metric::QuicDatagramsPerReceive => of_quic(RatioKind::Amount, |it, _| {
            (it.datagrams_received, it.receive_calls as f64)
        }),
        Metric::QuicAcksSentPerRequest => of_quic(RatioKind::Amount, |it, slice| {
            (it.acks_sent, sampled_requests(slice))
        }),
        Metric::QuicAcksReceivedPerRequest => of_quic(RatioKind::Amount, |it, slice| {
            (it.acks_received, sampled_requests(slice))
        }),
        Metric::QuicLostPercent => of_quic(RatioKind::Share, |it, _| {
            (it.packets_lost, it.packets_sent as f64)
        }),
        Metric::QuicCongestionPerS => of_quic(RatioKind::Count, |it, slice| {
            (it.congestion_events, slice.row.sampled_ms / 1000.0)
        }),
        _ => ratio(RatioKind::Amount, |slice| {
            Some((slice.row.requests as f64, seconds(slice)))
        }),
    }
}

fn of_quic(
    kind: RatioKind,
    parts: impl Fn(&QuicRow, &LoadedSlice) -> (u64, f64) + Sync + 'static,
) -> MetricFormula {
    ratio(kind, move |slice| {
        let (num, den) = parts(slice.quic.as_ref()?, slice);
        Some((num as f64, den))
    })
}

/// In the time between readings, which span a little more than the slice.
fn sampled_requests(slice: &LoadedSlice) -> f64 {
    slice.row.requests as f64 * slice.row.sampled_ms / slice.row.duration_ms
}

fn seconds(slice: &LoadedSlice) -> f64 {
    slice.row.duration_ms / 1000.0
}

fn by_site(
    kind: RatioKind,
    site: Site,
    parts: impl Fn(&LoadedSite, &LoadedSlice) -> (f64, f64) + Sync + 'static,
) -> MetricFormula {
    ratio(kind, move |slice| {
        slice.site(site).map(|of| parts(of, slice))
    })
}

fn ratio(
    kind: RatioKind,
    parts: impl Fn(&LoadedSlice) -> Option<(f64, f64)> + Sync + 'static,
) -> MetricFormula {
    MetricFormula::Ratio {
        parts: Box::new(move |slice| parts(slice).map(|(num, den)| RatioPart { num, den })),
        kind,
    }
}

fn quantile(at: f64, of: Distribution) -> MetricFormula {
    MetricFormula::Quantile { of, at }
}
