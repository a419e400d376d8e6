//! What several pictures are told, as plain data.

/// The words around a picture.
#[derive(Clone, Debug)]
pub(crate) struct Caption {
    /// What one sees.
    pub(crate) title: String,
    pub(crate) subtitle: Option<String>,
    /// Which run this is.
    pub(crate) small_print: String,
}

/// A value and the interval around it, if there is one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Estimate {
    pub(crate) value: f64,
    pub(crate) interval: Option<(f64, f64)>,
}

impl Estimate {
    /// The least and the greatest number that has to be visible.
    pub(crate) fn extent(&self) -> (f64, f64) {
        let (low, high) = self.interval.unwrap_or((self.value, self.value));
        (low.min(self.value), high.max(self.value))
    }
}

/// What a grid point came to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum CellValue {
    Measured(Estimate),
    Failed,
    /// Measured, and not to be relied on.
    Invalid,
    Missing,
    NotApplicable,
}

/// An axis of named places.
#[derive(Clone, Debug)]
pub(crate) struct Categories {
    /// With its unit, if it has one: "RTT, ms".
    pub(crate) name: String,
    pub(crate) labels: Vec<String>,
}

/// What an axis of numbers measures.
#[derive(Clone, Debug)]
pub(crate) struct Quantity {
    pub(crate) name: String,
    pub(crate) unit: String,
    /// Whether zero is always on the axis.
    pub(crate) from_zero: bool,
}

impl Quantity {
    pub(crate) fn label(&self) -> String {
        with_unit(&self.name, &self.unit)
    }
}

/// A line in one picture or in many.
#[derive(Clone, Debug)]
pub(crate) struct Series {
    pub(crate) name: String,
    /// Decides colour, dashes and marker, so that a variant looks the same wherever it is.
    pub(crate) slot: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Better {
    Lower,
    Higher,
}

/// How values become colours: one scale for all pictures of a metric.
#[derive(Clone, Debug)]
pub(crate) struct ColourScale {
    pub(crate) name: String,
    pub(crate) unit: String,
    /// The greatest value of all; nothing is clipped.
    pub(crate) max: f64,
    pub(crate) mapping: Mapping,
}

/// How differences become colours: blue for better, red for worse.
#[derive(Clone, Debug)]
pub(crate) struct DifferenceScale {
    pub(crate) name: String,
    pub(crate) unit: String,
    /// The greatest difference in either direction; nothing is clipped.
    pub(crate) limit: f64,
    pub(crate) mapping: Mapping,
    pub(crate) better: Better,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mapping {
    Linear,
    /// Tells small values apart where few are large.
    SquareRoot,
}

/// "slow polls, %", or the name alone.
pub(crate) fn with_unit(name: &str, unit: &str) -> String {
    if unit.is_empty() {
        name.to_owned()
    } else {
        format!("{name}, {unit}")
    }
}
