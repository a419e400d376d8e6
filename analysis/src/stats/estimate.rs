//! A value of one variant in one cell, with what every block adds to its error.

use std::sync::Arc;

use super::{
    histogram::Histogram,
    student,
    uncertain::{Interval, Uncertain},
    variance::{between, wider, within},
};

#[derive(Clone, Debug)]
pub(crate) struct Estimate {
    pub(super) value: f64,
    /// By run, then by block; the error of `value` is about their sum.
    pub(super) deviations: Vec<Vec<f64>>,
    /// The variance that chance alone gives, below which agreement of blocks is luck.
    pub(super) floor: f64,
    pub(super) ends: Ends,
}

/// What an interval is an interval of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// Of the one launch that was measured. Another launch of the same may be outside.
    ThisRun,
    /// Of launches like these.
    Runs,
}

/// How the interval of a single run is drawn. That of several runs is symmetric.
#[derive(Clone, Debug)]
pub(super) enum Ends {
    Symmetric,
    /// Of `of` things counted; a rate's variance is in proportion to `rate · (1 − curvature · rate)`.
    Score {
        of: f64,
        curvature: f64,
    },
    /// Read off the histogram, a standard error in value being `slope` times one in share.
    Inverted {
        histogram: Arc<Histogram>,
        share: f64,
        slope: f64,
    },
}

impl Estimate {
    pub(crate) fn value(&self) -> f64 {
        self.value
    }

    pub(crate) fn scope(&self) -> Scope {
        if self.deviations.len() > 1 {
            Scope::Runs
        } else {
            Scope::ThisRun
        }
    }

    /// The value with its standard error. None where nothing varied, or only one block was seen: then
    /// it is not known how certain the value is.
    pub(crate) fn level(&self) -> Option<Uncertain> {
        let blocks = within(&self.deviations).map(|of| of.at_least(self.floor));
        let variance = match (blocks, between(&self.deviations)) {
            (Some(blocks), Some(runs)) => wider(runs, blocks),
            (blocks, runs) => runs.or(blocks)?,
        };
        (variance.value > 0.0).then(|| variance.of(self.value))
    }

    /// Of what [`Estimate::scope`] says; `confidence` as 0.95. None where [`Estimate::level`] is.
    pub(crate) fn interval(&self, confidence: f64) -> Option<Interval> {
        let level = self.level()?;
        let symmetric = level.interval(confidence).clipped(0.0, self.highest());
        if self.scope() == Scope::Runs {
            return Some(symmetric);
        }
        let t = student::critical(level.df, confidence);
        Some(match &self.ends {
            Ends::Symmetric => symmetric,
            Ends::Score { of, curvature } => self.score_interval(t, *of, *curvature),
            Ends::Inverted {
                histogram,
                share,
                slope,
            } => histogram.interval(*share, t * level.standard_error / slope),
        })
    }

    /// With the standard error that calibration found to be the true one; so are then those of
    /// changes made from it.
    pub(crate) fn inflated(mut self, factor: f64) -> Estimate {
        self.deviations
            .iter_mut()
            .flatten()
            .for_each(|deviation| *deviation *= factor);
        self.floor *= factor.powi(2);
        if let Ends::Score { of, .. } = &mut self.ends {
            *of /= factor.powi(2);
        }
        self
    }

    fn highest(&self) -> f64 {
        match self.ends {
            Ends::Score { curvature, .. } if curvature > 0.0 => 1.0 / curvature,
            _ => f64::INFINITY,
        }
    }

    /// All rates from which the value is at most `t` standard errors away, each with the error that
    /// it would give (Wilson's interval, with as many things counted as if they were independent).
    /// For rare things it is not symmetric, as their chances are not.
    fn score_interval(&self, t: f64, of: f64, curvature: f64) -> Interval {
        let of = self.independent(of, curvature);
        let spread = t.powi(2) / of;
        let scale = 1.0 + spread * curvature;
        let middle = (self.value + spread / 2.0) / scale;
        let margin = (middle.powi(2) - self.value.powi(2) / scale)
            .max(0.0)
            .sqrt();
        Interval {
            low: middle - margin,
            high: middle + margin,
        }
        .clipped(0.0, self.highest())
    }

    /// How many independent things would vary as the blocks do; never more than were counted.
    fn independent(&self, of: f64, curvature: f64) -> f64 {
        let variance = within(&self.deviations).map_or(0.0, |within| within.value);
        let by_one = self.value * (1.0 - curvature * self.value);
        if variance > 0.0 && by_one > 0.0 {
            of.min(by_one / variance)
        } else {
            of
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(deviations: Vec<Vec<f64>>, floor: f64) -> Estimate {
        Estimate {
            value: 0.1,
            deviations,
            floor,
            ends: Ends::Symmetric,
        }
    }

    #[test]
    fn one_run_speaks_for_itself_and_several_for_their_like() {
        let blocks = vec![0.01, -0.01, 0.01, -0.01];
        let one = of(vec![blocks.clone()], 0.0);
        assert_eq!(
            (one.scope(), one.level().map(|of| of.df)),
            (Scope::ThisRun, Some(3.0))
        );
        let shifted = |by: f64| blocks.iter().map(|of| of + by).collect::<Vec<_>>();
        let three = of([-0.1, 0.0, 0.1].map(shifted).to_vec(), 0.0);
        assert_eq!(
            (three.scope(), three.level().map(|of| of.df)),
            (Scope::Runs, Some(2.0))
        );
    }

    #[test]
    fn runs_that_agree_by_luck_are_as_uncertain_as_their_blocks() {
        let three = of(vec![vec![0.01, -0.01]; 3], 0.0)
            .level()
            .expect("blocks differ");
        assert!((three.standard_error - (3.0 * 4.0 * 1e-4_f64).sqrt()).abs() < 1e-12);
    }

    #[test]
    fn agreement_is_not_believed_below_the_floor() {
        let level = of(vec![vec![0.0; 4]], 0.04)
            .level()
            .expect("there is a floor");
        assert!((level.standard_error - 0.2).abs() < 1e-12);
        assert_eq!(of(vec![vec![0.0; 4]], 0.0).level(), None);
    }

    #[test]
    fn what_cannot_be_negative_has_no_negative_end() {
        let interval = of(vec![vec![0.1, -0.1, 0.1, -0.1]], 0.0).interval(0.95);
        assert_eq!(interval.map(|of| of.low), Some(0.0));
    }

    #[test]
    fn the_score_interval_of_independent_polls_is_wilsons() {
        let mut estimate = of(vec![vec![1e-9, -1e-9]], 0.0);
        estimate.ends = Ends::Score {
            of: 100.0,
            curvature: 1.0,
        };
        let Interval { low, high } = estimate.score_interval(1.96, 100.0, 1.0);
        assert!(
            (low - 0.0552).abs() < 1e-4 && (high - 0.1744).abs() < 1e-4,
            "{low} {high}"
        );
    }

    #[test]
    fn inflation_is_that_of_the_standard_error() {
        let estimate = of(vec![vec![0.01, -0.01], vec![0.02, 0.0]], 0.0);
        let before = estimate.level().expect("blocks differ");
        let after = estimate.inflated(1.5).level().expect("blocks differ");
        assert!((after.standard_error / before.standard_error - 1.5).abs() < 1e-12);
    }
}
