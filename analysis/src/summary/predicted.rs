//! What bounds would have done, beside what budgets did: `predicted.csv`.

use anyhow::Result;
use polars_core::prelude::{Column, DataFrame};
use poll_probe::Limit;
use run_format::Site;

use super::{
    CONFIDENCE, CellFigure, CellSummary, Summary,
    table::{cells, numbers, texts},
};
use crate::{
    measure::{
        metric::{Metric, What},
        predicted::Predicted,
    },
    stats::{Calibration, Interval, Uncertain},
};

/// The name of the file in a report.
pub(crate) const FILE: &str = "predicted.csv";

/// The share of slow polls under a bound, in percent: as predicted, and as measured where a variant has this bound and
/// no other.
pub(crate) struct SideBySide<'a> {
    pub(crate) of: &'a Predicted,
    pub(crate) predicted: CellFigure,
    /// The variant and its share.
    pub(crate) measured: Option<(usize, &'a CellFigure)>,
}

impl SideBySide<'_> {
    /// How much more was measured than predicted. None if nothing was measured, or one of the two has no interval.
    pub(crate) fn difference(&self) -> Option<Uncertain> {
        let (_, measured) = self.measured?;
        Some(measured.level?.minus(&self.predicted.level?))
    }
}

impl Summary {
    /// Of the cells with predictions for this site, the one with the most time in slow polls.
    pub(crate) fn most_slow_time_predicted(&self, site: Site) -> Option<&CellSummary> {
        let mut cells = self.by_slow_time(site).into_iter();
        cells.find(|cell| cell.recorded_polls(site).is_some())
    }

    /// All predictions of a cell. One that several variants measured is there once for each.
    pub(crate) fn predicted<'a>(
        &'a self,
        cell: &'a CellSummary,
    ) -> impl Iterator<Item = SideBySide<'a>> {
        cell.predicted.iter().flat_map(move |of| {
            let what = What::of(of.site, Metric::SlowPercent);
            let calibration = self.calibrations.get(&what);
            let inflation = calibration.map_or(1.0, Calibration::inflation);
            let side_by_side = move |measured| SideBySide {
                of,
                predicted: CellFigure::of(what, &of.slow, inflation),
                measured,
            };
            let variants = (0..self.variants.len()).filter(|at| self.is_bound_by(*at, of));
            let measured = variants.filter_map(|at| Some((at, cell.figure(what, at)?)));
            let measured: Vec<_> = measured.map(Some).collect();
            let measured = if measured.is_empty() {
                vec![None]
            } else {
                measured
            };
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
        let mut found = self.predicted.iter();
        let whole = found.find(|it| it.site == site && it.limit.is_none());
        whole.map(|it| it.polls)
    }

    /// The bounds that would have ended none of the [recorded polls](Self::recorded_polls) of a site.
    pub(crate) fn bounds_without_effect(&self, site: Site) -> impl Iterator<Item = Limit> {
        let polls = self.recorded_polls(site);
        let of_site = self.predicted.iter().filter(move |it| it.site == site);
        of_site
            .filter(move |it| Some(it.polls) == polls)
            .filter_map(|it| it.limit)
    }
}

/// A row for each cell, site and bound.
pub(crate) fn table(summary: &Summary, sites: &[Site]) -> Result<DataFrame> {
    let all = summary.measured();
    let all = all.flat_map(|cell| summary.predicted(cell).map(move |it| (cell.cell, it)));
    let (of_rows, rows): (Vec<_>, Vec<_>) = all.filter(|it| sites.contains(&it.1.of.site)).unzip();
    let number =
        |name: &str, of: fn(&SideBySide) -> Option<f64>| numbers(name, rows.iter().map(of));
    let count = |name: &str, of: fn(&Predicted) -> u64| {
        Column::new(
            name.into(),
            rows.iter().map(|it| of(it.of)).collect::<Vec<_>>(),
        )
    };
    let limits: Vec<String> = rows.iter().map(|it| in_words(it.of.limit)).collect();
    let label = |it: &SideBySide| Some(summary.variants[it.measured?.0].label.as_str());
    let low = |of: Option<Interval>| of.map(|it| it.low);
    let high = |of: Option<Interval>| of.map(|it| it.high);
    let mut columns = cells(&of_rows);
    columns.extend([
        texts("site", rows.iter().map(|it| Some(it.of.site.name()))),
        texts("bound", limits.iter().map(|it| Some(it.as_str()))),
        count("slices", |it| it.slices as u64),
        count("polls", |it| it.polls),
        count("slow_polls", |it| it.slow_polls),
        count("longest_ns", |it| it.longest_ns),
        number("predicted_percent", |it| Some(it.predicted.value)),
        numbers(
            "predicted_low",
            rows.iter().map(|it| low(it.predicted.interval)),
        ),
        numbers(
            "predicted_high",
            rows.iter().map(|it| high(it.predicted.interval)),
        ),
        texts("variant", rows.iter().map(label)),
        number("measured_percent", |it| Some(it.measured?.1.value)),
        numbers(
            "measured_low",
            rows.iter().map(|it| low(it.measured?.1.interval)),
        ),
        numbers(
            "measured_high",
            rows.iter().map(|it| high(it.measured?.1.interval)),
        ),
        number("difference", |it| {
            Some(it.measured?.1.value - it.predicted.value)
        }),
        number("difference_low", |it| {
            Some(it.difference()?.interval(CONFIDENCE).low)
        }),
        number("difference_high", |it| {
            Some(it.difference()?.interval(CONFIDENCE).high)
        }),
    ]);
    Ok(DataFrame::new_infer_height(columns)?)
}

pub(crate) fn in_words(limit: Option<Limit>) -> String {
    limit.map_or_else(|| "none".to_owned(), |limit| limit.to_string())
}
