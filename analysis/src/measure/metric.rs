//! What is said of a cell under a variant.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::site::Site;

/// A quantity, of a site's polls or of central's worker as a whole.
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
}

/// Which way a quantity should go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Better {
    Lower,
    Higher,
    /// A fact, not a merit.
    Neither,
}

impl Metric {
    pub(crate) const ALL: [Metric; 16] = [
        Metric::SlowPercent,
        Metric::SlowMsPerS,
        Metric::SlowPerRequest,
        Metric::PollP99Us,
        Metric::PollsPerRequest,
        Metric::IterationsPerPoll,
        Metric::YieldsPer1000,
        Metric::SingleIterationPercent,
        Metric::CotenantLatePercent,
        Metric::CotenantP90Us,
        Metric::CotenantP99Us,
        Metric::TimerP99Us,
        Metric::RequestsPerS,
        Metric::LatencyP50Ms,
        Metric::LatencyP99Ms,
        Metric::CpuUsPerRequest,
    ];

    /// The metrics that have before/after pictures.
    pub(crate) const PICTURED: [Metric; 7] = [
        Metric::SlowPercent,
        Metric::SlowMsPerS,
        Metric::SlowPerRequest,
        Metric::PollP99Us,
        Metric::CotenantLatePercent,
        Metric::CotenantP99Us,
        Metric::RequestsPerS,
    ];

    /// As tables and options name it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Metric::SlowPercent => "slow_percent",
            Metric::SlowMsPerS => "slow_ms_per_s",
            Metric::SlowPerRequest => "slow_per_request",
            Metric::PollP99Us => "poll_p99_us",
            Metric::PollsPerRequest => "polls_per_request",
            Metric::IterationsPerPoll => "iterations_per_poll",
            Metric::YieldsPer1000 => "yields_per_1000",
            Metric::SingleIterationPercent => "single_iteration_percent",
            Metric::CotenantLatePercent => "cotenant_late_percent",
            Metric::CotenantP90Us => "cotenant_p90_us",
            Metric::CotenantP99Us => "cotenant_p99_us",
            Metric::TimerP99Us => "timer_p99_us",
            Metric::RequestsPerS => "requests_per_s",
            Metric::LatencyP50Ms => "latency_p50_ms",
            Metric::LatencyP99Ms => "latency_p99_ms",
            Metric::CpuUsPerRequest => "cpu_us_per_request",
        }
    }

    /// As a sentence has it.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Metric::SlowPercent => "slow polls",
            Metric::SlowMsPerS => "time in slow polls",
            Metric::SlowPerRequest => "slow polls per request",
            Metric::PollP99Us => "p99 of poll duration",
            Metric::PollsPerRequest => "polls per request",
            Metric::IterationsPerPoll => "iterations per poll",
            Metric::YieldsPer1000 => "budget yields per 1,000 polls",
            Metric::SingleIterationPercent => "slow polls with one iteration over the threshold",
            Metric::CotenantLatePercent => "late wakes of a co-tenant",
            Metric::CotenantP90Us => "co-tenant's delay, p90",
            Metric::CotenantP99Us => "co-tenant's delay, p99",
            Metric::TimerP99Us => "timer's lateness, p99",
            Metric::RequestsPerS => "throughput",
            Metric::LatencyP50Ms => "request latency, p50",
            Metric::LatencyP99Ms => "request latency, p99",
            Metric::CpuUsPerRequest => "CPU time per request",
        }
    }

    pub(crate) fn unit(self) -> &'static str {
        match self {
            Metric::SlowPercent => "% of polls",
            Metric::SingleIterationPercent => "% of slow polls",
            Metric::CotenantLatePercent => "% of wakes",
            Metric::SlowMsPerS => "ms per s",
            Metric::SlowPerRequest | Metric::PollsPerRequest => "per request",
            Metric::IterationsPerPoll => "per poll",
            Metric::YieldsPer1000 => "per 1,000 polls",
            Metric::PollP99Us
            | Metric::CotenantP90Us
            | Metric::CotenantP99Us
            | Metric::TimerP99Us => "µs",
            Metric::RequestsPerS => "requests/s",
            Metric::LatencyP50Ms | Metric::LatencyP99Ms => "ms",
            Metric::CpuUsPerRequest => "µs per request",
        }
    }

    /// The unit of a difference.
    pub(crate) fn change_unit(self) -> &'static str {
        match self {
            Metric::SlowPercent | Metric::SingleIterationPercent | Metric::CotenantLatePercent => {
                "pp"
            }
            other => other.unit(),
        }
    }

    pub(crate) fn better(self) -> Better {
        match self {
            Metric::RequestsPerS => Better::Higher,
            Metric::IterationsPerPoll | Metric::YieldsPer1000 | Metric::SingleIterationPercent => {
                Better::Neither
            }
            _ => Better::Lower,
        }
    }

    /// Whether chance alone sets a floor to its error, as it does to that of counts and percentiles, and
    /// not to that of amounts.
    pub(crate) fn kind_is_sure(self) -> bool {
        !matches!(
            self,
            Metric::SlowMsPerS
                | Metric::PollsPerRequest
                | Metric::IterationsPerPoll
                | Metric::RequestsPerS
                | Metric::CpuUsPerRequest
        )
    }

    /// Whether it is one of a site's polls.
    pub(crate) fn by_site(self) -> bool {
        matches!(
            self,
            Metric::SlowPercent
                | Metric::SlowMsPerS
                | Metric::SlowPerRequest
                | Metric::PollP99Us
                | Metric::PollsPerRequest
                | Metric::IterationsPerPoll
                | Metric::YieldsPer1000
                | Metric::SingleIterationPercent
        )
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Metric {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Metric::ALL
            .into_iter()
            .find(|metric| metric.name() == text)
            .ok_or_else(|| {
                let names = Metric::ALL.map(Metric::name).join(", ");
                format!("unknown metric {text:?} (accepted: {names})")
            })
    }
}

/// What a figure is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct What {
    /// None for what is of the worker as a whole.
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

    /// Every figure that these sites have.
    pub(crate) fn all(sites: &[Site]) -> Vec<What> {
        let (by_site, of_worker): (Vec<_>, Vec<_>) =
            Metric::ALL.into_iter().partition(|metric| metric.by_site());
        let of_sites = sites.iter().flat_map(|&site| {
            by_site
                .iter()
                .map(move |&metric| What::of(site, metric))
                .collect::<Vec<_>>()
        });
        let of_worker = of_worker.iter().map(|&metric| What { site: None, metric });
        of_sites.chain(of_worker).collect()
    }
}
