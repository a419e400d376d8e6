//! A value of one variant in one cell, with the part of its error that comes from each block.

use std::sync::Arc;

use super::histogram::Histogram;
use super::variance::{Interval, Uncertain, variance_from_blocks, variance_from_groups, wider_of};
use super::{quotient, student};

#[derive(Clone, Debug)]
pub(crate) struct CellEstimate {
    pub(crate) value: f64,
    /// The part that each block adds to the error of `value`, by group and then by block.
    pub(super) deviations: Vec<Vec<f64>>,
    /// The variance that counting alone causes. Blocks that vary less agree by chance.
    pub(super) floor: f64,
    /// The least value in a relative change. A smaller one is raised to it.
    pub(super) least: f64,
    pub(super) shape: IntervalShape,
}

/// The shape of the interval of a single group. That of several groups is symmetric.
#[derive(Clone, Debug)]
pub(super) enum IntervalShape {
    Symmetric,
    /// The interval of a rate of `counted` things. Its variance is in proportion to `rate · (1 − curvature · rate)`.
    Score {
        counted: f64,
        curvature: f64,
    },
    /// The interval is read from the histogram and multiplied by `scale`. A standard error in value is `slope` times one in
    /// share.
    Inverted {
        histogram: Arc<Histogram>,
        share: f64,
        slope: f64,
        scale: f64,
    },
}

/// An estimate without its blocks. It cannot be compared with another variant of the same launches.
#[derive(Clone, Debug)]
pub(crate) struct BareEstimate {
    pub(crate) value: f64,
    /// The value with its standard error. None if nothing varied or there is only one block, because then the error is
    /// unknown.
    pub(crate) level: Option<Uncertain>,
    /// Whether all blocks are of one launch, or of one host. Then the interval is about this launch or host, and another one
    /// may be outside of it.
    pub(crate) is_of_one_group: bool,
    pub(super) least: f64,
    shape: IntervalShape,
}

impl CellEstimate {
    pub(crate) fn with_least(self, least: f64) -> CellEstimate {
        CellEstimate { least, ..self }
    }

    pub(crate) fn bare(&self) -> BareEstimate {
        let mut shape = self.shape.clone();
        if let IntervalShape::Score { counted, curvature } = &mut shape {
            *counted = self.independent(*counted, *curvature);
        }
        BareEstimate {
            value: self.value,
            level: self.level(),
            is_of_one_group: self.deviations.len() < 2,
            least: self.least,
            shape,
        }
    }

    pub(crate) fn level(&self) -> Option<Uncertain> {
        let blocks =
            variance_from_blocks(&self.deviations).map(|variance| variance.at_least(self.floor));
        let variance = match (blocks, variance_from_groups(&self.deviations)) {
            (Some(blocks), Some(groups)) => wider_of(groups, blocks),
            (blocks, groups) => groups.or(blocks)?,
        };
        (variance.value > 0.0).then(|| variance.around(self.value))
    }

    pub(crate) fn interval(&self, confidence: f64) -> Option<Interval> {
        self.bare().interval(confidence)
    }

    /// The number of independent things that would vary as the blocks do, at most the number that was counted.
    fn independent(&self, counted: f64, curvature: f64) -> f64 {
        let variance = variance_from_blocks(&self.deviations).map_or(0.0, |blocks| blocks.value);
        let by_one = self.value * (1.0 - curvature * self.value);
        let independent = quotient(by_one, variance).filter(|independent| *independent > 0.0);
        independent.map_or(counted, |independent| independent.min(counted))
    }
}

impl BareEstimate {
    /// The interval with a confidence such as 0.95. None if [`BareEstimate::level`] is None.
    pub(crate) fn interval(&self, confidence: f64) -> Option<Interval> {
        let level = self.level?;
        let symmetric = level.interval(confidence).clipped(0.0, self.highest());
        if !self.is_of_one_group {
            return Some(symmetric);
        }
        let t = student::critical(level.df, confidence);
        Some(match &self.shape {
            IntervalShape::Symmetric => symmetric,
            IntervalShape::Score { counted, curvature } => {
                self.score_interval(t, *counted, *curvature)
            }
            IntervalShape::Inverted {
                histogram,
                share,
                slope,
                scale,
            } => {
                let margin = t * level.standard_error / slope;
                histogram.interval(*share, margin).times(*scale)
            }
        })
    }

    pub(crate) fn inflated(mut self, factor: f64) -> BareEstimate {
        self.level = self.level.map(|level| level.inflated(factor));
        if let IntervalShape::Score { counted, .. } = &mut self.shape {
            *counted /= factor.powi(2);
        }
        self
    }

    pub(crate) fn times(mut self, factor: f64) -> BareEstimate {
        self.value *= factor;
        self.level = self.level.map(|level| level.times(factor));
        match &mut self.shape {
            IntervalShape::Symmetric => {}
            IntervalShape::Score { counted, curvature } => {
                *counted /= factor;
                *curvature /= factor;
            }
            IntervalShape::Inverted { slope, scale, .. } => {
                *slope *= factor;
                *scale *= factor;
            }
        }
        self
    }

    fn highest(&self) -> f64 {
        match self.shape {
            IntervalShape::Score { curvature, .. } if curvature > 0.0 => 1.0 / curvature,
            _ => f64::INFINITY,
        }
    }

    /// Wilson's interval: all rates from which the value is at most `t` standard errors away, where each rate has the error
    /// that it would cause. It is not symmetric for rare things, because their chances are not.
    fn score_interval(&self, t: f64, counted: f64, curvature: f64) -> Interval {
        let spread = t.powi(2) / counted;
        let scale = 1.0 + spread * curvature;
        let middle = (self.value + spread / 2.0) / scale;
        let square = middle.powi(2) - self.value.powi(2) / scale;
        let margin = square.max(0.0).sqrt();
        Interval::new(middle - margin, middle + margin).clipped(0.0, self.highest())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(deviations: Vec<Vec<f64>>, floor: f64) -> CellEstimate {
        CellEstimate {
            value: 0.1,
            deviations,
            floor,
            least: 0.0,
            shape: IntervalShape::Symmetric,
        }
    }

    #[test]
    fn the_interval_of_one_group_comes_from_its_blocks_and_that_of_several_from_the_groups() {
        let blocks = vec![0.01, -0.01, 0.01, -0.01];
        let one = estimate(vec![blocks.clone()], 0.0);
        assert_eq!(
            (
                one.bare().is_of_one_group,
                one.level().map(|level| level.df)
            ),
            (true, Some(3.0))
        );
        let shifted = |by: f64| blocks.iter().map(|block| block + by).collect::<Vec<_>>();
        let three = estimate([-0.1, 0.0, 0.1].map(shifted).to_vec(), 0.0);
        assert_eq!(
            (
                three.bare().is_of_one_group,
                three.level().map(|level| level.df)
            ),
            (false, Some(2.0))
        );
    }

    #[test]
    fn groups_that_agree_by_luck_are_as_uncertain_as_their_blocks() {
        let three = estimate(vec![vec![0.01, -0.01]; 3], 0.0)
            .level()
            .expect("blocks differ");
        assert!((three.standard_error - (3.0 * 4.0 * 1e-4_f64).sqrt()).abs() < 1e-12);
    }

    #[test]
    fn agreement_is_not_believed_below_the_floor() {
        let level = estimate(vec![vec![0.0; 4]], 0.04)
            .level()
            .expect("there is a floor");
        assert!((level.standard_error - 0.2).abs() < 1e-12);
        assert_eq!(estimate(vec![vec![0.0; 4]], 0.0).level(), None);
    }

    #[test]
    fn no_end_of_an_interval_is_negative() {
        let interval = estimate(vec![vec![0.1, -0.1, 0.1, -0.1]], 0.0).interval(0.95);
        assert_eq!(interval.map(|interval| interval.low), Some(0.0));
    }

    #[test]
    fn the_score_interval_of_independent_polls_is_wilsons() {
        let mut estimate = estimate(vec![vec![1e-9, -1e-9]], 0.0);
        estimate.shape = IntervalShape::Score {
            counted: 100.0,
            curvature: 1.0,
        };
        let Interval { low, high } = estimate.bare().score_interval(1.96, 100.0, 1.0);
        assert!(
            (low - 0.0552).abs() < 1e-4 && (high - 0.1744).abs() < 1e-4,
            "{low} {high}"
        );
    }

    #[test]
    fn inflation_multiplies_the_standard_error() {
        let estimate = estimate(vec![vec![0.01, -0.01], vec![0.02, 0.0]], 0.0);
        let before = estimate.level().expect("blocks differ");
        let after = estimate.bare().inflated(1.5).level.expect("blocks differ");
        assert!((after.standard_error / before.standard_error - 1.5).abs() < 1e-12);
    }
}
