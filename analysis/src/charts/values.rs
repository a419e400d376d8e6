//! What several kinds of picture show.

use crate::stats::Interval;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ChartValue {
    pub(crate) value: f64,
    /// None if an end has no bound, too, since such an interval cannot be drawn.
    pub(crate) interval: Option<Interval>,
}

impl ChartValue {
    pub(crate) fn new(value: f64, interval: Option<Interval>) -> ChartValue {
        let is_bounded = |ends: &Interval| ends.low.is_finite() && ends.high.is_finite();
        ChartValue {
            value,
            interval: interval.filter(is_bounded),
        }
    }

    pub(crate) fn exact(value: f64) -> ChartValue {
        ChartValue::new(value, None)
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Categories {
    /// With its unit, if it has one: "RTT, ms".
    pub(crate) name: String,
    pub(crate) labels: Vec<String>,
}

impl Categories {
    pub(crate) fn new(
        name: impl Into<String>,
        labels: impl IntoIterator<Item = impl ToString>,
    ) -> Categories {
        Categories {
            name: name.into(),
            labels: labels.into_iter().map(|label| label.to_string()).collect(),
        }
    }
}

/// "slow polls, %", or the name alone.
pub(crate) fn with_unit(name: &str, unit: &str) -> String {
    match unit {
        "" => name.to_owned(),
        unit => format!("{name}, {unit}"),
    }
}
