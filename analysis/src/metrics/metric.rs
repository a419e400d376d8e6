//! Metrics, what `metrics.json` says about each of them, and the keys of their figures.

use std::fmt;
use std::str::FromStr;
use std::sync::LazyLock;

use run_format::{HistogramOf, Site, serde_as_text};
use serde::Deserialize;

pub(crate) use super::catalogue::Metric;
use super::catalogue::{Formula, SliceView};
use crate::stats::{RatioKind, RatioPart};
use crate::text::joined;

impl Metric {
    pub(crate) fn shown_in(part: ReportPart) -> Vec<Metric> {
        let mut all = Metric::ALL.to_vec();
        all.retain(|metric| metric.info().shown.contains(&part));
        all
    }

    /// The heading of a column, such as "request latency (p99), ms".
    pub(crate) fn title(self) -> String {
        format!("{}, {}", self.info().words, self.info().unit)
    }

    /// The unit of the difference between two levels, in which changes in a cell are shown.
    pub(crate) fn unit_of_difference(self) -> &'static str {
        match self.info().unit {
            share if share.starts_with('%') => "pp",
            other => other,
        }
    }

    /// The unit of averages over cells.
    pub(crate) fn unit_of_mean_change(self) -> &'static str {
        match self.info().is_share {
            true => "pp",
            false => "%",
        }
    }

    /// Whether a verdict depends on the metric, and budgets are not meant to improve it.
    pub(crate) fn is_cost(self) -> bool {
        let verdict = self.info().verdict.as_ref();
        verdict.is_some_and(|verdict| !verdict.is_benefit)
    }

    /// The kind of the ratio that the metric is. None for a quantile.
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
        let lines = infos.map(|info| format!("\n- {}: {} ({})", info.name, info.words, info.unit));
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
    /// The site whose polls the metric is about. None for a metric of the worker as a whole.
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

    /// The keys of each site, and then those of the worker.
    pub(crate) fn all(sites: &[Site]) -> Vec<MetricKey> {
        let sites = sites.iter().copied().map(Some).chain([None]);
        let keys = sites.flat_map(|site| {
            let metrics = Metric::ALL.iter().copied();
            let here = metrics.filter(move |metric| metric.is_by_site() == site.is_some());
            here.map(move |metric| MetricKey { site, metric })
        });
        keys.collect()
    }

    /// The histogram, and the share of its values that lies below the quantile. None for a ratio.
    pub(super) fn quantile(self) -> Option<(HistogramOf, f64)> {
        match self.metric.formula() {
            Formula::SiteQuantile(share) => Some((HistogramOf::Polls(self.site?), share)),
            Formula::WorkerQuantile(histogram, share) => Some((histogram, share)),
            _ => None,
        }
    }

    pub(super) fn parts(self, view: &SliceView) -> Option<RatioPart> {
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

/// The entries of `metrics.json`, in the order of [`Metric::ALL`].
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
    /// The name in tables and options.
    pub(crate) name: &'static str,
    /// The name in texts.
    pub(crate) words: &'static str,
    pub(crate) unit: &'static str,
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "METRICS.md is written by a test")
    )]
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
    /// Whether changes are averaged over cells in percentage points. Those of other metrics are averaged in percent of the
    /// baseline, because their levels and errors differ between cells by orders of magnitude. Inside a cell, the difference of
    /// every percentage is in percentage points, also of one that is averaged in percent.
    #[serde(default)]
    pub(crate) is_share: bool,
    /// In a relative change, a smaller value is raised to this one, because differences below it come from the machine.
    #[serde(default)]
    pub(crate) least: f64,
    /// None if no verdict depends on the metric.
    pub(crate) verdict: Option<VerdictInfo>,
    /// Whether the metric is about requests. They belong to no variant if turns are shorter than a request.
    #[serde(default)]
    pub(crate) is_of_requests: bool,
    /// Whether the metric is about wake-ups of the co-tenant, whose times the page has.
    #[serde(default)]
    pub(crate) is_of_wake_ups: bool,
    /// The parts of reports that show the metric, beside `summary.csv` and the page, which have every metric.
    #[serde(default)]
    pub(crate) shown: Vec<ReportPart>,
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
    /// The name in `--margin`.
    pub(crate) option: &'static str,
    /// Whether budgets are meant to improve the quantity. Otherwise it is a cost.
    pub(crate) is_benefit: bool,
    /// The least change that matters unless an option says otherwise, in the unit of averages over cells.
    pub(crate) margin: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ReportPart {
    /// The pictures before and after, unless options name other metrics.
    BeforeAfter,
    Blocks,
    /// A search, which eliminates budgets by these metrics and draws them.
    Search,
    RawTcp,
    Comparison,
    /// The levels that the changes of a verdict start from.
    Levels,
}
