//! Values and labels that several kinds of picture show, and the text in a cell. The page has the same text in its cells.

use crate::stats::Interval;
use crate::text::{brief, rounded, short, with_plus};

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ChartValue {
    pub(crate) value: f64,
    /// The interval, if it can be drawn. None also if an end has no bound.
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

pub(crate) struct Categories {
    /// The name with its unit, if it has one: "RTT, ms".
    pub(crate) name: String,
    pub(crate) labels: Vec<String>,
}

impl Categories {
    pub(crate) fn new(name: impl Into<String>, labels: impl IntoIterator<Item: ToString>) -> Self {
        Categories {
            name: name.into(),
            labels: labels.into_iter().map(|label| label.to_string()).collect(),
        }
    }
}

pub(crate) fn name_with_unit(name: &str, unit: &str) -> String {
    match unit {
        "" => name.to_owned(),
        unit => format!("{name}, {unit}"),
    }
}

/// The value and its interval, which is empty if there is none. A difference has its sign even if it is positive.
pub(super) fn cell_text(shown: &ChartValue, is_difference: bool) -> [String; 2] {
    let value = no_finer(shown.value, shown.interval);
    let text = match is_difference {
        true => with_plus(value, short(value)),
        false => short(value),
    };
    let ends = shown.interval.map(|ends| interval(shown.value, ends));
    [text, ends.unwrap_or_default()]
}

/// Rounds the value to the second digit of half its interval, so that it does not look more exact than it is.
fn no_finer(value: f64, ends: Option<Interval>) -> f64 {
    let half = ends.map(|ends| (rounded(ends.high) - rounded(ends.low)) / 2.0);
    match half {
        Some(half) if half > 0.0 => {
            let step = 10_f64.powf(half.log10().floor() - 1.0);
            (rounded(value) / step).round() * step
        }
        _ => value,
    }
}

/// Returns "±1.1" if both sides are alike, else "11–14". The numbers are rounded first, because the page has only rounded
/// ones.
fn interval(value: f64, Interval { low, high }: Interval) -> String {
    let [value, low, high] = [value, low, high].map(rounded);
    let half = (high - low) / 2.0;
    if (high + low - 2.0 * value).abs() <= 0.2 * half {
        return format!("±{}", brief(half));
    }
    // A dash beside a minus would be hard to read.
    let between = if low < 0.0 { ".." } else { "–" };
    let ends = match brief(low) == brief(high) {
        true => [low, high].map(short),
        false => [low, high].map(brief),
    };
    ends.join(between)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_no_finer_than_its_interval() {
        let text = |value, low, high| {
            let shown = ChartValue::new(value, Some(Interval { low, high }));
            cell_text(&shown, true)[0].clone()
        };
        assert_eq!(text(12.34, 11.2, 13.4), "+12.3");
        assert_eq!(text(-0.003_45, -0.17, 0.16), "0");
        assert_eq!(text(45.2, -120.0, 250.0), "+50");
    }

    #[test]
    fn an_interval_is_short_if_both_sides_are_alike() {
        let text = |value, low, high| interval(value, Interval { low, high });
        assert_eq!(text(12.3, 11.2, 13.4), "±1.1");
        assert_eq!(text(0.0, 0.0, 0.0), "±0");
        assert_eq!(text(123.0, 122.9, 123.1), "±0.1");
        assert_eq!(text(12.3, 11.2, 14.4), "11–14");
        assert_eq!(text(12.3, 12.2, 12.45), "12.2–12.4");
        assert_eq!(text(-1.2, -4.04, 0.5), "−4..0.5");
    }
}
