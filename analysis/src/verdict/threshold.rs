//! For which thresholds the change of the time beyond the threshold holds.

use super::Outcome;
use crate::{
    measure::{
        curve::CurvePoint,
        metric::{Metric, MetricKey},
        quantity::{Margin, Quantity},
    },
    options::Options,
    stats::{CONFIDENCE, Interval, MeanChange},
    summary::Summary,
};

/// A variant at one threshold, over all cells.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AtThreshold {
    pub(crate) threshold_ns: u64,
    /// The mean over cells, in the unit of the metric.
    pub(crate) level: f64,
    /// In percent, with its 95 % interval. None for the baseline.
    pub(crate) change: Option<(f64, Interval)>,
}

/// By threshold.
pub(crate) fn curve(summary: &Summary, site: run_format::Site, variant: usize) -> Vec<AtThreshold> {
    let inflation = summary.inflation(MetricKey::new(site, Metric::BeyondMsPerS));
    let cells = || summary.measured().map(|cell| &cell.measured.curve);
    let points = cells().map(Vec::len).max().unwrap_or(0);
    let at = |place: usize| {
        let points: Vec<&CurvePoint> = cells().filter_map(|curve| curve.get(place)).collect();
        let values = points.iter().filter_map(|it| *it.values.get(variant)?);
        let values: Vec<_> = values.collect();
        let relatives = values.iter().filter_map(|it| it.relative);
        let relatives: Vec<_> = relatives.map(|it| it.inflated(inflation)).collect();
        let mean = MeanChange::of_relatives(&relatives);
        Some(AtThreshold {
            threshold_ns: points.first()?.threshold_ns,
            level: values.iter().map(|it| it.level).sum::<f64>() / values.len().max(1) as f64,
            change: mean.map(|it| (it.value(), it.interval(CONFIDENCE))),
        })
    };
    (0..points).filter_map(at).collect()
}

/// Where the conclusion at the report's threshold holds.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Holds {
    /// The least and the greatest threshold around that of the report with the same outcome. None if there is neither a
    /// gain nor a loss.
    pub(crate) range: Option<[u64; 2]>,
    /// The thresholds with the opposite outcome.
    pub(crate) opposite: Vec<u64>,
}

impl Holds {
    pub(super) fn of(curve: &[AtThreshold], options: &Options) -> Holds {
        let Some(quantity) = Quantity::of_metric(Metric::BeyondMsPerS) else {
            return Holds::default();
        };
        let margin = Margin::of(quantity, &options.figures.margin);
        let outcomes: Vec<Option<Outcome>> = curve
            .iter()
            .map(|it| {
                let (_, loss) = it.change?;
                Some(Outcome::of_loss(loss, margin))
            })
            .collect();
        let own = curve
            .iter()
            .position(|it| it.threshold_ns == options.figures.threshold);
        let Some(own) =
            own.filter(|at| matches!(outcomes[*at], Some(Outcome::Better | Outcome::Worse)))
        else {
            return Holds::default();
        };
        let is_same = |at: &usize| outcomes[*at] == outcomes[own];
        let first = (0..own).rev().take_while(is_same).last().unwrap_or(own);
        let last = (own..curve.len()).take_while(is_same).last().unwrap_or(own);
        let opposite = match outcomes[own] {
            Some(Outcome::Better) => Outcome::Worse,
            _ => Outcome::Better,
        };
        let is_opposite = |at: &usize| outcomes[*at] == Some(opposite);
        let opposite = (0..curve.len()).filter(is_opposite);
        Holds {
            range: Some([first, last].map(|at| curve[at].threshold_ns)),
            opposite: opposite.map(|at| curve[at].threshold_ns).collect(),
        }
    }
}
