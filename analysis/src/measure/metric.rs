//! The metrics of a cell under a variant.

use std::{ops::Deref, str::FromStr};

use run_format::Site;
use serde::{Deserialize, Serialize};

/// A metric of a site's polls, or of central's worker as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Metric {
    SlowPercent,
    SlowMsPerS,
    SlowPerRequest,
    PollP99Us,
    PollsPerRequest,
    IterationsPerPoll,
    YieldsPer1000,
    SingleIterationPercent,
    CotenantLatePercent,
    CotenantP90Us,
    CotenantP99Us,
    TimerP99Us,
    RequestsPerS,
    LatencyP50Ms,
    LatencyP99Ms,
    CpuUsPerRequest,
    QuicRttMs,
    QuicDatagramsPerSend,
    QuicDatagramsPerReceive,
    QuicAcksSentPerRequest,
    QuicAcksReceivedPerRequest,
    QuicLostPercent,
    QuicCongestionPerS,
}

/// The better direction of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Better {
    Lower,
    Higher,
    /// Neither direction is better.
    Neither,
}

/// What is known of a metric.
pub(crate) struct Facts {
    metric: Metric,
    /// Its name in tables and options.
    pub(crate) name: &'static str,
    /// Its name in text.
    pub(crate) words: &'static str,
    pub(crate) unit: &'static str,
    pub(crate) better: Better,
    /// Whether chance alone gives its error a lower bound, as for counts and percentiles but not for amounts.
    pub(crate) has_error_floor: bool,
    /// What converts events, seconds and nanoseconds to its unit.
    pub(crate) scale: f64,
}

const fn facts(
    (metric, name): (Metric, &'static str),
    (words, unit): (&'static str, &'static str),
    (better, has_error_floor, scale): (Better, bool, f64),
) -> Facts {
    Facts {
        metric,
        name,
        words,
        unit,
        better,
        has_error_floor,
        scale,
    }
}

use Better::{Higher, Lower, Neither};

const PERCENT: f64 = 100.0;
const US: f64 = 1e-3;
const MS: f64 = 1e-6;

/// In the order of the enumeration.
#[rustfmt::skip]
const FACTS: [Facts; 23] = [
    facts((Metric::SlowPercent, "slow_percent"), ("slow polls", "% of polls"), (Lower, true, PERCENT)),
    facts((Metric::SlowMsPerS, "slow_ms_per_s"), ("time in slow polls", "ms per s"), (Lower, false, MS)),
    facts((Metric::SlowPerRequest, "slow_per_request"), ("slow polls per request", "per request"), (Lower, true, 1.0)),
    facts((Metric::PollP99Us, "poll_p99_us"), ("p99 of poll duration", "µs"), (Lower, true, US)),
    facts((Metric::PollsPerRequest, "polls_per_request"), ("polls per request", "per request"), (Lower, false, 1.0)),
    facts((Metric::IterationsPerPoll, "iterations_per_poll"), ("iterations per poll", "per poll"), (Neither, false, 1.0)),
    facts((Metric::YieldsPer1000, "yields_per_1000"), ("budget yields per 1,000 polls", "per 1,000 polls"), (Neither, true, 1000.0)),
    facts((Metric::SingleIterationPercent, "single_iteration_percent"), ("slow polls with a single slow iteration", "% of slow polls"), (Neither, true, PERCENT)),
    facts((Metric::CotenantLatePercent, "cotenant_late_percent"), ("late wake-ups of a co-tenant", "% of wake-ups"), (Lower, true, PERCENT)),
    facts((Metric::CotenantP90Us, "cotenant_p90_us"), ("co-tenant wake-up latency, p90", "µs"), (Lower, true, US)),
    facts((Metric::CotenantP99Us, "cotenant_p99_us"), ("co-tenant wake-up latency, p99", "µs"), (Lower, true, US)),
    facts((Metric::TimerP99Us, "timer_p99_us"), ("timer lateness, p99", "µs"), (Lower, true, US)),
    facts((Metric::RequestsPerS, "requests_per_s"), ("throughput", "requests/s"), (Higher, false, 1.0)),
    facts((Metric::LatencyP50Ms, "latency_p50_ms"), ("request latency, p50", "ms"), (Lower, true, MS)),
    facts((Metric::LatencyP99Ms, "latency_p99_ms"), ("request latency, p99", "ms"), (Lower, true, MS)),
    facts((Metric::CpuUsPerRequest, "cpu_us_per_request"), ("CPU time per request", "µs per request"), (Lower, false, US)),
    facts((Metric::QuicRttMs, "quic_rtt_ms"), ("round-trip time that QUIC sees", "ms"), (Lower, false, MS)),
    facts((Metric::QuicDatagramsPerSend, "quic_datagrams_per_send"), ("datagrams sent at once", "per call"), (Higher, false, 1.0)),
    facts((Metric::QuicDatagramsPerReceive, "quic_datagrams_per_receive"), ("datagrams received at once", "per call"), (Higher, false, 1.0)),
    facts((Metric::QuicAcksSentPerRequest, "quic_acks_sent_per_request"), ("ACK frames sent per request", "per request"), (Neither, false, 1.0)),
    facts((Metric::QuicAcksReceivedPerRequest, "quic_acks_received_per_request"), ("ACK frames received per request", "per request"), (Neither, false, 1.0)),
    facts((Metric::QuicLostPercent, "quic_lost_percent"), ("lost packets", "% of packets"), (Lower, true, PERCENT)),
    facts((Metric::QuicCongestionPerS, "quic_congestion_per_s"), ("congestion events", "per s"), (Lower, true, 1.0)),
];

impl Metric {
    pub(crate) fn all() -> impl Iterator<Item = Metric> {
        FACTS.iter().map(|it| it.metric)
    }

    /// The unit of a difference.
    pub(crate) fn change_unit(self) -> &'static str {
        match self.unit {
            share if share.starts_with('%') => "pp",
            other => other,
        }
    }

    /// Whether it is a metric of a site's polls, and not of the worker.
    pub(crate) fn by_site(self) -> bool {
        self < Metric::CotenantLatePercent
    }

    /// Whether connections of QUIC count it.
    pub(crate) fn is_of_quic(self) -> bool {
        self >= Metric::QuicRttMs
    }
}

impl Deref for Metric {
    type Target = Facts;

    fn deref(&self) -> &Facts {
        &FACTS[*self as usize]
    }
}

impl FromStr for Metric {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Metric::all()
            .find(|metric| metric.name == text)
            .ok_or_else(|| {
                let names: Vec<&str> = Metric::all().map(|metric| metric.name).collect();
                format!("unknown metric {text:?} (accepted: {})", names.join(", "))
            })
    }
}

/// The site and the metric of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct What {
    /// None for a metric of the worker as a whole.
    pub(crate) site: Option<Site>,
    pub(crate) metric: Metric,
}

impl What {
    pub(crate) fn of(site: Site, metric: Metric) -> What {
        What {
            site: metric.by_site().then_some(site),
            metric,
        }
    }

    /// All figures of these sites and of the worker.
    pub(crate) fn all(sites: &[Site]) -> Vec<What> {
        let by_site = || Metric::all().filter(|metric| metric.by_site());
        let of_sites = sites.iter();
        let of_sites = of_sites.flat_map(|site| by_site().map(|metric| What::of(*site, metric)));
        let of_worker = Metric::all().filter(|metric| !metric.by_site());
        let of_worker = of_worker.map(|metric| What { site: None, metric });
        of_sites.chain(of_worker).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_are_in_the_order_of_metrics() {
        for (at, metric) in Metric::all().enumerate() {
            assert_eq!(metric as usize, at);
            assert_eq!(metric.name.parse(), Ok(metric));
        }
    }
}
