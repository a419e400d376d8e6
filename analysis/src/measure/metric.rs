//! Metrics, what `metrics.json` says of each, and the keys of their figures.

use std::fmt;
use std::str::FromStr;
use std::sync::LazyLock;

use run_format::{HistogramOf, Site, serde_as_text};
use serde::{Deserialize, Serialize};

pub(crate) use super::catalogue::Metric;
use super::catalogue::{Formula, Parts, SliceView};
use crate::stats::RatioKind;
use crate::text::joined;

impl Metric {
    pub(crate) fn shown_in(place: Place) -> Vec<Metric> {
        let mut all = Metric::ALL.to_vec();
        all.retain(|metric| metric.info().shown.contains(&place));
        all
    }

    /// "request latency (p99), ms", above a column.
    pub(crate) fn title(self) -> String {
        format!("{}, {}", self.info().words, self.info().unit)
    }

    pub(crate) fn change_unit(self) -> &'static str {
        match self.info().unit {
            share if share.starts_with('%') => "pp",
            other => other,
        }
    }

    /// None for a quantile.
    pub(crate) fn ratio_kind(self) -> Option<RatioKind> {
        match self.formula() {
            Formula::SiteRatio(kind, _)
            | Formula::WorkerRatio(kind, _)
            | Formula::QuicRatio(kind, _) => Some(kind),
            Formula::SiteQuantile(_) | Formula::WorkerQuantile(..) => None,
        }
    }

    pub(crate) fn is_by_site(self) -> bool {
        matches!(
            self.formula(),
            Formula::SiteRatio(..) | Formula::SiteQuantile(_)
        )
    }

    pub(crate) fn is_of_quic(self) -> bool {
        matches!(self.formula(), Formula::QuicRatio(..))
    }

    pub(crate) fn help(first: &str) -> String {
        let infos = Metric::ALL.iter().map(|metric| metric.info());
        let lines = infos.map(|it| format!("\n- {}: {} ({})", it.name, it.words, it.unit));
        format!(
            "{first}. METRICS.md has their formulas:{}",
            joined(lines, "")
        )
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.info().name)
    }
}

impl FromStr for Metric {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut all = Metric::ALL.iter().copied();
        let known = all.find(|metric| metric.info().name == text);
        known.ok_or_else(|| {
            let names = joined(Metric::ALL, ", ");
            format!("unknown metric {text:?} (accepted: {names})")
        })
    }
}

serde_as_text!(Metric);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct MetricKey {
    /// None for a metric of the worker as a whole.
    pub(crate) site: Option<Site>,
    pub(crate) metric: Metric,
}

impl MetricKey {
    pub(crate) fn new(site: Site, metric: Metric) -> MetricKey {
        MetricKey {
            site: metric.is_by_site().then_some(site),
            metric,
        }
    }

    pub(crate) fn all(sites: &[Site]) -> Vec<MetricKey> {
        let (by_site, of_worker): (Vec<Metric>, Vec<Metric>) =
            Metric::ALL.iter().partition(|metric| metric.is_by_site());
        let sites = sites.iter();
        let of_sites = sites.flat_map(|&site| by_site.iter().map(move |&it| (Some(site), it)));
        let keys = of_sites.chain(of_worker.iter().map(|&it| (None, it)));
        keys.map(|(site, metric)| MetricKey { site, metric })
            .collect()
    }

    /// None for a ratio.
    pub(super) fn quantile(self) -> Option<(HistogramOf, f64)> {
        match self.metric.formula() {
            Formula::SiteQuantile(at) => Some((HistogramOf::Polls(self.site?), at)),
            Formula::WorkerQuantile(of, at) => Some((of, at)),
            _ => None,
        }
    }

    pub(super) fn parts(self, view: &SliceView) -> Parts {
        match self.metric.formula() {
            Formula::SiteRatio(_, parts) => parts(view.slice.site(self.site?)?, view),
            Formula::WorkerRatio(_, parts) => parts(view),
            Formula::QuicRatio(_, parts) => parts(view.slice.quic.as_ref()?, view),
            Formula::SiteQuantile(_) | Formula::WorkerQuantile(..) => None,
        }
    }
}

#[cfg(test)]
#[path = "../../tests/metrics/mod.rs"]
mod table;

/// In the order of [`Metric::ALL`].
static TABLE: LazyLock<Vec<MetricInfo>> = LazyLock::new(|| {
    serde_json::from_str(include_str!("metrics.json")).expect("a test reads the table")
});

impl Metric {
    pub(crate) fn info(self) -> &'static MetricInfo {
        &TABLE[self as usize]
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct MetricInfo {
    /// Its name in tables and options.
    pub(crate) name: &'static str,
    /// Its name in text.
    pub(crate) words: &'static str,
    pub(crate) unit: &'static str,
    pub(crate) says: &'static str,
    #[serde(rename = "formula")]
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "METRICS.md is written by a test")
    )]
    pub(crate) formula_words: &'static str,
    pub(crate) better: Better,
    /// Converts events, seconds and nanoseconds, in which formulas calculate, to the unit.
    pub(crate) scale: f64,
    /// Changes are averaged over cells in percentage points. Others are in percent of the baseline: levels and errors of
    /// most metrics differ between cells by orders of magnitude.
    #[serde(default)]
    pub(crate) is_share: bool,
    /// In a relative change, a smaller value counts as this: differences below it are the machine's.
    #[serde(default)]
    pub(crate) least: f64,
    /// None if a verdict does not depend on it.
    pub(crate) verdict: Option<VerdictInfo>,
    /// Whether it is of requests, which belong to no variant if turns are shorter than a request.
    #[serde(default)]
    pub(crate) is_of_requests: bool,
    /// Whether its values are wake-ups of the co-tenant, whose times the page has.
    #[serde(default)]
    pub(crate) is_of_wake_ups: bool,
    /// If it counts events over the threshold, per what. The page calculates it for other thresholds from the counts
    /// of times, and sentences say "fewer" instead of "lower".
    pub(crate) recounted: Option<Per>,
    /// Whether it is a time that central computes for, and so is in proportion to the machine's speed.
    #[serde(default)]
    pub(crate) is_of_speed: bool,
    #[serde(default)]
    pub(crate) terms: Vec<Term>,
    /// Where it is shown, beside `summary.csv` and the page, which have every metric.
    #[serde(default)]
    pub(crate) shown: Vec<Place>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Better {
    Lower = -1,
    Neither = 0,
    Higher = 1,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Per {
    Event,
    Request,
    /// It is no count, but the time over the threshold, which the page estimates from the counts.
    Time,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Term {
    Slow,
    Beyond,
    CoTenant,
    Late,
    OpenEnd,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Place {
    /// The changes in a report that decide nothing.
    Details,
    /// The pictures before and after that are drawn unless options name others.
    BeforeAfter,
    Blocks,
    /// A search eliminates budgets by these, and draws them.
    Search,
    RawTcp,
    Comparison,
    /// The levels of a group of cells: what figures of the verdict are counted from.
    Levels,
    Published,
}
