//! Whether anything drifts in a soak: the slope of every series, with an interval that allows for the number of
//! series.

pub(crate) mod series;
#[cfg(test)]
#[path = "../../tests/simulation/drift.rs"]
mod simulation;

use anyhow::Result;
use polars_core::prelude::DataFrame;

use self::series::SoakSeries;
use crate::{
    load::soak::{AT, SoakColumns},
    stats::{CONFIDENCE, Interval, Trend, trend},
    summary::table::{numbers, texts},
    text::{change, count, lasting, number, signed},
};

const SECONDS_PER_HOUR: f64 = 3600.0;

pub(crate) struct Drifts {
    /// Rows up to here are drawn and not judged.
    pub(crate) warm_up_s: f64,
    pub(crate) last_s: f64,
    pub(crate) rows: usize,
    /// The number of rows after the warm-up.
    pub(crate) judged_rows: usize,
    pub(crate) all: Vec<Drift>,
}

pub(crate) struct Drift {
    pub(crate) series: SoakSeries,
    /// The end of each row in seconds, and its value; warm-up included.
    pub(crate) values: Vec<(f64, Option<f64>)>,
    pub(crate) warm_up_s: f64,
    pub(crate) median: f64,
    /// Its interval holds together with those of the other series. None of too few values.
    pub(crate) trend: Option<Trend>,
    /// The trend of the second half by itself, if the series drifts. A series that only settles has none there.
    pub(crate) late_trend: Option<Trend>,
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
        let mut all: Vec<Drift> = series::ALL.into_iter().filter_map(of_series).collect();
        // Bonferroni, which holds whatever the series have to do with each other.
        let confidence = 1.0 - (1.0 - CONFIDENCE) / all.len().max(1) as f64;
        for drift in &mut all {
            let judged = drift.judged();
            drift.trend = trend(&judged, confidence);
            if drift.is_drifting() {
                drift.late_trend = trend(&judged[judged.len() / 2..], CONFIDENCE);
            }
        }
        let is_judged = |at: &&Option<f64>| at.is_some_and(|at| at > warm_up_s);
        Drifts {
            warm_up_s,
            last_s,
            rows: rows.len(),
            judged_rows: times.iter().filter(is_judged).count(),
            all,
        }
    }

    pub(crate) fn drifting(&self) -> impl Iterator<Item = &Drift> {
        self.all.iter().filter(|drift| drift.is_drifting())
    }
}

impl Drift {
    /// Without its trend. None without a value.
    fn of(series: SoakSeries, values: Vec<(f64, Option<f64>)>, warm_up_s: f64) -> Option<Drift> {
        let mut drift = Drift {
            series,
            values,
            warm_up_s,
            median: 0.0,
            trend: None,
            late_trend: None,
        };
        let judged = drift.judged().into_iter();
        let mut values: Vec<f64> = judged.map(|(_, value)| value).collect();
        values.sort_by(f64::total_cmp);
        drift.median = *values.get(values.len() / 2)?;
        Some(drift)
    }

    /// Hours and values after the warm-up.
    fn judged(&self) -> Vec<(f64, f64)> {
        let values = self.values.iter();
        let values = values.filter(|(at_s, _)| *at_s > self.warm_up_s);
        let by_hours = values.map(|(at_s, value)| Some((at_s / SECONDS_PER_HOUR, (*value)?)));
        by_hours.flatten().collect()
    }

    pub(crate) fn is_drifting(&self) -> bool {
        self.trend.as_ref().is_some_and(Trend::is_beyond_noise)
    }

    /// Whether it drifts, but its second half by itself does not.
    pub(crate) fn has_settled(&self) -> bool {
        let late = self.late_trend.as_ref();
        self.is_drifting() && late.is_some_and(|late| !late.is_beyond_noise())
    }

    /// Absent if there are too few rows.
    fn in_a_word(&self) -> Option<&'static str> {
        self.trend?;
        Some(match (self.is_drifting(), self.has_settled()) {
            (false, _) => "no",
            (true, false) => "yes",
            (true, true) => "settled",
        })
    }

    /// A slope that four of five soaks with this noise would show: half the interval, and 0.842 standard errors more.
    /// None if the value never changed or if the interval has no end.
    pub(crate) fn detectable(&self) -> Option<f64> {
        /// Standard normal quantiles: of 0.8, and of a confidence of 95 % for 14 series.
        const SELDOM_MISSED: f64 = 0.842;
        const TO_BE_BEYOND: f64 = 2.914;
        let Interval { low, high } = self.trend.as_ref()?.interval;
        let slope = (high - low) / 2.0 * (1.0 + SELDOM_MISSED / TO_BE_BEYOND);
        (slope.is_finite() && slope > 0.0).then_some(slope)
    }
}

/// `summary.csv` of a soak: one row for each series. Slopes are per hour.
pub(crate) fn table(drifts: &Drifts) -> Result<DataFrame> {
    let all = || drifts.all.iter();
    let number = |name: &str, of: fn(&Drift) -> Option<f64>| numbers(name, all().map(of));
    Ok(DataFrame::new_infer_height(vec![
        texts("series", all().map(|drift| Some(drift.series.name))),
        number("median", |drift| Some(drift.median)),
        number("slope", |drift| Some(drift.trend?.slope)),
        number("low", |drift| Some(drift.trend?.interval.low)),
        number("high", |drift| Some(drift.trend?.interval.high)),
        number("second_half_slope", |drift| Some(drift.late_trend?.slope)),
        number("detectable", Drift::detectable),
        texts("drifts", all().map(Drift::in_a_word)),
    ])?)
}

/// A tenth of the soak, at most half an hour: in that time caches fill and memory is allocated once.
fn warm_up_s(last_s: f64) -> f64 {
    const PART: f64 = 0.1;
    const MOST: f64 = 1800.0;
    (PART * last_s).min(MOST)
}

impl Drifts {
    pub(crate) fn sentences(&self) -> Vec<String> {
        if self.all.iter().all(|drift| drift.trend.is_none()) {
            let rows = count(self.judged_rows, "row");
            return vec![format!(
                "The soak is too short: {rows} after the warm-up are too few to judge whether anything drifts."
            )];
        }
        let mut sentences: Vec<String> = self.drifting().map(Drift::sentence).collect();
        if sentences.is_empty() {
            sentences.push(format!(
                "Nothing drifts beyond noise: within {}, the slope of none of {} series differs from zero.",
                lasting(self.last_s),
                self.all.len()
            ));
        } else if let quiet @ 1.. = self.all.len() - sentences.len() {
            sentences.push(format!("None of the other {quiet} series drifts."));
        }
        sentences
    }
}

impl Drift {
    /// "Drift of tasks alive: +60.0 per hour [+59.1, +60.8], median 40.0, +180 % …."
    fn sentence(&self) -> String {
        // Percent of a percentage would be taken for points.
        let trend = self.trend.filter(|_| !self.series.unit.starts_with('%'));
        let growth = trend.and_then(|trend| trend.growth());
        let growth = growth.map_or_else(String::new, |growth| {
            let percent = signed(100.0 * growth);
            format!(", {percent} % from the start to the end of the trend")
        });
        let settled = match self.has_settled() {
            true => " The second half alone has no trend beyond noise.",
            false => "",
        };
        let (what, slope) = (self.series.words, self.slope().unwrap_or_default());
        let median = self.median();
        format!("**Drift of {what}**: {slope}, median {median}{growth}.{settled}")
    }

    /// "+60.0 per hour [+59.1, +60.8]".
    pub(crate) fn slope(&self) -> Option<String> {
        self.per_hour(self.trend)
    }

    pub(crate) fn late_slope(&self) -> Option<String> {
        self.per_hour(self.late_trend)
    }

    fn per_hour(&self, trend: Option<Trend>) -> Option<String> {
        Some(change(trend?.slope, &self.unit(), trend?.interval))
    }

    /// "MiB per hour". A change of a percentage is in percentage points.
    fn unit(&self) -> String {
        let unit = self.series.unit.replacen('%', "pp", 1);
        format!("{unit} per hour").trim_start().to_owned()
    }

    /// The median value with its unit. Where most values are zero, also the mean, which is not.
    pub(crate) fn median(&self) -> String {
        let values: Vec<f64> = self.judged().into_iter().map(|(_, value)| value).collect();
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let mean = match self.median {
            0.0 if mean > 0.0 => format!("(mean {}) ", number(mean)),
            _ => String::new(),
        };
        let text = format!("{} {mean}{}", number(self.median), self.series.unit);
        text.trim_end().to_owned()
    }

    /// The smallest slope that a soak like this detects, with its unit.
    pub(crate) fn detectable_slope(&self) -> Option<String> {
        Some(format!("{} {}", number(self.detectable()?), self.unit()))
    }
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
        let names: Vec<&str> = drifts.all.iter().map(|drift| drift.series.name).collect();
        assert_eq!(names, ["tasks"]);
        assert_eq!(drifts.drifting().count(), 0);
        assert_eq!(
            drifts.all[0].detectable(),
            None,
            "a slope of zero is not found"
        );
    }

    #[test]
    fn the_warm_up_is_a_tenth_and_no_more_than_half_an_hour() {
        assert_eq!(warm_up_s(1000.0), 100.0);
        assert_eq!(warm_up_s(8.0 * SECONDS_PER_HOUR), 1800.0);
        let drifts = tasks((0..100).map(|row| if row < 10 { f64::from(row) } else { 9.0 }));
        assert_eq!((drifts.rows, drifts.judged_rows), (100, 90));
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
        let mut all = drifts.all.iter();
        let dials = all.find(|drift| drift.series.name == "dials_per_minute");
        let dials = dials.expect("a series");
        assert_eq!(dials.median(), "0 (mean 5.00)");
        assert!(!dials.is_drifting());
        let sentences = drifts.sentences().join("\n");
        assert!(sentences.contains(" pp per hour [+"), "{sentences}");
        assert!(!sentences.contains("% from the start"), "{sentences}");
    }

    #[test]
    fn a_series_that_grows_and_then_stays_has_settled() {
        let wobble = |row: i32| f64::from(row * 7 % 5);
        let drifts = tasks((0..300).map(|row| f64::from(row.min(150)) + wobble(row)));
        assert!(drifts.all[0].is_drifting() && drifts.all[0].has_settled());
        let drifts = tasks((0..300).map(|row| f64::from(row) + wobble(row)));
        assert!(drifts.all[0].is_drifting() && !drifts.all[0].has_settled());
    }
}
