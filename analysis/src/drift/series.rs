//! The series of a soak, which are drawn and tested: values over time, computed from the columns of its table.

use crate::load::soak::{INTERVAL, SoakColumns};

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct SoakSeries {
    pub(crate) name: &'static str,
    /// In sentences and pictures.
    pub(crate) words: &'static str,
    pub(crate) unit: &'static str,
    from: SeriesSource,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum SeriesSource {
    /// A column divided by a number.
    Column(&'static str, f64),
    /// The first column in percent of the second.
    Percent(&'static str, &'static str),
    /// A column per second, times a number.
    Rate(&'static str, f64),
}
use SeriesSource::{Column, Percent, Rate};

const US: f64 = 1e3;
const MS: f64 = 1e6;
const MIB: f64 = (1 << 20) as f64;

/// First the series that indicate a leak if they grow, then those that users notice.
#[rustfmt::skip]
pub(crate) const ALL: [SoakSeries; 14] = [
    SoakSeries { name: "resident_mib", words: "resident memory", unit: "MiB", from: Column("resident_bytes", MIB) },
    SoakSeries { name: "tasks", words: "tasks alive", unit: "", from: Column("tasks", 1.0) },
    SoakSeries { name: "connections", words: "connections", unit: "", from: Column("connections", 1.0) },
    SoakSeries { name: "peers_connected", words: "peers connected", unit: "", from: Column("peers_connected", 1.0) },
    SoakSeries { name: "dials_per_minute", words: "dials per minute", unit: "", from: Rate("dials", 60.0) },
    SoakSeries { name: "slow_percent", words: "slow polls of connections", unit: "%", from: Percent("connection_slow_polls", "connection_polls") },
    SoakSeries { name: "task_slow_percent", words: "slow polls of tasks", unit: "%", from: Percent("task_slow_polls", "task_polls") },
    SoakSeries { name: "late_percent", words: "late wake-ups of the co-tenant", unit: "%", from: Percent("late_wakes", "wakes") },
    SoakSeries { name: "wake_p50_us", words: "wake-up latency of the co-tenant, median", unit: "µs", from: Column("wake_p50_ns", US) },
    SoakSeries { name: "wake_p99_us", words: "wake-up latency of the co-tenant, p99", unit: "µs", from: Column("wake_p99_ns", US) },
    SoakSeries { name: "requests_per_s", words: "requests per second", unit: "", from: Rate("requests", 1.0) },
    SoakSeries { name: "latency_p50_ms", words: "request latency, median", unit: "ms", from: Column("latency_p50_ns", MS) },
    SoakSeries { name: "latency_p99_ms", words: "request latency, p99", unit: "ms", from: Column("latency_p99_ns", MS) },
    SoakSeries { name: "cpu_percent", words: "CPU time of central", unit: "% of a core", from: Rate("central_cpu_ns", 1e-7) },
];

impl SoakSeries {
    pub(crate) fn values(&self, rows: &SoakColumns) -> Vec<Option<f64>> {
        let with = |left: &str, right: &str, of: fn(f64, f64) -> f64| -> Vec<Option<f64>> {
            let pairs = rows.column(left).iter().zip(rows.column(right));
            let value = |(left, right): (&Option<f64>, &Option<f64>)| {
                // There is no share of nothing.
                let right = right.filter(|right| *right > 0.0)?;
                Some(of((*left)?, right))
            };
            pairs.map(value).collect()
        };
        match self.from {
            Column(name, divisor) => {
                let values = rows.column(name).iter();
                values.map(|value| value.map(|it| it / divisor)).collect()
            }
            Percent(part, whole) => with(part, whole, |part, whole| 100.0 * part / whole),
            Rate(name, times) => {
                let rates = with(name, INTERVAL, |count, seconds| count / seconds);
                let rates = rates.into_iter();
                rates.map(|rate| rate.map(|it| times * it)).collect()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_their_units_and_absent_ones_stay_absent() {
        let rows = SoakColumns::of([
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
            assert_eq!(series.expect("one of all").values(&rows), values, "{name}");
        }
    }
}
