//! Whether anything drifts in a soak: every series is tested for a trend, and what is called one holds
//! after all of them were looked at.

pub(crate) mod series;
#[cfg(test)]
mod simulation;
pub(crate) mod table;
pub(crate) mod words;

use self::series::Series;
use crate::{
    load::soak::{AT, Rows},
    stats::{Interval, Trend, adjusted_p_values, is_resolved, trend},
    summary::CONFIDENCE,
};

const SECONDS_PER_HOUR: f64 = 3600.0;

/// All series of a soak.
pub(crate) struct Drifts {
    /// What is before that is drawn, and not tested.
    pub(crate) warm_up_s: f64,
    pub(crate) last_s: f64,
    pub(crate) rows: usize,
    /// Of these, so many are tested.
    pub(crate) tested_rows: usize,
    /// Those that have a value.
    pub(crate) all: Vec<Drift>,
}

/// How a series goes on.
pub(crate) struct Drift {
    pub(crate) series: Series,
    /// The end of each row in seconds, and its value; warm-up included.
    pub(crate) values: Vec<(f64, Option<f64>)>,
    pub(crate) warm_up_s: f64,
    /// After the warm-up.
    pub(crate) median: Option<f64>,
    pub(crate) trend: Option<Trend>,
    /// After all series were looked at.
    pub(crate) adjusted_p_value: Option<f64>,
    /// Of the second half, if it drifts at all: what only settles goes on no more.
    pub(crate) late_trend: Option<Trend>,
    /// A slope that would have been found in four of five soaks like this; none where nothing ever
    /// changed, or no slope could be told.
    pub(crate) detectable: Option<f64>,
}

impl Drifts {
    pub(crate) fn of(rows: &Rows) -> Drifts {
        let last_s = rows.last_s();
        let warm_up_s = warm_up_s(last_s);
        let times = rows.column(AT);
        let of_series = |series: Series| {
            let values = times.iter().zip(series.values(rows));
            let values = values.filter_map(|(at, value)| Some(((*at)?, value)));
            Drift::of(series, values.collect(), warm_up_s)
        };
        let mut all: Vec<Drift> = series::ALL
            .into_iter()
            .map(of_series)
            .filter(|drift| drift.median.is_some())
            .collect();
        let p_values: Vec<Option<f64>> = all
            .iter()
            .map(|drift| Some(drift.trend.as_ref()?.p_value))
            .collect();
        let tests = p_values.iter().flatten().count();
        for (drift, p_value) in all.iter_mut().zip(adjusted_p_values(&p_values)) {
            drift.adjusted_p_value = p_value.map(|p| (p * for_dependence(tests)).min(1.0));
            if drift.is_drifting() {
                let tested = drift.tested();
                drift.late_trend = trend(&tested[tested.len() / 2..], CONFIDENCE);
            }
        }
        let tested = |at: &&Option<f64>| at.is_some_and(|at| at > warm_up_s);
        Drifts {
            warm_up_s,
            last_s,
            rows: rows.len(),
            tested_rows: times.iter().filter(tested).count(),
            all,
        }
    }

    /// Those that do.
    pub(crate) fn drifting(&self) -> impl Iterator<Item = &Drift> {
        self.all.iter().filter(|drift| drift.is_drifting())
    }
}

impl Drift {
    fn of(series: Series, values: Vec<(f64, Option<f64>)>, warm_up_s: f64) -> Drift {
        let mut drift = Drift {
            series,
            values,
            warm_up_s,
            median: None,
            trend: None,
            adjusted_p_value: None,
            late_trend: None,
            detectable: None,
        };
        let tested = drift.tested();
        drift.median = median(&tested);
        drift.trend = trend(&tested, CONFIDENCE);
        drift.detectable = drift.trend.as_ref().and_then(detectable);
        drift
    }

    /// What is left without the warm-up, by hours.
    fn tested(&self) -> Vec<(f64, f64)> {
        let after = |(at_s, _): &&(f64, Option<f64>)| *at_s > self.warm_up_s;
        let by_hours =
            |(at_s, value): &(f64, Option<f64>)| Some((at_s / SECONDS_PER_HOUR, (*value)?));
        let values = self.values.iter().filter(after);
        values.filter_map(by_hours).collect()
    }

    pub(crate) fn is_drifting(&self) -> bool {
        self.adjusted_p_value.is_some_and(is_resolved)
    }

    /// Whether it drifted, but did no more, as far as that can be told, in the second half.
    pub(crate) fn has_settled(&self) -> bool {
        let late = self.late_trend.as_ref();
        self.is_drifting() && late.is_some_and(|late| !is_resolved(late.p_value))
    }
}

/// Benjamini and Yekutieli's factor: the series of one soak depend on each other in any way there is, as
/// requests do on latency, and Benjamini and Hochberg's bound does not hold for all of these.
fn for_dependence(tests: usize) -> f64 {
    (1..=tests).map(|rank| 1.0 / rank as f64).sum()
}

/// A tenth of the soak, and no more than half an hour: caches fill, and memory is got once.
fn warm_up_s(last_s: f64) -> f64 {
    const PART: f64 = 0.1;
    const MOST: f64 = 1800.0;
    (PART * last_s).min(MOST)
}

/// The interval's half is what chance moves a slope by; a slope that is found in four of five soaks is
/// further from zero by as much as that is seldom missed.
fn detectable(trend: &Trend) -> Option<f64> {
    /// Standard normal quantiles of 0.975 and 0.8.
    const TO_BE_BEYOND: f64 = 1.960;
    const SELDOM_MISSED: f64 = 0.842;
    let Interval { low, high } = trend.interval;
    let half = (high - low) / 2.0;
    let slope = half * (TO_BE_BEYOND + SELDOM_MISSED) / TO_BE_BEYOND;
    (slope.is_finite() && slope > 0.0).then_some(slope)
}

fn median(values: &[(f64, f64)]) -> Option<f64> {
    let mut sorted: Vec<f64> = values.iter().map(|(_, value)| *value).collect();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tasks(values: impl IntoIterator<Item = f64>) -> Drifts {
        let values: Vec<Option<f64>> = values.into_iter().map(Some).collect();
        let times = (1..=values.len()).map(|row| Some(10.0 * row as f64));
        Drifts::of(&Rows::of([("at_s", times.collect()), ("tasks", values)]))
    }

    #[test]
    fn what_was_not_measured_is_no_series() {
        let drifts = tasks([9.0; 50]);
        let names: Vec<&str> = drifts.all.iter().map(|it| it.series.name).collect();
        assert_eq!(names, ["tasks"]);
        assert_eq!(drifts.drifting().count(), 0);
        assert_eq!(
            drifts.all[0].detectable, None,
            "a slope of zero is not found"
        );
    }

    #[test]
    fn the_warm_up_is_a_tenth_and_no_more_than_half_an_hour() {
        assert_eq!(warm_up_s(1000.0), 100.0);
        assert_eq!(warm_up_s(8.0 * SECONDS_PER_HOUR), 1800.0);
        let drifts = tasks((0..100).map(|row| if row < 10 { f64::from(row) } else { 9.0 }));
        assert_eq!((drifts.rows, drifts.tested_rows), (100, 90));
        assert_eq!(drifts.drifting().count(), 0);
    }

    #[test]
    fn what_grows_and_then_stays_has_settled() {
        let wobble = |row: i32| f64::from(row * 7 % 5);
        let drifts = tasks((0..300).map(|row| f64::from(row.min(120)) + wobble(row)));
        assert!(drifts.all[0].is_drifting() && drifts.all[0].has_settled());
        let drifts = tasks((0..300).map(|row| f64::from(row) + wobble(row)));
        assert!(drifts.all[0].is_drifting() && !drifts.all[0].has_settled());
    }
}
