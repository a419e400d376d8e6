//! A value with its standard error.

use super::student;
use super::variance::Variance;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Uncertain {
    pub(crate) value: f64,
    pub(crate) standard_error: f64,
    pub(crate) df: f64,
}

/// An end is infinite if the data give no bound.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Interval {
    pub(crate) low: f64,
    pub(crate) high: f64,
}

impl Uncertain {
    /// Symmetric; `confidence` as 0.95.
    pub(crate) fn interval(&self, confidence: f64) -> Interval {
        let margin = student::critical(self.df, confidence) * self.standard_error;
        Interval::new(self.value - margin, self.value + margin)
    }

    /// The probability that chance alone would give at least this distance from zero, if the true value were zero.
    pub(crate) fn p_value(&self) -> f64 {
        student::two_sided_p(self.t(), self.df)
    }

    /// The distance from zero in standard errors.
    pub(super) fn t(&self) -> f64 {
        self.value / self.standard_error
    }

    /// The difference from a value whose error is independent of this one's.
    pub(crate) fn minus(&self, other: &Uncertain) -> Uncertain {
        let [own, others] = [self, other].map(Variance::of_error);
        own.plus(others).of(self.value - other.value)
    }

    pub(crate) fn times(self, factor: f64) -> Uncertain {
        Uncertain {
            value: factor * self.value,
            ..self.inflated(factor)
        }
    }

    /// With the standard error multiplied by the factor of a calibration.
    pub(crate) fn inflated(self, factor: f64) -> Uncertain {
        Uncertain {
            standard_error: factor * self.standard_error,
            ..self
        }
    }
}

impl Variance {
    pub(super) fn of_error(of: &Uncertain) -> Variance {
        Variance::new(of.standard_error.powi(2), of.df)
    }

    pub(super) fn of(self, value: f64) -> Uncertain {
        Uncertain {
            value,
            standard_error: self.value.sqrt(),
            df: self.df,
        }
    }
}

impl Interval {
    pub(crate) fn new(low: f64, high: f64) -> Interval {
        Interval { low, high }
    }

    pub(crate) fn times(self, factor: f64) -> Interval {
        let ends = [factor * self.low, factor * self.high];
        Interval::new(ends[0].min(ends[1]), ends[0].max(ends[1]))
    }

    pub(super) fn clipped(self, lowest: f64, highest: f64) -> Interval {
        let [low, high] = [self.low, self.high].map(|end| end.clamp(lowest, highest));
        Interval { low, high }
    }

    pub(crate) fn covers(&self, truth: f64) -> bool {
        self.low <= truth && truth <= self.high
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const THREE: Uncertain = Uncertain {
        value: 3.0,
        standard_error: 1.0,
        df: 2.0,
    };

    #[test]
    fn an_interval_reaches_zero_just_when_p_exceeds_what_it_leaves_out() {
        let p = THREE.p_value();
        assert!(THREE.interval(1.0 - 0.99 * p).low < 0.0);
        assert!(THREE.interval(1.0 - 1.01 * p).low > 0.0);
    }

    #[test]
    fn inflation_widens_and_moves_nothing() {
        let (before, after) = (THREE.interval(0.95), THREE.inflated(2.0).interval(0.95));
        assert!((after.high - 3.0 - 2.0 * (before.high - 3.0)).abs() < 1e-9);
        assert!((after.high + after.low - 6.0).abs() < 1e-9);
    }
}
