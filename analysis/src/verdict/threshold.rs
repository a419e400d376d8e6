//! How the time beyond the threshold depends on the threshold.

use std::collections::BTreeMap;

use run_format::{BASELINE, Site};

use super::{BeforeAfter, Outcome, QuantityChange};
use crate::metrics::curve::{CurvePoint, CurveValue};
use crate::metrics::{Metric, MetricKey, Quantity};
use crate::stats::{self, Interval, MeanChange, Uncertain};
use crate::summary::{CellSummary, Summary};

#[derive(Clone, Copy, Debug)]
pub(crate) struct AtThreshold {
    pub(crate) threshold_ns: u64,
    /// The mean time beyond the threshold over cells, in the unit of the metric.
    pub(crate) level: f64,
    /// The mean change over cells. None for the baseline.
    pub(crate) change: Option<MeanChange>,
    /// The interval of the change that holds together with those at all other thresholds. None if fewer cells have a change
    /// here than elsewhere, since a few long polls in one cell are no effect of a variant.
    pub(crate) simultaneous_interval: Option<Interval>,
}

/// The curves of some cells. All have the same thresholds. A cell without a complete block has no curve.
struct Curves<'a> {
    curves: Vec<&'a [CurvePoint]>,
    /// The factor by which a calibration widens changes.
    inflation: f64,
}

impl<'a> Curves<'a> {
    fn new(cells: impl IntoIterator<Item = &'a CellSummary>, inflation: f64) -> Curves<'a> {
        let all = cells.into_iter().map(|cell| &cell.data.curve[..]);
        Curves {
            curves: all.filter(|curve| !curve.is_empty()).collect(),
            inflation,
        }
    }

    /// The thresholds with their positions in the curves.
    fn thresholds(&self) -> impl ExactSizeIterator<Item = (usize, u64)> {
        let first = self.curves.first().copied().unwrap_or_default();
        let thresholds = first.iter().map(|point| point.threshold_ns);
        thresholds.enumerate()
    }

    /// The values of a variant at a threshold, in the cells where they are known.
    fn values(&self, at: usize, variant: usize) -> impl Iterator<Item = &'a CurveValue> {
        let curves = self.curves.iter();
        curves.filter_map(move |curve| curve[at].values.get(variant)?.as_ref())
    }

    /// The changes of a variant at a threshold, in percent.
    fn changes(&self, at: usize, variant: usize) -> Vec<Uncertain> {
        let changes = self.values(at, variant).filter_map(|value| value.relative);
        changes
            .map(|change| change.inflated(self.inflation))
            .collect()
    }

    /// The means of the levels before and after, over the cells in which the change is known.
    fn levels(&self, at: usize, variant: usize) -> Option<BeforeAfter> {
        let pair = |curve: &&'a [CurvePoint]| {
            let value = |variant: usize| curve[at].values.get(variant)?.as_ref();
            let (before, after) = (value(BASELINE)?, value(variant)?);
            after
                .relative
                .map(|_| (before.level.value, after.level.value))
        };
        let (before, after): (Vec<f64>, Vec<f64>) = self.curves.iter().filter_map(pair).unzip();
        Some(BeforeAfter {
            before: stats::mean(before)?,
            after: stats::mean(after)?,
        })
    }
}

pub(super) fn curve(summary: &Summary, site: Site, variant: usize) -> Vec<AtThreshold> {
    let inflation = summary.inflation(MetricKey::new(site, Metric::BeyondMsPerS));
    let curves = Curves::new(summary.measured_cells(), inflation);
    let confidence = stats::confidence_of_each(curves.thresholds().len());
    let count = |(at, _)| curves.changes(at, variant).len();
    let most = curves.thresholds().map(count).max();
    let at_threshold = |(at, threshold_ns)| {
        let changes = curves.changes(at, variant);
        let change = MeanChange::from_relatives(&changes);
        let in_most_cells = change.filter(|_| Some(changes.len()) == most);
        AtThreshold {
            threshold_ns,
            level: stats::mean(curves.values(at, variant).map(|value| value.level.value))
                .unwrap_or(0.0),
            change,
            simultaneous_interval: in_most_cells.map(|change| change.interval(confidence)),
        }
    };
    curves.thresholds().map(at_threshold).collect()
}

/// The change of the time beyond each threshold over some cells. At the threshold of the report, the change is the one
/// that the tables show.
pub(super) fn changes(
    cells: &[&CellSummary],
    variant: usize,
    inflation: f64,
    confidence: f64,
    quantity: Quantity,
) -> BTreeMap<u64, QuantityChange> {
    let curves = Curves::new(cells.iter().copied(), inflation);
    let over_cells = |(at, threshold_ns)| {
        let changes = curves.changes(at, variant);
        let change = MeanChange::from_relatives(&changes)?;
        let at_threshold = QuantityChange {
            quantity,
            value: change.value(),
            interval: change.interval(confidence),
            cells: changes.len(),
            levels: curves.levels(at, variant),
        };
        Some((threshold_ns, at_threshold))
    };
    curves.thresholds().filter_map(over_cells).collect()
}

/// The thresholds with a loss if there is a gain at the report's threshold, or with a gain if there is a loss.
pub(super) fn opposite(
    curve: &[AtThreshold],
    threshold_ns: u64,
    beyond: Option<Quantity>,
) -> Vec<u64> {
    let outcome =
        |at: &AtThreshold| Some(Outcome::by_loss(at.simultaneous_interval?, beyond?.margin));
    let own = curve.iter().find(|at| at.threshold_ns == threshold_ns);
    let wanted = match own.and_then(outcome) {
        Some(Outcome::Better) => Outcome::Worse,
        Some(Outcome::Worse) => Outcome::Better,
        _ => return Vec::new(),
    };
    let opposite = curve.iter().filter(|at| outcome(at) == Some(wanted));
    opposite.map(|at| at.threshold_ns).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The opposite thresholds of a curve. Each point has its threshold in µs and its interval, if the interval counts.
    fn found(curve: &[(u64, Option<(f64, f64)>)]) -> Vec<u64> {
        let at = |(us, interval): &(u64, Option<(f64, f64)>)| AtThreshold {
            threshold_ns: us * 1000,
            level: 1.0,
            change: None,
            simultaneous_interval: interval.map(|(low, high)| Interval { low, high }),
        };
        let curve: Vec<AtThreshold> = curve.iter().map(at).collect();
        opposite(&curve, 50_000, Quantity::by_metric(Metric::BeyondMsPerS))
    }

    const GAIN: Option<(f64, f64)> = Some((-60.0, -20.0));
    const LOSS: Option<(f64, f64)> = Some((20.0, 60.0));
    const OPEN: Option<(f64, f64)> = Some((-30.0, 20.0));

    #[test]
    fn an_opposite_sign_is_found_where_the_change_is_known_in_all_cells() {
        let losses = [(10, LOSS), (50, GAIN), (1000, None), (7000, LOSS)];
        assert_eq!(found(&losses), [10_000, 7_000_000]);
        assert!(found(&[(10, LOSS), (50, OPEN)]).is_empty());
        assert!(found(&[(10, GAIN), (20, OPEN), (50, GAIN)]).is_empty());
    }
}
