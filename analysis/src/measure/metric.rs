//! Metrics, and the keys of their figures.

use std::fmt;
use std::str::FromStr;

use run_format::{HistogramOf, Site, serde_as_text};

pub(crate) use super::catalogue::Metric;
use super::catalogue::{Formula, Parts, SliceView};
use super::metric_info::Place;
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
