//! What `metrics.json` says of each metric. Whoever shows, judges or documents a metric asks here.

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use super::catalogue::Metric;

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
    /// From this share of a core on that the hypervisor gives to others, the metric says nothing about variants:
    /// stolen time then lasts longer than a wake-up waits.
    pub(crate) spoilt_by_steal_percent: Option<f64>,
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
