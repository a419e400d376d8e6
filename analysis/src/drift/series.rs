//! What is drawn and tested of a soak: series of values over time, made of the columns of its table.

use crate::load::soak::{INTERVAL, Rows};

/// One quantity of a soak.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Series {
    /// In tables and files.
    pub(crate) name: &'static str,
    /// In sentences and pictures.
    pub(crate) words: &'static str,
    pub(crate) unit: &'static str,
    from: Source,
}

/// How a value comes from a row.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Source {
    /// A column, divided by this much.
    Column(&'static str, f64),
    /// Of the second column, in percent.
    Percent(&'static str, &'static str),
    /// In a second, times this much.
    Rate(&'static str, f64),
}
use Source::{Column, Percent, Rate};

const US: f64 = 1e3;
const MS: f64 = 1e6;
const MIB: f64 = (1 << 20) as f64;

/// What is wrong if it only grows comes first; then what a user notices.
pub(crate) const ALL: [Series; 14] = [
    series(
        "resident_mib",
        "resident memory",
        "MiB",
        Column("resident_bytes", MIB),
    ),
    series("tasks", "tasks alive", "", Column("tasks", 1.0)),
    series("connections", "connections", "", Column("connections", 1.0)),
    series(
        "peers_connected",
        "peers connected",
        "",
        Column("peers_connected", 1.0),
    ),
    series(
        "dials_per_minute",
        "dials per minute",
        "",
        Rate("dials", 60.0),
    ),
    series(
        "slow_percent",
        "slow polls of Connection::poll",
        "%",
        Percent("connection_slow_polls", "connection_polls"),
    ),
    series(
        "task_slow_percent",
        "slow polls of tasks",
        "%",
        Percent("task_slow_polls", "task_polls"),
    ),
    series(
        "late_percent",
        "late wakes of the co-tenant",
        "%",
        Percent("late_wakes", "wakes"),
    ),
    series(
        "wake_p50_us",
        "co-tenant's delay, median",
        "µs",
        Column("wake_p50_ns", US),
    ),
    series(
        "wake_p99_us",
        "co-tenant's delay, p99",
        "µs",
        Column("wake_p99_ns", US),
    ),
    series(
        "requests_per_s",
        "requests per second",
        "",
        Rate("requests", 1.0),
    ),
    series(
        "latency_p50_ms",
        "latency of requests, median",
        "ms",
        Column("latency_p50_ns", MS),
    ),
    series(
        "latency_p99_ms",
        "latency of requests, p99",
        "ms",
        Column("latency_p99_ns", MS),
    ),
    series(
        "cpu_percent",
        "CPU time of central",
        "% of a core",
        Rate("central_cpu_ns", 1e-7),
    ),
];

const fn series(
    name: &'static str,
    words: &'static str,
    unit: &'static str,
    from: Source,
) -> Series {
    Series {
        name,
        words,
        unit,
        from,
    }
}

impl Series {
    /// A value for each row; none where there is none.
    pub(crate) fn values(&self, rows: &Rows) -> Vec<Option<f64>> {
        let with = |left: &str, right: &str, of: fn(f64, f64) -> f64| -> Vec<Option<f64>> {
            let pairs = rows.column(left).iter().zip(rows.column(right));
            let value = |(left, right): (&Option<f64>, &Option<f64>)| {
                // A share of nothing is none.
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

    fn values(name: &str, columns: &[(&'static str, [Option<f64>; 2])]) -> Vec<Option<f64>> {
        let series = ALL
            .iter()
            .find(|series| series.name == name)
            .expect("one of all");
        series.values(&Rows::of(
            columns
                .iter()
                .map(|(name, values)| (*name, values.to_vec())),
        ))
    }

    #[test]
    fn values_have_their_units_and_absent_ones_stay_absent() {
        let interval = ("interval_s", [Some(10.0), Some(5.0)]);
        assert_eq!(
            values(
                "cpu_percent",
                &[interval, ("central_cpu_ns", [Some(1e9), None])]
            ),
            [Some(10.0), None]
        );
        assert_eq!(
            values(
                "dials_per_minute",
                &[interval, ("dials", [Some(1.0), Some(0.0)])]
            ),
            [Some(6.0), Some(0.0)]
        );
        assert_eq!(
            values(
                "late_percent",
                &[
                    ("late_wakes", [Some(1.0), Some(0.0)]),
                    ("wakes", [Some(8.0), Some(0.0)])
                ]
            ),
            [Some(12.5), None]
        );
        assert_eq!(
            values("latency_p99_ms", &[("latency_p99_ns", [Some(2.5e6), None])]),
            [Some(2.5), None]
        );
    }
}
