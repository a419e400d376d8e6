//! The plain data of pictures, as far as several kinds of picture share it.

use super::draw::{Canvas, Rect};

pub(crate) trait Picture: Sync {
    fn caption(&self) -> &Caption;

    /// The height of the part between the headings and the small print, in pixels.
    fn body_height(&self) -> f64;

    fn draw_body(&self, canvas: &mut Canvas, body: Rect);
}

#[derive(Clone, Debug)]
pub(crate) struct Caption {
    pub(crate) title: String,
    pub(crate) subtitle: String,
    /// Identifies the run.
    pub(crate) small_print: String,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ChartValue {
    pub(crate) value: f64,
    pub(crate) interval: Option<(f64, f64)>,
}

impl ChartValue {
    pub(crate) fn exact(value: f64) -> ChartValue {
        ChartValue::new(value, None)
    }

    pub(crate) fn new(value: f64, interval: Option<(f64, f64)>) -> ChartValue {
        ChartValue { value, interval }
    }
}

pub(crate) type CellValue = Result<ChartValue, NoValue>;

/// Why a cell has no value. Each has its own pattern and word, so that none looks like a small value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoValue {
    Failed,
    /// It was measured, but not under the conditions that were asked for.
    Invalid,
    Missing,
    NotApplicable,
    /// Of a budget.
    NeverFires,
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

#[derive(Clone, Debug)]
pub(crate) struct ValueAxis {
    pub(crate) name: String,
    pub(crate) unit: String,
    pub(crate) from_zero: bool,
}

impl ValueAxis {
    pub(crate) fn label(&self) -> String {
        with_unit(&self.name, &self.unit)
    }
}

#[derive(Clone, Debug)]
pub(crate) struct ColourScale {
    pub(crate) name: String,
    pub(crate) unit: String,
    /// The greatest number, or the greatest difference in either direction. Nothing is clipped.
    pub(crate) max: f64,
    pub(crate) colours: Colours,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Colours {
    /// For numbers from zero on: the darker, the greater.
    Sequential,
    /// For differences of which a negative one is better: blue for better, red for worse.
    LowerIsBetter,
    HigherIsBetter,
}

/// "slow polls, %", or the name alone.
pub(crate) fn with_unit(name: &str, unit: &str) -> String {
    match unit {
        "" => name.to_owned(),
        unit => format!("{name}, {unit}"),
    }
}
