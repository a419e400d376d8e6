//! Whether anything drifts in a soak: every series is tested for a trend, with a correction for the number of
//! series.

pub(crate) mod series;
#[cfg(test)]
#[path = "../../tests/simulation/drift.rs"]
mod simulation;
pub(crate) mod table;
pub(crate) mod words;

use self::series::SoakSeries;
use crate::{
    load::soak::{AT, SoakColumns},
    stats::{CONFIDENCE, Interval, Trend, adjusted_p_values, is_resolved, trend},
};

const SECONDS_PER_HOUR: f64 = 3600.0;

/// All series of a soak.
pub(crate) struct Drifts {
    /// Rows up to here are drawn but not tested.
    pub(crate) warm_up_s: f64,
    pub(crate) last_s: f64,
    pub(crate) rows: usize,
    /// The number of rows after the warm-up.
    pub(crate) tested_rows: usize,
    /// The series that have a value.
    pub(crate) all: Vec<Drift>,
}

/// The trend of a series.
pub(crate) struct Drift {
    pub(crate) series: SoakSeries,
    /// The end of each row in seconds, and its value; warm-up included.
    pub(crate) values: Vec<(f64, Option<f64>)>,
    pub(crate) warm_up_s: f64,
    /// After the warm-up.
    pub(crate) median: Option<f64>,
    pub(crate) trend: Option<Trend>,
    /// Corrected for the number of series.
    pub(crate) adjusted_p_value: Option<f64>,
    /// The trend of the second half, if the series drifts. A series that only settles has none there.
    pub(crate) late_trend: Option<Trend>,
    /// The smallest slope that four of five soaks like this would detect. None if the value never changed or if no
    /// slope could be computed.
    pub(crate) detectable: Option<f64>,
}

impl Drifts {
    pub(crate) fn of(rows: &SoakColumns) -> Drifts {
        let last_s = rows.last_s();
        let warm_up_s = warm_up_s(last_s);
        let times = rows.column(AT);
        let of_series = |series: SoakSeries| {
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

    /// The series that drift.
    pub(crate) fn drifting(&self) -> impl Iterator<Item = &Drift> {
        self.all.iter().filter(|drift| drift.is_drifting())
    }
}

impl Drift {
    fn of(series: SoakSeries, values: Vec<(f64, Option<f64>)>, warm_up_s: f64) -> Drift {
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

    /// Hours and values after the warm-up.
    fn tested(&self) -> Vec<(f64, f64)> {
        let values = self
            .values
            .iter()
            .filter(|(at_s, _)| *at_s > self.warm_up_s);
        let by_hours = values.map(|(at_s, value)| Some((at_s / SECONDS_PER_HOUR, (*value)?)));
        by_hours.flatten().collect()
    }

    /// Whether its trend is resolved, and not perhaps none.
    pub(crate) fn is_drifting(&self) -> bool {
        let is_some = |it: &Trend| !it.interval.covers(0.0);
        self.adjusted_p_value.is_some_and(is_resolved) && self.trend.as_ref().is_some_and(is_some)
    }

    /// Whether it drifts, but has no resolved trend in the second half.
    pub(crate) fn has_settled(&self) -> bool {
        let late = self.late_trend.as_ref();
        self.is_drifting() && late.is_some_and(|late| !is_resolved(late.p_value))
    }
}

/// Benjamini and Yekutieli's factor. The series of one soak depend on each other, as requests depend on latency, and
/// Benjamini and Hochberg's method does not cover every kind of dependence.
fn for_dependence(tests: usize) -> f64 {
    (1..=tests).map(|rank| 1.0 / rank as f64).sum()
}

/// A tenth of the soak, at most half an hour: in that time caches fill and memory is allocated once.
fn warm_up_s(last_s: f64) -> f64 {
    const PART: f64 = 0.1;
    const MOST: f64 = 1800.0;
    (PART * last_s).min(MOST)
}

/// A slope is detected if its interval excludes zero. Half the interval is 1.960 standard errors; to be detected in
/// four of five soaks, a slope must be 0.842 standard errors larger.
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
        Drifts::of(&SoakColumns::of([
            ("at_s", times.collect()),
            ("tasks", values),
        ]))
    }

    #[test]
    fn a_series_without_values_is_left_out() {
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
    fn rare_events_have_a_mean_and_percentages_change_by_points() {
        let rows = 40;
        let dials = (0..rows).map(|row| Some(f64::from(u8::from(row % 10 == 0))));
        let late = (0..rows).map(|row| Some(f64::from(row)));
        let drifts = Drifts::of(&SoakColumns::of([
            ("at_s", (1..=rows).map(|row| Some(f64::from(row))).collect()),
            ("interval_s", vec![Some(1.0); rows as usize]),
            ("dials", dials.collect()),
            ("late_wakes", late.collect()),
            ("wakes", vec![Some(100.0); rows as usize]),
        ]));
        let of = |name| drifts.all.iter().find(|it| it.series.name == name);
        let dials = of("dials_per_minute").expect("a series");
        assert_eq!(dials.median().as_deref(), Some("0 (mean 5.00)"));
        assert!(!dials.is_drifting());
        let sentences = drifts.sentences().join("\n");
        assert!(sentences.contains(" pp per hour [+"), "{sentences}");
        assert!(!sentences.contains("% from the start"), "{sentences}");
    }

    #[test]
    fn a_series_that_grows_and_then_stays_has_settled() {
        let wobble = |row: i32| f64::from(row * 7 % 5);
        let drifts = tasks((0..300).map(|row| f64::from(row.min(120)) + wobble(row)));
        assert!(drifts.all[0].is_drifting() && drifts.all[0].has_settled());
        let drifts = tasks((0..300).map(|row| f64::from(row) + wobble(row)));
        assert!(drifts.all[0].is_drifting() && !drifts.all[0].has_settled());
    }
}
