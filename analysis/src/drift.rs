//! Finds what drifts in a soak: the slope of every series, with an interval that allows for the number of series.

#[cfg(test)]
#[path = "../tests/simulation/drift.rs"]
mod simulation;

use anyhow::Result;
use polars_core::prelude::DataFrame;
use run_format::SoakRow;

use crate::prose::{self, prose};
use crate::stats::{self, Spread, Trend, confidence_of_each, quotient, trend};
use crate::summary::table::{numbers, texts};
use crate::text::{number, with_signed_interval, with_unit};

const S_PER_HOUR: f64 = 3600.0;
const PER_MIB: f64 = 1.0 / 1_048_576.0;

pub(crate) struct SoakSeries {
    pub(crate) name: &'static str,
    pub(crate) words: &'static str,
    pub(crate) unit: &'static str,
    value: fn(&SoakRow) -> Option<f64>,
}

/// The series that indicate a leak if they grow come first, then those that users notice.
#[rustfmt::skip]
const ALL: [SoakSeries; 14] = [
    SoakSeries { name: "resident_mib", words: "resident memory", unit: "MiB", value: |row| scaled(PER_MIB, row.resident_bytes?, 1.0) },
    SoakSeries { name: "tasks", words: "tasks alive", unit: "", value: |row| scaled(1.0, row.tasks, 1.0) },
    SoakSeries { name: "connections", words: "connections", unit: "", value: |row| scaled(1.0, row.connections, 1.0) },
    SoakSeries { name: "peers_connected", words: "peers connected", unit: "", value: |row| scaled(1.0, row.peers_connected, 1.0) },
    SoakSeries { name: "dials_per_minute", words: "dials per minute", unit: "", value: |row| scaled(60.0, row.dials, row.interval_s) },
    SoakSeries { name: "slow_percent", words: "slow polls of connections", unit: "%", value: |row| percent(row.connection_slow_polls, row.connection_polls) },
    SoakSeries { name: "task_slow_percent", words: "slow polls of tasks", unit: "%", value: |row| percent(row.task_slow_polls?, row.task_polls?) },
    SoakSeries { name: "late_percent", words: "wake-ups of another task after more than 50 µs", unit: "%", value: |row| percent(row.late_wakes, row.wakes) },
    SoakSeries { name: "wake_p50_us", words: "wake-up latency of another task, median", unit: "µs", value: |row| scaled(1e-3, row.wake_p50_ns?, 1.0) },
    SoakSeries { name: "wake_p99_us", words: "wake-up latency of another task, p99", unit: "µs", value: |row| scaled(1e-3, row.wake_p99_ns?, 1.0) },
    SoakSeries { name: "requests_per_s", words: "requests per second", unit: "", value: |row| scaled(1.0, row.requests, row.interval_s) },
    SoakSeries { name: "latency_p50_ms", words: "request latency, median", unit: "ms", value: |row| scaled(1e-6, row.latency_p50_ns?, 1.0) },
    SoakSeries { name: "latency_p99_ms", words: "request latency (p99)", unit: "ms", value: |row| scaled(1e-6, row.latency_p99_ns?, 1.0) },
    SoakSeries { name: "cpu_percent", words: "CPU time of central", unit: "% of a core", value: |row| scaled(1e-7, row.central_cpu_ns?, row.interval_s) },
];

/// The part over the whole, multiplied by `scale`. None if the whole is zero.
fn scaled(scale: f64, part: u64, whole: f64) -> Option<f64> {
    quotient(scale * part as f64, whole)
}

fn percent(part: u64, whole: u64) -> Option<f64> {
    stats::percent(part as f64, whole as f64)
}

pub(crate) struct Drifts {
    /// The end of the warm-up. Earlier rows are drawn and not judged.
    pub(crate) warm_up_s: f64,
    pub(crate) last_s: f64,
    pub(crate) rows: usize,
    pub(crate) judged_rows: usize,
    pub(crate) all: Vec<Drift>,
}

pub(crate) struct Drift {
    pub(crate) series: &'static SoakSeries,
    /// The end of each row in seconds and its value, including the warm-up.
    pub(crate) values: Vec<(f64, Option<f64>)>,
    pub(crate) warm_up_s: f64,
    median: f64,
    /// The trend, whose interval holds together with those of the other series. None if there are too few values.
    pub(crate) trend: Option<Trend>,
}

impl Drifts {
    pub(crate) fn find(rows: &[SoakRow]) -> Drifts {
        let last_s = rows.last().map_or(0.0, |row| row.at_s);
        let warm_up_s = warm_up_s(last_s);
        let measure = |series: &'static SoakSeries| {
            let values = rows.iter().map(|row| (row.at_s, (series.value)(row)));
            let mut drift = Drift {
                series,
                values: values.collect(),
                warm_up_s,
                median: 0.0,
                trend: None,
            };
            let values = drift.after_warm_up().into_iter();
            drift.median = Spread::over(values.map(|(_, value)| value))?.upper_median;
            Some(drift)
        };
        let mut all: Vec<Drift> = ALL.iter().filter_map(measure).collect();
        // With this confidence of each, all intervals hold together however the series depend on each other.
        let confidence = confidence_of_each(all.len());
        for drift in &mut all {
            drift.trend = trend(&drift.after_warm_up(), confidence);
        }
        Drifts {
            warm_up_s,
            last_s,
            rows: rows.len(),
            judged_rows: rows.iter().filter(|row| row.at_s > warm_up_s).count(),
            all,
        }
    }

    pub(crate) fn drifting(&self) -> impl Iterator<Item = &Drift> {
        self.all.iter().filter(|drift| drift.is_drifting())
    }

    pub(crate) fn sentences(&self) -> Vec<String> {
        prose::sentences(&prose!('a "drift.txt" {
            drifts: &'a Drifts = self,
            is_too_short: bool = self.all.iter().all(|drift| drift.trend.is_none()),
            drifting: Vec<&'a Drift> = self.drifting().collect(),
        }))
    }
}

impl Drift {
    /// The values after the warm-up, each with its time in hours.
    fn after_warm_up(&self) -> Vec<(f64, f64)> {
        let values = self.values.iter().filter_map(|(at_s, value)| {
            let is_after = *at_s > self.warm_up_s;
            Some((at_s / S_PER_HOUR, (*value)?)).filter(|_| is_after)
        });
        values.collect()
    }

    pub(crate) fn is_drifting(&self) -> bool {
        self.trend.as_ref().is_some_and(Trend::is_beyond_noise)
    }

    pub(crate) fn in_a_word(&self) -> Option<&'static str> {
        self.trend?;
        Some(if self.is_drifting() { "yes" } else { "no" })
    }

    /// The slope in words, such as "+60.0 MiB per hour [+59.1, +60.8]". That of a percentage is in percentage points.
    pub(crate) fn slope(&self) -> Option<String> {
        let unit = self.series.unit.replacen('%', "pp", 1);
        let per_hour = with_unit(unit, "per hour");
        let trend = self.trend?;
        Some(with_signed_interval(
            trend.slope,
            per_hour.trim_start(),
            trend.interval,
        ))
    }

    pub(crate) fn median(&self) -> String {
        with_unit(number(self.median), self.series.unit)
    }
}

/// The table `summary.csv` of a soak, which has one row for each series. Slopes are per hour.
pub(crate) fn table(drifts: &Drifts) -> Result<DataFrame> {
    let all = || drifts.all.iter();
    let number = |name: &str, value: fn(&Drift) -> Option<f64>| numbers(name, all().map(value));
    Ok(DataFrame::new_infer_height(vec![
        texts("series", all().map(|drift| Some(drift.series.name))),
        number("median", |drift| Some(drift.median)),
        number("slope", |drift| Some(drift.trend?.slope)),
        number("low", |drift| Some(drift.trend?.interval.low)),
        number("high", |drift| Some(drift.trend?.interval.high)),
        texts("drifts", all().map(Drift::in_a_word)),
    ])?)
}

/// The length of the warm-up, in which caches fill and memory is allocated once: a tenth of the soak, at most half an hour.
fn warm_up_s(last_s: f64) -> f64 {
    (last_s / 10.0).min(S_PER_HOUR / 2.0)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// Rows with these columns. Other columns are zero, or absent if they can be.
    pub(super) fn rows_of<const N: usize>(columns: [(&str, Vec<Option<f64>>); N]) -> Vec<SoakRow> {
        let row = |index: usize| {
            let mut row = json!({
                "connection_polls": 0, "connection_slow_polls": 0, "requests": 0, "wakes": 0, "late_wakes": 0,
                "connections": 0, "peers_connected": 0, "tasks": 0, "dials": 0, "dial_failures": 0,
                "connections_opened": 0, "connections_closed": 0, "lost_records": 0, "interval_s": 0.0,
            });
            for (name, values) in &columns {
                row[*name] = match name.ends_with("_s") {
                    true => json!(values[index]),
                    false => values[index].map_or(Value::Null, |value| json!(value as u64)),
                };
            }
            serde_json::from_value(row).expect("a row")
        };
        (0..columns[0].1.len()).map(row).collect()
    }

    fn tasks(values: impl IntoIterator<Item = f64>) -> Drifts {
        let tasks: Vec<Option<f64>> = values.into_iter().map(Some).collect();
        let times = (1..=tasks.len()).map(|row| Some(10.0 * row as f64));
        Drifts::find(&rows_of([("at_s", times.collect()), ("tasks", tasks)]))
    }

    #[test]
    fn a_series_without_values_is_left_out() {
        let drifts = tasks([9.0; 50]);
        let names: Vec<&str> = drifts.all.iter().map(|drift| drift.series.name).collect();
        assert_eq!(names, ["tasks", "connections", "peers_connected"]);
        assert_eq!(drifts.drifting().count(), 0);
    }

    #[test]
    fn the_warm_up_is_a_tenth_and_no_more_than_half_an_hour() {
        assert_eq!(warm_up_s(1000.0), 100.0);
        assert_eq!(warm_up_s(8.0 * S_PER_HOUR), 1800.0);
        let drifts = tasks((0..100).map(|row| if row < 10 { f64::from(row) } else { 9.0 }));
        assert_eq!((drifts.rows, drifts.judged_rows), (100, 90));
        assert_eq!(drifts.drifting().count(), 0);
    }

    #[test]
    fn rare_events_are_no_drift_and_percentages_change_by_points() {
        let rows = 40;
        let dials = (0..rows).map(|row| Some(f64::from(u8::from(row % 10 == 0))));
        let late = (0..rows).map(|row| Some(f64::from(row)));
        let drifts = Drifts::find(&rows_of([
            ("at_s", (1..=rows).map(|row| Some(f64::from(row))).collect()),
            ("interval_s", vec![Some(1.0); rows as usize]),
            ("dials", dials.collect()),
            ("late_wakes", late.collect()),
            ("wakes", vec![Some(100.0); rows as usize]),
        ]));
        let mut all = drifts.all.iter();
        let dials = all
            .find(|drift| drift.series.name == "dials_per_minute")
            .expect("a series");
        assert_eq!(dials.median(), "0");
        assert!(!dials.is_drifting());
        let sentences = drifts.sentences().join("\n");
        assert!(sentences.contains(" pp per hour [+"), "{sentences}");
    }

    #[test]
    fn values_have_their_units_and_absent_ones_stay_absent() {
        let rows = rows_of([
            ("at_s", vec![Some(10.0), Some(15.0)]),
            ("interval_s", vec![Some(10.0), Some(5.0)]),
            ("central_cpu_ns", vec![Some(1e9), None]),
            ("dials", vec![Some(1.0), Some(0.0)]),
            ("late_wakes", vec![Some(1.0), Some(0.0)]),
            ("wakes", vec![Some(8.0), Some(0.0)]),
            ("latency_p99_ns", vec![Some(2.5e6), None]),
        ]);
        for (name, values) in [
            ("cpu_percent", [Some(10.0), None]),
            ("dials_per_minute", [Some(6.0), Some(0.0)]),
            ("late_percent", [Some(12.5), None]),
            ("latency_p99_ms", [Some(2.5), None]),
        ] {
            let series = ALL.iter().find(|series| series.name == name);
            let value = series.expect("one of all").value;
            assert_eq!([value(&rows[0]), value(&rows[1])], values, "{name}");
        }
    }
}
