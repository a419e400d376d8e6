//! What bounds would have done, beside what budgets did: `predicted.csv`.

use anyhow::Result;
use poll_probe::Limit;
use run_format::Site;

use super::{CONFIDENCE, CellFigure, CellSummary, Summary};
use crate::measure::predicted::Predicted;
use crate::measure::{Metric, MetricKey};
use crate::stats::{Interval, Uncertain};
use crate::text::{self, rounded};

pub(crate) const FILE: &str = "predicted.csv";

pub(crate) const METRIC: Metric = Metric::BeyondMsPerS;

/// The time beyond the threshold under a bound: as predicted, and as measured where a variant has this bound and no other.
pub(crate) struct SideBySide<'a> {
    pub(crate) of: &'a Predicted,
    pub(crate) predicted: CellFigure,
    pub(crate) measured: Option<(usize, &'a CellFigure)>,
}

impl SideBySide<'_> {
    /// How much more was measured than predicted. None if nothing was measured, or one of the two has no interval.
    pub(crate) fn difference(&self) -> Option<Uncertain> {
        let (_, measured) = self.measured?;
        let predicted = self.predicted.estimate.level?;
        Some(measured.estimate.level?.minus(&predicted))
    }
}

impl Summary {
    /// All predictions of a cell. One that several variants measured is there once for each.
    pub(crate) fn predicted<'a>(
        &'a self,
        cell: &'a CellSummary,
    ) -> impl Iterator<Item = SideBySide<'a>> {
        cell.measured.predicted.iter().flat_map(move |of| {
            let what = MetricKey::new(of.site, METRIC);
            let inflation = self.inflation(what);
            let side_by_side = move |measured| SideBySide {
                of,
                predicted: CellFigure::of(what, of.beyond_ms_per_s.clone()).inflated(inflation),
                measured,
            };
            let variants = (0..self.variants.len()).filter(|at| self.is_bound_by(*at, of));
            let measured = variants.filter_map(|at| Some((at, cell.figure(what, at)?)));
            let mut measured: Vec<_> = measured.map(Some).collect();
            measured.resize(measured.len().max(1), None);
            measured.into_iter().map(side_by_side)
        })
    }

    /// Whether a variant has this bound and no other. Without a bound it is the baseline.
    fn is_bound_by(&self, variant: usize, of: &Predicted) -> bool {
        let bounds = self.variants[variant].bounds();
        let bounds: Vec<(Site, Limit)> = bounds.map(|(site, it)| (site, it.limit)).collect();
        match of.limit {
            Some(limit) => self.variants[variant].subject == 0 && bounds == [(of.site, limit)],
            None => variant == 0 && bounds.is_empty(),
        }
    }
}

impl CellSummary {
    /// The polls of a site that were recorded with their iterations.
    pub(crate) fn recorded_polls(&self, site: Site) -> Option<u64> {
        let mut found = self.measured.predicted.iter();
        let whole = found.find(|it| it.site == site && it.limit.is_none());
        whole.map(|it| it.polls)
    }

    /// The bounds that would have ended none of the [recorded polls](Self::recorded_polls) of a site.
    pub(crate) fn bounds_without_effect(&self, site: Site) -> impl Iterator<Item = Limit> {
        let polls = self.recorded_polls(site);
        let all = self.measured.predicted.iter();
        let idle = all.filter(move |it| it.site == site && Some(it.polls) == polls);
        idle.filter_map(|it| it.limit)
    }
}

const HEAD: &str = "peers,rtt_ms,payload_bytes,site,bound,slices,polls,slow_polls,longest_ns,metric,predicted,predicted_low,\
                    predicted_high,variant,measured,measured_low,measured_high,difference,difference_low,difference_high";

pub(crate) fn csv(summary: &Summary, sites: &[Site]) -> Result<Vec<u8>> {
    let of_cell = |cell| summary.predicted(cell).map(move |it| (cell, it));
    let all = summary.measured().flat_map(of_cell);
    let all = all.filter(|(_, it)| sites.contains(&it.of.site));
    text::csv(HEAD, all.map(|(cell, it)| row(summary, cell, &it)))
}

fn row(summary: &Summary, cell: &CellSummary, it: &SideBySide) -> [String; 20] {
    let number = |value: Option<f64>| {
        let value = value.filter(|it| it.is_finite()).map(rounded);
        value.map_or_else(String::new, |value| format!("{value:?}"))
    };
    let ends = |of: Option<Interval>| [of.map(|it| it.low), of.map(|it| it.high)].map(number);
    let [low, high] = ends(it.predicted.interval());
    let measured = it.measured.map(|(_, figure)| figure);
    let [measured_low, measured_high] = ends(measured.and_then(CellFigure::interval));
    let variant = it.measured.map(|(at, _)| &summary.variants[at]);
    let difference = it.difference().map(|it| it.interval(CONFIDENCE));
    let [difference_low, difference_high] = ends(difference);
    [
        cell.measured.cell.peers.to_string(),
        number(Some(cell.measured.cell.rtt_ms.ms())),
        cell.measured.cell.payload_bytes.bytes().to_string(),
        it.of.site.to_string(),
        in_words(it.of.limit),
        it.of.slices.to_string(),
        it.of.polls.to_string(),
        it.of.slow_polls.to_string(),
        it.of.longest_ns.to_string(),
        METRIC.to_string(),
        number(Some(it.predicted.estimate.value)),
        low,
        high,
        variant.map_or_else(String::new, |it| text::cell(&it.label).into_owned()),
        number(measured.map(|figure| figure.estimate.value)),
        measured_low,
        measured_high,
        number(measured.map(|figure| figure.estimate.value - it.predicted.estimate.value)),
        difference_low,
        difference_high,
    ]
}

pub(crate) fn in_words(limit: Option<Limit>) -> String {
    limit.map_or_else(|| "none".to_owned(), |limit| limit.to_string())
}
