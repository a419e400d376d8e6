//! How the time beyond the threshold depends on the threshold.

use std::collections::BTreeMap;

use run_format::{BASELINE, Site};

use super::{Judged, Outcome};
use crate::measure::{Metric, MetricKey, Quantity};
use crate::stats::{self, Interval, MeanChange};
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
    pub(crate) together: Option<Interval>,
}

pub(super) fn curve(summary: &Summary, site: Site, variant: usize) -> Vec<AtThreshold> {
    let inflation = summary.inflation(MetricKey::new(site, Metric::BeyondMsPerS));
    let curves = || summary.measured().map(|cell| &cell.measured.curve);
    let points = curves().map(Vec::len).max().unwrap_or(0);
    let together = stats::confidence_of_each(points);
    let values =
        |at: usize| curves().filter_map(move |curve| curve.get(at)?.values.get(variant)?.as_ref());
    let relatives = |at: usize| values(at).filter_map(|value| value.relative);
    let most = (0..points).map(|at| relatives(at).count()).max();
    let at = |at: usize| {
        let inflated: Vec<_> = relatives(at)
            .map(|relative| relative.inflated(inflation))
            .collect();
        let change = MeanChange::from_relatives(&inflated);
        let in_most_cells = change.filter(|_| Some(inflated.len()) == most);
        Some(AtThreshold {
            threshold_ns: curves().find_map(|curve| curve.get(at))?.threshold_ns,
            level: stats::mean(values(at).map(|value| value.level.value)).unwrap_or(0.0),
            change,
            together: in_most_cells.map(|change| change.interval(together)),
        })
    };
    (0..points).filter_map(at).collect()
}

/// Judges the change of the time beyond each threshold over some cells. At the report's threshold the tables show the same.
pub(super) fn judged(
    cells: &[&CellSummary],
    variant: usize,
    inflation: f64,
    confidence: f64,
    quantity: Quantity,
) -> BTreeMap<u64, Judged> {
    let curves: Vec<_> = cells
        .iter()
        .map(|cell| &cell.measured.curve)
        .filter(|curve| !curve.is_empty())
        .collect();
    let thresholds = curves.first().into_iter().flat_map(|curve| curve.iter());
    let by_threshold = thresholds.enumerate().filter_map(|(at, point)| {
        let (mut levels, mut relatives) = ([Vec::new(), Vec::new()], Vec::new());
        for curve in &curves {
            let value = |variant: usize| curve.get(at)?.values.get(variant)?.as_ref();
            if let (Some(before), Some(after)) = (value(BASELINE), value(variant))
                && let Some(relative) = after.relative
            {
                levels[0].push(before.level.value);
                levels[1].push(after.level.value);
                relatives.push(relative.inflated(inflation));
            }
        }
        let change = MeanChange::from_relatives(&relatives)?;
        let [before, after] = levels.map(stats::mean);
        let judged = Judged {
            quantity,
            value: change.value(),
            interval: change.interval(confidence),
            cells: relatives.len(),
            levels: before.zip(after).map(|(before, after)| [before, after]),
        };
        Some((point.threshold_ns, judged))
    });
    by_threshold.collect()
}

/// The thresholds with a loss if there is a gain at the report's threshold, or with a gain if there is a loss.
pub(super) fn opposite(
    curve: &[AtThreshold],
    threshold_ns: u64,
    beyond: Option<Quantity>,
) -> Vec<u64> {
    let outcome = |at: &AtThreshold| Some(Outcome::by_loss(at.together?, beyond?.margin));
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
            together: interval.map(|(low, high)| Interval { low, high }),
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
