//! What the table of metrics says of each. The entries are in [`super::catalogue`].

use std::collections::BTreeMap;

use run_format::{
    Site,
    tables::{IdleRow, QuicRow},
};

use super::distribution::Distribution;
use crate::{
    load::loaded_run::{LoadedSite, LoadedSlice},
    stats::{RatioKind, RatioPart},
};

/// The better direction of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Better {
    Lower,
    Higher,
    /// Neither direction is better.
    Neither,
}

/// An entry of the table of metrics. Whoever shows, judges or documents a metric asks here.
pub(crate) struct MetricInfo {
    /// Its name in tables and options.
    pub(crate) name: &'static str,
    /// Its name in text.
    pub(crate) words: &'static str,
    pub(crate) unit: &'static str,
    /// What it says, in one sentence.
    pub(crate) says: &'static str,
    /// The formula as a reader of the document understands it.
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "METRICS.md is written by a test")
    )]
    pub(crate) formula_words: &'static str,
    pub(crate) better: Better,
    /// Converts events, seconds and nanoseconds, in which formulas calculate, to the unit.
    pub(crate) scale: f64,
    pub(crate) formula: Formula,
    pub(crate) uses: MetricUses,
}

pub(crate) struct MetricUses {
    pub(crate) average: Average,
    /// None if a verdict does not depend on it.
    pub(crate) verdict: Option<VerdictInfo>,
    /// From this share of a core on that the hypervisor gives to others, the metric says nothing about variants:
    /// stolen time then lasts longer than a wake-up waits.
    pub(crate) spoilt_by_steal_percent: Option<f64>,
    /// Whether it is of requests, which belong to no variant if turns are shorter than a request.
    pub(crate) is_of_requests: bool,
    /// Whether its values are wake-ups of the co-tenant, whose times the page has.
    pub(crate) is_of_wake_ups: bool,
    /// If it counts events over the threshold, per what. The page calculates it for other thresholds from the counts
    /// of times, and sentences say "fewer" instead of "lower".
    pub(crate) recounted: Option<Per>,
    /// The terms that a picture explains.
    pub(crate) terms: &'static [Term],
    /// Where it is shown, beside `summary.csv` and the page, which have every metric.
    pub(crate) shown: &'static [Place],
}

/// What an entry need not say.
pub(super) const USUAL: MetricUses = MetricUses {
    average: Average::OfRelativeChanges,
    verdict: None,
    spoilt_by_steal_percent: None,
    is_of_requests: false,
    is_of_wake_ups: false,
    recounted: None,
    terms: &[],
    shown: &[],
};

pub(super) const QUIC_USES: MetricUses = MetricUses {
    shown: &[Place::Details],
    ..USUAL
};

/// How changes are averaged over cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Average {
    /// In percentage points.
    OfDifferences,
    /// In percent of the baseline: levels and errors of most metrics differ between cells by orders of magnitude.
    OfRelativeChanges,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct VerdictInfo {
    /// Its name in `--margin`.
    pub(crate) option: &'static str,
    pub(crate) words: &'static str,
    /// Whether budgets are meant to improve it. Otherwise it is a cost.
    pub(crate) is_benefit: bool,
    /// The least change that matters unless an option says otherwise, in the unit of averages over cells.
    pub(crate) margin: f64,
}

/// What events over the threshold are divided by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Per {
    Event,
    Request,
    /// It is no count, but the time over the threshold, which the page estimates from the counts.
    Time,
}

/// A term that the subtitle of a picture explains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Term {
    Slow,
    Beyond,
    CoTenant,
    Late,
    OpenEnd,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// The changes in a report that decide nothing.
    Details,
    /// The pictures before and after that are drawn unless options name others.
    BeforeAfter,
    /// The page's picture of a cell block by block.
    Blocks,
    /// A search eliminates budgets by these, and draws them.
    Search,
    /// The comparison of libp2p with raw TCP.
    RawTcp,
    /// The comparison of two sweeps.
    Comparison,
    /// The levels of a group of cells: what figures of the verdict are counted from.
    Levels,
    /// The report of a published table.
    Published,
}

pub(super) type Parts = Option<RatioPart>;

/// The formula of a metric. It also says whether each site has the metric, or the worker as a whole.
#[derive(Clone, Copy)]
pub(crate) enum Formula {
    /// Of a site's polls: the sum of the numerators over the sum of the denominators.
    SiteRatio(RatioKind, fn(&LoadedSite, &SliceView) -> Parts),
    /// Of the durations of a site's polls.
    SiteQuantile(f64),
    WorkerRatio(RatioKind, fn(&SliceView) -> Parts),
    WorkerQuantile(Distribution, f64),
    /// Of what connections of QUIC count.
    QuicRatio(RatioKind, fn(&QuicRow, &SliceView) -> Parts),
}

/// A slice, and the limits that formulas need.
pub(crate) struct SliceView<'a> {
    pub(super) slice: &'a LoadedSlice,
    pub(super) limits: &'a Limits,
}

pub(crate) struct Limits {
    /// From this time on polls and wake-ups count as slow and late.
    pub(crate) threshold_ns: u64,
    /// The longest that a poll of a site counts for the mean wait, so that a few polls in which the hypervisor had the
    /// core do not decide.
    pub(crate) longest_ns: BTreeMap<Site, u64>,
}

impl SliceView<'_> {
    pub(super) fn threshold_ns(&self) -> u64 {
        self.limits.threshold_ns
    }

    pub(super) fn beyond_ns(&self, site: &LoadedSite) -> f64 {
        site.duration_ns.beyond(self.threshold_ns()) as f64
    }

    /// The sum of the squares of durations, none of which counts as longer than the limit.
    pub(super) fn squared_ns(&self, site: &LoadedSite) -> f64 {
        let longest = self.limits.longest_ns.get(&site.row.site);
        site.duration_ns
            .squares(longest.copied().unwrap_or(u64::MAX))
    }

    pub(super) fn slow_polls(&self, site: &LoadedSite) -> f64 {
        site.duration_ns.above(self.threshold_ns()) as f64
    }

    pub(super) fn requests(&self) -> f64 {
        self.slice.row.requests as f64
    }

    /// In the time between readings, which span a little more than the slice.
    pub(super) fn sampled_requests(&self) -> f64 {
        self.requests() * self.slice.row.sampled_ms / self.slice.row.duration_ms
    }

    pub(super) fn idle(&self) -> Option<&IdleRow> {
        self.slice.idle.as_ref()
    }

    /// The part of the time that central's threads use without requests.
    pub(super) fn own_cpu_share(&self) -> Option<f64> {
        let idle = self.idle()?;
        Some(idle.central_cpu_ns? as f64 / (idle.duration_ms * 1e6))
    }

    pub(super) fn seconds(&self) -> f64 {
        self.slice.row.duration_ms / 1000.0
    }
}

/// Makes an enumeration of the entries' keys, in their order, with the entry of each.
macro_rules! metrics {
    ($($key:ident: $info:expr,)*) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub(crate) enum Metric {
            $($key,)*
        }

        impl Metric {
            pub(crate) const ALL: &[Metric] = &[$(Metric::$key,)*];

            pub(crate) fn info(self) -> &'static MetricInfo {
                match self {
                    $(Metric::$key => {
                        const INFO: &MetricInfo = &$info;
                        INFO
                    })*
                }
            }
        }
    };
}
pub(super) use metrics;

pub(super) fn part(num: f64, den: f64) -> Option<RatioPart> {
    Some(RatioPart { num, den })
}

pub(super) fn polls(site: &LoadedSite) -> f64 {
    site.row.polls as f64
}
