//! For which thresholds the change of the time beyond the threshold holds.

use super::Outcome;
use crate::measure::curve::CurvePoint;
use crate::measure::metric::{Metric, MetricKey};
use crate::measure::quantity::{Margin, Quantity};
use crate::options::Options;
use crate::stats::{self, CONFIDENCE, Interval, MeanChange};
use crate::summary::Summary;

#[derive(Clone, Copy, Debug)]
pub(crate) struct AtThreshold {
    pub(crate) threshold_ns: u64,
    /// The mean over cells, in the unit of the metric.
    pub(crate) level: f64,
    /// In percent, with its 95 % interval. None for the baseline.
    pub(crate) change: Option<(f64, Interval)>,
    /// The interval that holds together with those at all other thresholds. None if fewer cells have a change here than
    /// elsewhere: a few long polls in one cell are no effect of a variant.
    pub(crate) together: Option<Interval>,
}

pub(crate) fn curve(summary: &Summary, site: run_format::Site, variant: usize) -> Vec<AtThreshold> {
    let inflation = summary.inflation(MetricKey::new(site, Metric::BeyondMsPerS));
    let cells = || summary.measured().map(|cell| &cell.measured.curve);
    let points = cells().map(Vec::len).max().unwrap_or(0);
    let confidence = 1.0 - (1.0 - CONFIDENCE) / points.max(1) as f64;
    let known = |place: usize| {
        let values =
            cells().filter_map(|curve| (*curve.get(place)?.values.get(variant)?)?.relative);
        values.count()
    };
    let most = (0..points).map(known).max().unwrap_or(0);
    let at = |place: usize| {
        let points: Vec<&CurvePoint> = cells().filter_map(|curve| curve.get(place)).collect();
        let values = points.iter().filter_map(|it| *it.values.get(variant)?);
        let values: Vec<_> = values.collect();
        let relatives = values.iter().filter_map(|it| it.relative);
        let relatives: Vec<_> = relatives.map(|it| it.inflated(inflation)).collect();
        let mean = MeanChange::of_relatives(&relatives);
        let levels: Vec<f64> = values.iter().map(|it| it.level).collect();
        Some(AtThreshold {
            threshold_ns: points.first()?.threshold_ns,
            level: stats::mean(levels).unwrap_or(0.0),
            change: mean.map(|it| (it.value(), it.interval(CONFIDENCE))),
            together: mean
                .filter(|_| relatives.len() == most)
                .map(|it| it.interval(confidence)),
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
            .map(|it| Some(Outcome::of_loss(it.together?, margin)))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::FigureOptions;

    /// By threshold in µs: the interval that counts, if one does.
    fn holds(curve: &[(u64, Option<(f64, f64)>)]) -> Holds {
        let at = |(us, interval): &(u64, Option<(f64, f64)>)| AtThreshold {
            threshold_ns: us * 1000,
            level: 1.0,
            change: None,
            together: interval.map(|(low, high)| Interval { low, high }),
        };
        let curve: Vec<AtThreshold> = curve.iter().map(at).collect();
        let text = r#"{"threshold": 50000, "site": [], "keep_disturbed": false, "metric": []}"#;
        let figures: FigureOptions = serde_json::from_str(text).expect("options");
        Holds::of(&curve, &figures.into())
    }

    const GAIN: Option<(f64, f64)> = Some((-60.0, -20.0));
    const LOSS: Option<(f64, f64)> = Some((20.0, 60.0));
    const OPEN: Option<(f64, f64)> = Some((-30.0, 20.0));

    #[test]
    fn a_gain_holds_for_the_thresholds_around_its_own() {
        let found = holds(&[
            (10, GAIN),
            (20, OPEN),
            (30, GAIN),
            (50, GAIN),
            (70, GAIN),
            (100, None),
        ]);
        assert_eq!(found.range, Some([30_000, 70_000]));
        assert!(found.opposite.is_empty());
    }

    #[test]
    fn an_opposite_sign_is_found_where_the_change_is_known_in_all_cells() {
        let found = holds(&[(10, LOSS), (50, GAIN), (1000, None), (7000, LOSS)]);
        assert_eq!(found.range, Some([50_000, 50_000]));
        assert_eq!(found.opposite, [10_000, 7_000_000]);
        assert_eq!(holds(&[(10, LOSS), (50, OPEN)]), Holds::default());
    }
}
