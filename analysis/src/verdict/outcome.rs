//! Judges one quantity by the interval of its change.

use crate::metrics::Quantity;
use crate::stats::Interval;

#[derive(Clone, Copy, Debug)]
pub(crate) struct QuantityChange {
    pub(crate) quantity: Quantity,
    /// The mean change, in percentage points if the quantity is a share, else in percent.
    pub(crate) value: f64,
    pub(crate) interval: Interval,
    /// The number of cells that were compared.
    pub(crate) cells: usize,
    /// The means of the cells' values before and after, in the unit of the metric.
    pub(crate) levels: Option<BeforeAfter>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct BeforeAfter {
    pub(crate) before: f64,
    pub(crate) after: f64,
}

/// What the interval of a change shows. The worst outcome comes last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Outcome {
    /// A gain greater than the margin is shown.
    Better,
    /// A loss greater than the margin is excluded.
    NotWorse,
    Unknown,
    /// A loss greater than the margin is shown.
    Worse,
}

impl Outcome {
    pub(crate) fn words(self) -> &'static str {
        match self {
            Outcome::Better => "better",
            Outcome::NotWorse => "no worse than the margin",
            Outcome::Unknown => "unknown",
            Outcome::Worse => "worse",
        }
    }

    /// Judges an interval in which positive is worse.
    pub(crate) fn by_loss(Interval { low, high }: Interval, margin: f64) -> Outcome {
        if high < -margin {
            Outcome::Better
        } else if low > margin {
            Outcome::Worse
        } else if high <= margin {
            Outcome::NotWorse
        } else {
            Outcome::Unknown
        }
    }
}

impl QuantityChange {
    pub(crate) fn outcome(&self) -> Outcome {
        Outcome::by_loss(self.loss(), self.quantity.margin)
    }

    pub(crate) fn is(&self, outcome: Outcome) -> bool {
        self.outcome() == outcome
    }

    /// The interval, turned so that positive is worse.
    pub(crate) fn loss(&self) -> Interval {
        match self.quantity.is_lower_better() {
            true => self.interval,
            false => self.interval.times(-1.0),
        }
    }

    pub(crate) fn excludes_gain(&self) -> bool {
        self.loss().low >= -self.quantity.margin
    }

    /// The factor by which the measuring time has to grow so that the interval no longer includes the margin: the margin of a
    /// gain for a benefit, and that of a loss for a cost. Intervals shrink with the root of the time. None if the interval
    /// does not include the margin.
    pub(crate) fn time_factor(&self) -> Option<f64> {
        let margin = match self.quantity.is_benefit() {
            true => -self.quantity.margin,
            false => self.quantity.margin,
        };
        let loss = self.loss();
        let is_open = loss.low < margin && margin < loss.high;
        let value = self.quantity.loss(self.value);
        let half = match value > margin {
            true => value - loss.low,
            false => loss.high - value,
        };
        is_open.then(|| (half / (value - margin)).powi(2))
    }
}

pub(crate) fn any(all: &[QuantityChange], outcome: Outcome) -> bool {
    all.iter().any(|change| change.is(outcome))
}
