//! The table of metrics. One entry here is all that a metric of recorded columns takes: reports, the page, `summary.csv`,
//! the help of `--metric` and METRICS.md come from it.

use super::{
    distribution::Distribution,
    metric_info::{
        Average,
        Better::{Higher, Lower, Neither},
        Formula::{QuicRatio, SiteQuantile, SiteRatio, WorkerQuantile, WorkerRatio},
        MetricInfo, MetricUses, Per,
        Place::{BeforeAfter, Blocks, Comparison, Details, Levels, Published, RawTcp, Search},
        QUIC_USES, Term, USUAL, VerdictInfo, metrics, part, polls,
    },
};
use crate::stats::RatioKind::{Amount, Count, Share};

const PERCENT: f64 = 100.0;
const US: f64 = 1e-3;
const MS: f64 = 1e-6;
const NS_PER_S: f64 = 1e9;
const NS_PER_MS: f64 = 1e6;

metrics! {
    BeyondMsPerS: MetricInfo {
        name: "beyond_ms_per_s",
        words: "time beyond the threshold",
        unit: "ms per s",
        says: "By how much polls of a site were longer than the threshold, summed up over each second; cutting a poll \
               into pieces never raises it, and more short polls never lower it.",
        formula_words: "sum of (duration - threshold) of polls over the threshold / time",
        better: Lower,
        scale: MS,
        formula: SiteRatio(Amount, |site, slice| part(slice.beyond_ns(site), slice.seconds())),
        uses: MetricUses {
            verdict: Some(VerdictInfo {
                option: "beyond",
                words: "time beyond the threshold",
                is_benefit: true,
                margin: 10.0,
            }),
            recounted: Some(Per::Time),
            terms: &[Term::Beyond],
            shown: &[BeforeAfter, Blocks, Search, Comparison],
            ..USUAL
        },
    },
    BeyondUsPerRequest: MetricInfo {
        name: "beyond_us_per_request",
        words: "time beyond the threshold per request",
        unit: "µs per request",
        says: "By how much polls of a site were longer than the threshold, for each request.",
        formula_words: "sum of (duration - threshold) of polls over the threshold / requests",
        better: Lower,
        scale: US,
        formula: SiteRatio(Amount, |site, slice| part(slice.beyond_ns(site), slice.requests())),
        uses: MetricUses {
            recounted: Some(Per::Time),
            terms: &[Term::Beyond],
            shown: &[Details],
            ..USUAL
        },
    },
    PollWaitUs: MetricInfo {
        name: "poll_wait_us",
        words: "mean wait for a poll's end",
        unit: "µs",
        says: "How long a task that becomes ready at a random moment waits on average until the poll of the site that \
               runs then has ended; it is zero if none runs.",
        formula_words: "sum of d² / (2 * time), where d is a poll's duration, or the limit if that is less; the limit \
                        is the duration that one in 1,000 polls of the site exceeds over all variants of the cell",
        better: Lower,
        scale: US,
        formula: SiteRatio(Amount, |site, slice| {
            part(slice.squared_ns(site) / 2.0, slice.seconds() * NS_PER_S)
        }),
        uses: MetricUses {
            shown: &[Details],
            ..USUAL
        },
    },
    SlowPercent: MetricInfo {
        name: "slow_percent",
        words: "slow polls",
        unit: "% of polls",
        says: "The share of a site's polls that took longer than the threshold.",
        formula_words: "polls over the threshold / polls",
        better: Lower,
        scale: PERCENT,
        formula: SiteRatio(Share, |site, slice| part(slice.slow_polls(site), polls(site))),
        uses: MetricUses {
            average: Average::OfDifferences,
            recounted: Some(Per::Event),
            terms: &[Term::Slow],
            shown: &[BeforeAfter, Details, Blocks, Comparison, Published],
            ..USUAL
        },
    },
    SlowMsPerS: MetricInfo {
        name: "slow_ms_per_s",
        words: "time in slow polls",
        unit: "ms per s",
        says: "The time that slow polls of a site took, of each second.",
        formula_words: "time of polls over the threshold / time",
        better: Lower,
        scale: MS,
        formula: SiteRatio(Amount, |site, slice| {
            let slow_ns = site.duration_ns.sum_above(slice.threshold_ns());
            part(slow_ns as f64, slice.seconds())
        }),
        uses: MetricUses {
            terms: &[Term::Slow],
            ..USUAL
        },
    },
    SlowPerRequest: MetricInfo {
        name: "slow_per_request",
        words: "slow polls per request",
        unit: "per request",
        says: "How many slow polls of a site came with each request; more polls in all do not lower it, as \
               they lower the share.",
        formula_words: "polls over the threshold / requests",
        better: Lower,
        scale: 1.0,
        formula: SiteRatio(Count, |site, slice| part(slice.slow_polls(site), slice.requests())),
        uses: MetricUses {
            recounted: Some(Per::Request),
            terms: &[Term::Slow],
            shown: &[Details],
            ..USUAL
        },
    },
    PollP99Us: MetricInfo {
        name: "poll_p99_us",
        words: "p99 of poll duration",
        unit: "µs",
        says: "One of a hundred polls of a site took longer than this.",
        formula_words: "99th percentile of poll durations",
        better: Lower,
        scale: US,
        formula: SiteQuantile(0.99),
        uses: MetricUses {
            terms: &[Term::OpenEnd],
            shown: &[Published],
            ..USUAL
        },
    },
    PollsPerRequest: MetricInfo {
        name: "polls_per_request",
        words: "polls per request",
        unit: "per request",
        says: "How many polls of a site came with each request.",
        formula_words: "polls / requests",
        better: Lower,
        scale: 1.0,
        formula: SiteRatio(Amount, |site, slice| part(polls(site), slice.requests())),
        uses: MetricUses {
            shown: &[Details],
            ..USUAL
        },
    },
    IterationsPerPoll: MetricInfo {
        name: "iterations_per_poll",
        words: "iterations per poll",
        unit: "per poll",
        says: "How often the loop of a site went round in each poll.",
        formula_words: "iterations / polls",
        better: Neither,
        scale: 1.0,
        formula: SiteRatio(Amount, |site, _| part(site.row.iterations? as f64, polls(site))),
        uses: USUAL,
    },
    YieldsPer1000: MetricInfo {
        name: "yields_per_1000",
        words: "budget yields per 1,000 polls",
        unit: "per 1,000 polls",
        says: "How many of 1,000 polls of a site ended because its budget was used up.",
        formula_words: "polls that a budget ended / polls",
        better: Neither,
        scale: 1000.0,
        formula: SiteRatio(Share, |site, _| part(site.row.yielded as f64, polls(site))),
        uses: USUAL,
    },
    SingleIterationPercent: MetricInfo {
        name: "single_iteration_percent",
        words: "slow polls with a single slow iteration",
        unit: "% of slow polls",
        says: "The share of slow polls in which one iteration alone took longer than the threshold, so that \
               no limit on iterations prevents them.",
        formula_words: "polls with an iteration over the threshold / polls over the threshold",
        better: Neither,
        scale: PERCENT,
        formula: SiteRatio(Share, |site, slice| {
            let longest = site.longest_iteration_ns.as_ref()?;
            part(longest.above(slice.threshold_ns()) as f64, slice.slow_polls(site))
        }),
        uses: USUAL,
    },
    CotenantLatePercent: MetricInfo {
        name: "cotenant_late_percent",
        words: "late wake-ups of a co-tenant",
        unit: "% of wake-ups",
        says: "The share of wake-ups after which the co-tenant waited for its worker by more than the threshold \
               longer than on an idle central, so for a slow poll; it has a narrower interval than a percentile.",
        formula_words: "wake-ups after which the wait less the floor is over the threshold / wake-ups",
        better: Lower,
        scale: PERCENT,
        formula: WorkerRatio(Share, |slice| {
            let wakes = &slice.slice.cotenant_wake_ns;
            part(wakes.above(slice.threshold_ns()) as f64, wakes.total() as f64)
        }),
        uses: MetricUses {
            average: Average::OfDifferences,
            verdict: Some(VerdictInfo {
                option: "late",
                words: "late wake-ups of the co-tenant",
                is_benefit: true,
                margin: 0.5,
            }),
            is_of_wake_ups: true,
            recounted: Some(Per::Event),
            terms: &[Term::CoTenant, Term::Late],
            shown: &[Blocks, Comparison],
            ..USUAL
        },
    },
    CotenantP90Us: MetricInfo {
        name: "cotenant_p90_us",
        words: "co-tenant wake-up latency, p90",
        unit: "µs",
        says: "After one of ten wake-ups the co-tenant waited by more than this longer than on an idle central.",
        formula_words: "90th percentile of the time from wake-up to poll, less the floor",
        better: Lower,
        scale: US,
        formula: WorkerQuantile(Distribution::CotenantWake, 0.9),
        uses: MetricUses {
            verdict: Some(VerdictInfo {
                option: "wake-up",
                words: "wake-up latency of the co-tenant (p90)",
                is_benefit: true,
                margin: 10.0,
            }),
            spoilt_by_steal_percent: Some(10.0),
            is_of_wake_ups: true,
            shown: &[Search],
            ..USUAL
        },
    },
    CotenantP99Us: MetricInfo {
        name: "cotenant_p99_us",
        words: "co-tenant wake-up latency, p99",
        unit: "µs",
        says: "After one of a hundred wake-ups the co-tenant waited by more than this longer than on an idle \
               central.",
        formula_words: "99th percentile of the time from wake-up to poll, less the floor",
        better: Lower,
        scale: US,
        formula: WorkerQuantile(Distribution::CotenantWake, 0.99),
        uses: MetricUses {
            spoilt_by_steal_percent: Some(1.0),
            is_of_wake_ups: true,
            terms: &[Term::CoTenant, Term::OpenEnd],
            shown: &[Details],
            ..USUAL
        },
    },
    CotenantFloorUs: MetricInfo {
        name: "cotenant_floor_us",
        words: "floor of the co-tenant's wake-ups",
        unit: "µs",
        says: "How long the co-tenant waited after half of the wake-ups while central was connected and had no requests, \
               just before the measurement; other waits are counted from here, because this one is the machine's.",
        formula_words: "median time from wake-up to poll without requests",
        better: Neither,
        scale: US,
        formula: WorkerRatio(Amount, |slice| part(slice.idle()?.wake_p50_ns? as f64, 1.0)),
        uses: MetricUses {
            shown: &[Levels],
            ..USUAL
        },
    },
    TimerP99Us: MetricInfo {
        name: "timer_p99_us",
        words: "timer lateness, p99",
        unit: "µs",
        says: "One of a hundred timers of the co-tenant fired later than this.",
        formula_words: "99th percentile of the time from deadline to poll",
        better: Lower,
        scale: US,
        formula: WorkerQuantile(Distribution::CotenantTimer, 0.99),
        uses: USUAL,
    },
    RequestsPerS: MetricInfo {
        name: "requests_per_s",
        words: "throughput",
        unit: "requests/s",
        says: "How many requests were answered each second.",
        formula_words: "requests / time",
        better: Higher,
        scale: 1.0,
        formula: WorkerRatio(Amount, |slice| part(slice.requests(), slice.seconds())),
        uses: MetricUses {
            verdict: Some(VerdictInfo {
                option: "throughput",
                words: "throughput",
                is_benefit: false,
                margin: 2.0,
            }),
            is_of_requests: true,
            shown: &[Blocks, Search, RawTcp, Comparison, Published],
            ..USUAL
        },
    },
    CentralBusyPercent: MetricInfo {
        name: "central_busy_percent",
        words: "busy time of central's workers",
        unit: "% of time",
        says: "The share of time in which central's workers polled tasks; with several workers it is their sum.",
        formula_words: "busy time of tokio's workers / time between readings",
        better: Neither,
        scale: PERCENT,
        formula: WorkerRatio(Amount, |slice| {
            let row = &slice.slice.row;
            part(row.runtime_busy_ns as f64, row.sampled_ms * NS_PER_MS)
        }),
        uses: USUAL,
    },
    CpuUsPerRequest: MetricInfo {
        name: "cpu_us_per_request",
        words: "CPU time per request",
        unit: "µs per request",
        says: "How much CPU time central spent on each request, without what the benchmark itself takes there.",
        formula_words: "(CPU time of central - CPU time that it takes without requests in the same time) / requests",
        better: Lower,
        scale: US,
        formula: WorkerRatio(Amount, |slice| {
            let row = &slice.slice.row;
            let own_ns = slice.own_cpu_share().unwrap_or(0.0) * row.sampled_ms * NS_PER_MS;
            part(row.central_cpu_ns? as f64 - own_ns, slice.sampled_requests())
        }),
        uses: MetricUses {
            verdict: Some(VerdictInfo {
                option: "cpu",
                words: "CPU time per request",
                is_benefit: false,
                margin: 3.0,
            }),
            shown: &[Blocks, Search, RawTcp],
            ..USUAL
        },
    },
    WholeCpuUsPerRequest: MetricInfo {
        name: "whole_cpu_us_per_request",
        words: "CPU time per request with the benchmark's own",
        unit: "µs per request",
        says: "How much CPU time central spent on each request, with what the benchmark itself takes there.",
        formula_words: "CPU time of central / requests",
        better: Lower,
        scale: US,
        formula: WorkerRatio(Amount, |slice| {
            part(slice.slice.row.central_cpu_ns? as f64, slice.sampled_requests())
        }),
        uses: MetricUses {
            shown: &[Levels],
            ..USUAL
        },
    },
    OwnCpuPercent: MetricInfo {
        name: "own_cpu_percent",
        words: "CPU time of the benchmark itself on central's core",
        unit: "% of time",
        says: "The share of time that central's threads used while central was connected and had no requests, just \
               before the measurement: the co-tenant and what keeps connections alive.",
        formula_words: "CPU time of central without requests / time",
        better: Neither,
        scale: PERCENT,
        formula: WorkerRatio(Amount, |slice| part(slice.own_cpu_share()?, 1.0)),
        uses: MetricUses {
            shown: &[Levels],
            ..USUAL
        },
    },
    FixedWorkUs: MetricInfo {
        name: "fixed_work_us",
        words: "time of a fixed piece of work",
        unit: "µs",
        says: "How long central's core took, just before a block, to copy and encrypt 16 KiB and to send them over a \
               pair of sockets: the higher, the slower the machine was at that moment.",
        formula_words: "time of the fixed piece of work, mean over blocks",
        better: Neither,
        scale: US,
        formula: WorkerRatio(Amount, |slice| part(slice.slice.work_ns? as f64, 1.0)),
        uses: MetricUses {
            shown: &[Blocks, Levels],
            ..USUAL
        },
    },
    LatencyP50Ms: MetricInfo {
        name: "latency_p50_ms",
        words: "request latency, p50",
        unit: "ms",
        says: "Half of the requests took longer than this.",
        formula_words: "median time from request to response",
        better: Lower,
        scale: MS,
        formula: WorkerQuantile(Distribution::Latency, 0.5),
        uses: MetricUses {
            is_of_requests: true,
            shown: &[Details, RawTcp, Comparison],
            ..USUAL
        },
    },
    LatencyP99Ms: MetricInfo {
        name: "latency_p99_ms",
        words: "request latency, p99",
        unit: "ms",
        says: "One of a hundred requests took longer than this.",
        formula_words: "99th percentile of the time from request to response",
        better: Lower,
        scale: MS,
        formula: WorkerQuantile(Distribution::Latency, 0.99),
        uses: MetricUses {
            verdict: Some(VerdictInfo {
                option: "latency",
                words: "request latency (p99)",
                is_benefit: false,
                margin: 10.0,
            }),
            is_of_requests: true,
            terms: &[Term::OpenEnd],
            shown: &[RawTcp],
            ..USUAL
        },
    },
    QuicRttMs: MetricInfo {
        name: "quic_rtt_ms",
        words: "round-trip time that QUIC sees",
        unit: "ms",
        says: "The round-trip time that QUIC estimates, averaged over slices.",
        formula_words: "smoothed round-trip time, mean over slices",
        better: Lower,
        scale: MS,
        formula: QuicRatio(Amount, |quic, _| part(quic.rtt_ns as f64, 1.0)),
        uses: QUIC_USES,
    },
    QuicDatagramsPerSend: MetricInfo {
        name: "quic_datagrams_per_send",
        words: "datagrams sent at once",
        unit: "per call",
        says: "How many datagrams each system call sent.",
        formula_words: "datagrams sent / calls that send",
        better: Higher,
        scale: 1.0,
        formula: QuicRatio(Amount, |quic, _| {
            part(quic.datagrams_sent as f64, quic.send_calls as f64)
        }),
        uses: QUIC_USES,
    },
    QuicDatagramsPerReceive: MetricInfo {
        name: "quic_datagrams_per_receive",
        words: "datagrams received at once",
        unit: "per call",
        says: "How many datagrams each system call received.",
        formula_words: "datagrams received / calls that receive",
        better: Higher,
        scale: 1.0,
        formula: QuicRatio(Amount, |quic, _| {
            part(quic.datagrams_received as f64, quic.receive_calls as f64)
        }),
        uses: QUIC_USES,
    },
    QuicAcksSentPerRequest: MetricInfo {
        name: "quic_acks_sent_per_request",
        words: "ACK frames sent per request",
        unit: "per request",
        says: "How many ACK frames central sent for each request.",
        formula_words: "ACK frames sent / requests",
        better: Neither,
        scale: 1.0,
        formula: QuicRatio(Amount, |quic, slice| {
            part(quic.acks_sent as f64, slice.sampled_requests())
        }),
        uses: QUIC_USES,
    },
    QuicAcksReceivedPerRequest: MetricInfo {
        name: "quic_acks_received_per_request",
        words: "ACK frames received per request",
        unit: "per request",
        says: "How many ACK frames central received for each request.",
        formula_words: "ACK frames received / requests",
        better: Neither,
        scale: 1.0,
        formula: QuicRatio(Amount, |quic, slice| {
            part(quic.acks_received as f64, slice.sampled_requests())
        }),
        uses: QUIC_USES,
    },
    QuicLostPercent: MetricInfo {
        name: "quic_lost_percent",
        words: "lost packets",
        unit: "% of packets",
        says: "The share of sent packets that QUIC declared lost.",
        formula_words: "packets lost / packets sent",
        better: Lower,
        scale: PERCENT,
        formula: QuicRatio(Share, |quic, _| {
            part(quic.packets_lost as f64, quic.packets_sent as f64)
        }),
        uses: QUIC_USES,
    },
    QuicCongestionPerS: MetricInfo {
        name: "quic_congestion_per_s",
        words: "congestion events",
        unit: "per s",
        says: "How often each second congestion control slowed down.",
        formula_words: "congestion events / time",
        better: Lower,
        scale: 1.0,
        formula: QuicRatio(Count, |quic, slice| {
            part(quic.congestion_events as f64, slice.slice.row.sampled_ms / 1000.0)
        }),
        uses: QUIC_USES,
    },
}
