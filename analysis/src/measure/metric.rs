//! The metrics of a cell under a variant.

use std::str::FromStr;

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
}

/// The better direction of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Better {
    Lower,
    Higher,
    /// Neither direction is better.
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

    /// Its name in tables and options.
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

    /// Its name in text.
    pub(crate) fn words(self) -> &'static str {
        self.text().0
    }

    pub(crate) fn unit(self) -> &'static str {
        self.text().1
    }

    /// Its name in text, and its unit.
    fn text(self) -> (&'static str, &'static str) {
        match self {
            Metric::SlowPercent => ("slow polls", "% of polls"),
            Metric::SlowMsPerS => ("time in slow polls", "ms per s"),
            Metric::SlowPerRequest => ("slow polls per request", "per request"),
            Metric::PollP99Us => ("p99 of poll duration", "µs"),
            Metric::PollsPerRequest => ("polls per request", "per request"),
            Metric::IterationsPerPoll => ("iterations per poll", "per poll"),
            Metric::YieldsPer1000 => ("budget yields per 1,000 polls", "per 1,000 polls"),
            Metric::SingleIterationPercent => {
                ("slow polls with a single slow iteration", "% of slow polls")
            }
            Metric::CotenantLatePercent => ("late wake-ups of a co-tenant", "% of wake-ups"),
            Metric::CotenantP90Us => ("co-tenant wake-up latency, p90", "µs"),
            Metric::CotenantP99Us => ("co-tenant wake-up latency, p99", "µs"),
            Metric::TimerP99Us => ("timer lateness, p99", "µs"),
            Metric::RequestsPerS => ("throughput", "requests/s"),
            Metric::LatencyP50Ms => ("request latency, p50", "ms"),
            Metric::LatencyP99Ms => ("request latency, p99", "ms"),
            Metric::CpuUsPerRequest => ("CPU time per request", "µs per request"),
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

    /// Whether chance alone gives its error a lower bound, as for counts and percentiles but not for amounts.
    pub(crate) fn has_error_floor(self) -> bool {
        !matches!(
            self,
            Metric::SlowMsPerS
                | Metric::PollsPerRequest
                | Metric::IterationsPerPoll
                | Metric::RequestsPerS
                | Metric::CpuUsPerRequest
        )
    }

    /// Whether it is a metric of a site's polls.
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
