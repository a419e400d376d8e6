//! The table `predicted.csv`: what bounds would have done, beside what budgets did.

use anyhow::Result;
use poll_probe::Limit;
use run_format::{BASELINE, Site};

use super::{CellFigure, CellSummary, Summary};
use crate::metrics::predicted::Prediction;
use crate::metrics::{Metric, MetricKey};
use crate::stats::{CONFIDENCE, Interval, Uncertain};
use crate::text::{self, rounded};

pub(crate) const FILE: &str = "predicted.csv";

pub(crate) const METRIC: Metric = Metric::BeyondMsPerS;

/// The time beyond the threshold under a bound, as it was predicted. Beside it stands what was measured, if a variant has this
/// bound and no other.
pub(crate) struct PredictedAndMeasured<'a> {
    pub(crate) prediction: &'a Prediction,
    pub(crate) predicted_figure: CellFigure,
    /// The variant that has the bound, and its figure.
    pub(crate) measured_figure: Option<(usize, &'a CellFigure)>,
}

impl PredictedAndMeasured<'_> {
    /// How much more was measured than predicted. None if nothing was measured, or one of the two has no interval.
    pub(crate) fn difference(&self) -> Option<Uncertain> {
        let (_, measured) = self.measured_figure?;
        let predicted = self.predicted_figure.estimate.level?;
        Some(measured.estimate.level?.minus(&predicted))
    }
}

impl Summary {
    /// All predictions of a cell. A prediction that several variants measured is there once for each of them.
    pub(crate) fn predictions<'a>(
        &'a self,
        cell: &'a CellSummary,
    ) -> impl Iterator<Item = PredictedAndMeasured<'a>> {
        cell.data.predictions.iter().flat_map(move |prediction| {
            let key = MetricKey::new(prediction.site, METRIC);
            let inflation = self.inflation(key);
            let with_measured = move |measured_figure| PredictedAndMeasured {
                prediction,
                predicted_figure: CellFigure::without_change(
                    key,
                    prediction.beyond_ms_per_s.clone(),
                )
                .inflated(inflation),
                measured_figure,
            };
            let variants =
                (0..self.variants.len()).filter(|variant| self.is_bound_by(*variant, prediction));
            let mut measured: Vec<_> = variants
                .filter_map(|variant| Some((variant, cell.figure(key, variant)?)))
                .map(Some)
                .collect();
            measured.resize(measured.len().max(1), None);
            measured.into_iter().map(with_measured)
        })
    }

    /// Whether a variant has this bound and no other. Without a bound it is the baseline.
    fn is_bound_by(&self, variant: usize, prediction: &Prediction) -> bool {
        let compared = &self.variants[variant];
        let limits = compared.bounds().map(|(site, bound)| (site, bound.limit));
        let bounds: Vec<(Site, Limit)> = limits.collect();
        match prediction.limit {
            Some(limit) => compared.subject == 0 && bounds == [(prediction.site, limit)],
            None => variant == BASELINE && bounds.is_empty(),
        }
    }
}

impl CellSummary {
    /// The polls of a site that were recorded with their iterations.
    pub(crate) fn recorded_polls(&self, site: Site) -> Option<u64> {
        let mut found = self.data.predictions.iter();
        let whole = found.find(|prediction| prediction.site == site && prediction.limit.is_none());
        whole.map(|whole| whole.polls)
    }

    /// The bounds that would have ended none of the [recorded polls](Self::recorded_polls) of a site.
    pub(crate) fn bounds_without_effect(&self, site: Site) -> impl Iterator<Item = Limit> {
        let polls = self.recorded_polls(site);
        let all = self.data.predictions.iter();
        let without_effect = all
            .filter(move |prediction| prediction.site == site && Some(prediction.polls) == polls);
        without_effect.filter_map(|prediction| prediction.limit)
    }
}

const HEAD: &str = "peers,rtt_ms,payload_bytes,site,bound,slices,polls,slow_polls,longest_ns,metric,predicted,predicted_low,\
                    predicted_high,variant,measured,measured_low,measured_high,difference,difference_low,difference_high";

pub(crate) fn csv(summary: &Summary, sites: &[Site]) -> Result<Vec<u8>> {
    let rows = summary.measured_cells().flat_map(|cell| {
        let all = summary.predictions(cell);
        let asked = all.filter(move |pair| sites.contains(&pair.prediction.site));
        asked.map(move |pair| row(summary, cell, &pair))
    });
    text::csv(HEAD, rows)
}

fn row(summary: &Summary, cell: &CellSummary, pair: &PredictedAndMeasured) -> [String; 20] {
    let number = |value: Option<f64>| {
        let finite = value.filter(|value| value.is_finite()).map(rounded);
        finite.map_or_else(String::new, |value| format!("{value:?}"))
    };
    let ends = |interval: Option<Interval>| {
        [
            interval.map(|interval| interval.low),
            interval.map(|interval| interval.high),
        ]
        .map(number)
    };
    let [low, high] = ends(pair.predicted_figure.interval());
    let measured = pair.measured_figure.map(|(_, figure)| figure);
    let [measured_low, measured_high] = ends(measured.and_then(CellFigure::interval));
    let variant = pair
        .measured_figure
        .map(|(index, _)| &summary.variants[index]);
    let difference = pair
        .difference()
        .map(|difference| difference.interval(CONFIDENCE));
    let [difference_low, difference_high] = ends(difference);
    [
        cell.cell().peers.to_string(),
        number(Some(cell.cell().rtt_ms.ms())),
        cell.cell().payload_bytes.bytes().to_string(),
        pair.prediction.site.to_string(),
        limit_words(pair.prediction.limit),
        pair.prediction.slices.to_string(),
        pair.prediction.polls.to_string(),
        pair.prediction.slow_polls.to_string(),
        pair.prediction.longest_ns.to_string(),
        METRIC.to_string(),
        number(Some(pair.predicted_figure.estimate.value)),
        low,
        high,
        variant.map_or_else(String::new, |variant| variant.label.clone()),
        number(measured.map(|figure| figure.estimate.value)),
        measured_low,
        measured_high,
        number(measured.map(|figure| figure.estimate.value - pair.predicted_figure.estimate.value)),
        difference_low,
        difference_high,
    ]
}

pub(crate) fn limit_words(limit: Option<Limit>) -> String {
    limit.map_or_else(|| "none".to_owned(), |limit| limit.to_string())
}
