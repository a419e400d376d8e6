//! The formulas of the metrics. Everything else about a metric is in `metrics.json`, in the same order. A metric of recorded
//! columns needs only an entry there and a formula here. Reports, the page, `summary.csv`, the help of `--metric` and
//! METRICS.md are made from them.

use run_format::HistogramOf::{self, CotenantTimer, CotenantWake, LastDelivery, Latency};
use run_format::QuicRow;

use crate::load::{LoadedRun, LoadedSite, LoadedSlice};
use crate::stats::RatioKind::{self, Amount, Count, Share};
use crate::stats::RatioPart;

const NS_PER_MS: f64 = 1e6;
/// If more of central's CPU time is the benchmark's own, what is left of it is noise.
const MOST_BENCHMARK_CPU: f64 = 0.5;

/// How a metric is computed. This also says whether each site has the metric or the worker as a whole. Formulas calculate in
/// events, seconds and nanoseconds. That of a ratio returns the summands of a slice, or None if the slice did not measure
/// them.
#[derive(Clone, Copy)]
pub(crate) enum Formula {
    /// A ratio about a site's polls: the sum of the numerators over the sum of the denominators.
    SiteRatio(RatioKind, fn(&LoadedSite, &SliceView) -> Option<RatioPart>),
    SiteQuantile(f64),
    WorkerRatio(RatioKind, fn(&SliceView) -> Option<RatioPart>),
    WorkerQuantile(HistogramOf, f64),
    QuicRatio(RatioKind, fn(&QuicRow, &SliceView) -> Option<RatioPart>),
}
use Formula::{QuicRatio, SiteQuantile, SiteRatio, WorkerQuantile, WorkerRatio};

/// Makes an enumeration of the metrics, and their formulas.
macro_rules! metrics {
    ($($key:ident: $formula:expr;)*) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub(crate) enum Metric {
            $($key,)*
        }

        impl Metric {
            pub(crate) const ALL: &[Metric] = &[$(Metric::$key,)*];

            pub(super) fn formula(self) -> Formula {
                match self {
                    $(Metric::$key => $formula,)*
                }
            }
        }
    };
}

metrics! {
    BeyondMsPerS: SiteRatio(Amount, |site, view| part(view.beyond_ns(site), view.seconds()));
    BeyondUsPerMib: SiteRatio(Amount, |site, view| part(view.beyond_ns(site), view.mib()?));
    SlowPercent: SiteRatio(Share, |site, view| part(view.slow_polls(site), site.row.polls as f64));
    SlowPerRequest: SiteRatio(Count, |site, view| part(view.slow_polls(site), view.requests()?));
    PollP99Us: SiteQuantile(0.99);
    PollsPerRequest: SiteRatio(Amount, |site, view| part(site.row.polls as f64, view.requests()?));
    IterationsPerPoll: SiteRatio(Amount, |site, _| counts(site.row.iterations?, site.row.polls));
    YieldsPer1000: SiteRatio(Share, |site, _| counts(site.row.yielded, site.row.polls));
    SingleIterationPercent: SiteRatio(Share, |site, view| {
        let longest = site.longest_iteration_ns.as_ref()?;
        part(longest.above(view.threshold_ns) as f64, view.slow_polls(site))
    });
    CotenantLatePercent: WorkerRatio(Share, |view| {
        let wakes = view.slice.histogram(CotenantWake);
        counts(wakes.above(view.threshold_ns), wakes.total())
    });
    CotenantP90Us: WorkerQuantile(CotenantWake, 0.9);
    CotenantFloorUs: WorkerRatio(Amount, |view| part(view.run.idle?.wake_p50_ns? as f64, 1.0));
    TimerP99Us: WorkerQuantile(CotenantTimer, 0.99);
    RequestsPerS: WorkerRatio(Amount, |view| part(view.requests()?, view.seconds()));
    MibPerS: WorkerRatio(Amount, |view| part(view.mib()?, view.slice.row.sampled_ms / 1000.0));
    CpuUsPerRequest: WorkerRatio(Amount, |view| {
        part(view.cpu_ns()?, view.sampled_requests()?)
    });
    PairCpuUsPerRequest: WorkerRatio(Amount, |view| {
        part(view.cpu_ns()? + view.slice.row.peers_cpu_ns? as f64, view.sampled_requests()?)
    });
    WholeCpuUsPerRequest: WorkerRatio(Amount, |view| view.by_request(view.slice.row.central_cpu_ns?));
    CpuUsPerMib: WorkerRatio(Amount, |view| part(view.slice.row.central_cpu_ns? as f64, view.mib()?));
    OwnCpuPercent: WorkerRatio(Amount, |view| part(view.run.benchmark_cpu_per_time?, 1.0));
    FixedWorkUs: WorkerRatio(Amount, |view| {
        let block = view.slice.row.block;
        part(view.run.work.iter().find(|row| row.block == block)?.work_ns as f64, 1.0)
    });
    LatencyP50Ms: WorkerQuantile(Latency, 0.5);
    LatencyP99Ms: WorkerQuantile(Latency, 0.99);
    LastDeliveryP50Ms: WorkerQuantile(LastDelivery, 0.5);
    LastDeliveryP99Ms: WorkerQuantile(LastDelivery, 0.99);
    YamuxRttMs: WorkerRatio(Amount, |view| view.by_turn(view.slice.row.yamux_rtt_ns?));
    YamuxGrownKib: WorkerRatio(Amount, |view| view.by_turn(view.slice.row.yamux_grown_bytes?));
    QuicRttMs: QuicRatio(Amount, |quic, _| part(quic.rtt_ns as f64, 1.0));
    QuicDatagramsPerSend: QuicRatio(Amount, |quic, _| counts(quic.datagrams_sent, quic.send_calls));
    QuicDatagramsPerReceive: QuicRatio(Amount, |quic, _| {
        counts(quic.datagrams_received, quic.receive_calls)
    });
    QuicAcksSentPerRequest: QuicRatio(Amount, |quic, view| view.by_request(quic.acks_sent));
    QuicAcksReceivedPerRequest: QuicRatio(Amount, |quic, view| view.by_request(quic.acks_received));
    QuicLostPercent: QuicRatio(Share, |quic, _| counts(quic.packets_lost, quic.packets_sent));
    QuicCongestionPerS: QuicRatio(Count, |quic, view| {
        part(quic.congestion_events as f64, view.slice.row.sampled_ms / 1000.0)
    });
}

pub(super) struct SliceView<'a> {
    pub(super) run: &'a LoadedRun,
    pub(super) slice: &'a LoadedSlice,
    pub(super) threshold_ns: u64,
}

impl SliceView<'_> {
    fn beyond_ns(&self, site: &LoadedSite) -> f64 {
        site.duration_ns.beyond(self.threshold_ns) as f64
    }

    /// Central's CPU time less what it uses without requests in the same time. None if most of it is the benchmark's own.
    fn cpu_ns(&self) -> Option<f64> {
        let benchmark_ns =
            self.run.benchmark_cpu_per_time.unwrap_or(0.0) * self.slice.row.sampled_ms * NS_PER_MS;
        let has_meaning = self.run.benchmark_share_of_cpu() <= MOST_BENCHMARK_CPU;
        Some(self.slice.row.central_cpu_ns? as f64 - benchmark_ns).filter(|_| has_meaning)
    }

    fn slow_polls(&self, site: &LoadedSite) -> f64 {
        site.duration_ns.above(self.threshold_ns) as f64
    }

    fn requests(&self) -> Option<f64> {
        Some(self.slice.row.requests? as f64)
    }

    /// The MiB that an application counted. In a sweep the payload says how large requests are.
    fn mib(&self) -> Option<f64> {
        let bytes = self.slice.row.bytes.filter(|_| self.run.is_application)?;
        Some(bytes as f64 / f64::from(1 << 20))
    }

    /// The requests in the time between readings, which is a little longer than the slice.
    fn sampled_requests(&self) -> Option<f64> {
        Some(self.requests()? * self.slice.row.sampled_ms / self.slice.row.duration_ms)
    }

    fn by_request(&self, sampled: u64) -> Option<RatioPart> {
        part(sampled as f64, self.sampled_requests()?)
    }

    fn by_turn(&self, summed: u64) -> Option<RatioPart> {
        part(summed as f64, self.slice.row.turns.into())
    }

    fn seconds(&self) -> f64 {
        self.slice.row.duration_ms / 1000.0
    }
}

fn part(num: f64, den: f64) -> Option<RatioPart> {
    Some(RatioPart::new(num, den))
}

fn counts(num: u64, den: u64) -> Option<RatioPart> {
    Some(RatioPart::from_counts(num, den))
}
