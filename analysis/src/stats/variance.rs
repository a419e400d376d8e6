//! The variance of a sum over blocks, estimated from the blocks of each group, from groups, and from both.
//!
//! A deviation is the part of an estimate's error that comes from one block. The error is the sum of all
//! deviations, and these functions estimate the variance of that sum.

use statrs::distribution::{ContinuousCDF, FisherSnedecor};

use super::quotient;
use super::student::{self, CONFIDENCE};

/// The p-value of the test whether groups differ more than their blocks. Above it, groups and blocks estimate the same
/// variance.
const ALIKE: f64 = 0.25;

/// If counting alone explains a variance, its degrees of freedom are multiplied by this. A larger factor would be as good for
/// intervals, but would too often trust blocks that agree by chance.
const KNOWN: f64 = 4.0;

/// The factor for the variance of a few groups, so that intervals contain the truth nearly as often if groups are uniformly
/// distributed as if they are normal.
const NOT_NORMAL: f64 = 4.0 / 3.0;

/// The variance of groups is reduced by a sixth of that of blocks for each of its degrees of freedom, but for no more than
/// two. METHODS.md has the formula under "How an interval is made".
const REDUCTION_DIVISOR: f64 = 6.0;
const MOST_REDUCING_DF: f64 = 2.0;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Variance {
    pub(super) value: f64,
    pub(super) df: f64,
}

impl Variance {
    pub(super) fn new(value: f64, df: f64) -> Variance {
        Variance { value, df }
    }

    fn margin(self) -> f64 {
        student::critical(self.df, CONFIDENCE) * self.value.sqrt()
    }

    /// The variance of the sum of two independent values, with Satterthwaite's degrees of freedom.
    pub(super) fn plus(self, other: Variance) -> Variance {
        let value = self.value + other.value;
        let parts = self.value.powi(2) / self.df + other.value.powi(2) / other.df;
        let df = quotient(value.powi(2), parts);
        Variance::new(value, df.unwrap_or(self.df.min(other.df)))
    }

    pub(super) fn scaled(self, by: f64) -> Variance {
        Variance {
            value: by.powi(2) * self.value,
            ..self
        }
    }

    /// Raises the variance to that of counting alone. That variance is known, so the nearer this one is to it, the more
    /// degrees of freedom it has.
    pub(super) fn at_least(self, floor: f64) -> Variance {
        let value = self.value.max(floor);
        let known = quotient(floor, value).unwrap_or(0.0).powi(2);
        Variance::new(value, self.df / (1.0 - known * (1.0 - 1.0 / KNOWN)))
    }
}

/// The variance from the differences between blocks of the same group. None if a group has a single block.
pub(super) fn variance_from_blocks(deviations: &[Vec<f64>]) -> Option<Variance> {
    let groups: Vec<GroupSums> = deviations
        .iter()
        .map(|group| GroupSums::add_up(group))
        .collect();
    if groups.is_empty() || groups.iter().any(|group| group.blocks < 2.0) {
        return None;
    }
    let variances: f64 = groups.iter().map(GroupSums::variance).sum();
    // Errors of neighbours to the same side do not cancel out. A negative correlation is not assumed.
    let covariances: f64 = groups.iter().map(GroupSums::covariance).sum();
    let value = variances + 2.0 * covariances.max(0.0);
    let blocks: f64 = groups.iter().map(|group| group.blocks - 1.0).sum();
    // Correlated blocks are as good as fewer blocks.
    let df = quotient(blocks * variances, value).unwrap_or(blocks);
    Some(Variance::new(value, df.max(1.0)))
}

/// The variance from the differences between groups, whatever their cause. None with a single group.
pub(super) fn variance_from_groups(deviations: &[Vec<f64>]) -> Option<Variance> {
    let totals: Vec<f64> = deviations.iter().map(|group| group.iter().sum()).collect();
    let groups = GroupSums::add_up(&totals);
    (groups.blocks > 1.0).then(|| Variance::new(groups.variance(), groups.blocks - 1.0))
}

/// Pools both into one estimate if groups differ no more than their blocks explain. Otherwise adds the variance by which
/// groups differ more to that of blocks.
pub(super) fn pooled_or_summed(groups: Variance, blocks: Variance) -> Variance {
    let f = FisherSnedecor::new(groups.df, blocks.df).expect("both were estimated");
    // Blocks that do not vary at all give no ratio.
    if blocks.value == 0.0 || f.sf(groups.value / blocks.value) <= ALIKE {
        return blocks.plus(Variance {
            value: (groups.value - blocks.value).max(0.0),
            ..groups
        });
    }
    let df = groups.df + blocks.df;
    Variance::new(
        (groups.df * groups.value + blocks.df * blocks.value) / df,
        df,
    )
}

/// The variance of groups or that of blocks, whichever has the wider interval.
///
/// The variance of groups alone would give the promised coverage, however much groups differ. But an interval from groups that
/// agree better than their blocks is too narrow to be credible, so the wider one is taken. To make up for that, the variance
/// of groups is reduced by a part of that of blocks. Two or three groups that are not normal are less certain than Student's t
/// assumes, so it is also multiplied by [`NOT_NORMAL`].
pub(super) fn wider_of(groups: Variance, blocks: Variance) -> Variance {
    let explained = blocks.value * groups.df.min(MOST_REDUCING_DF) / REDUCTION_DIVISOR;
    let beyond = Variance {
        value: NOT_NORMAL * (groups.value - explained).max(0.0),
        ..groups
    };
    match beyond.margin() > blocks.margin() {
        true => beyond,
        false => blocks,
    }
}

/// The sums over the deviations of one group, about its mean, from which variances are made.
struct GroupSums {
    blocks: f64,
    squares: f64,
    /// The sum of products of blocks that follow each other.
    neighbours: f64,
}

impl GroupSums {
    fn add_up(deviations: &[f64]) -> GroupSums {
        let blocks = deviations.len() as f64;
        let mean = deviations.iter().sum::<f64>() / blocks;
        let neighbours = deviations.windows(2);
        GroupSums {
            blocks,
            squares: deviations.iter().map(|block| (block - mean).powi(2)).sum(),
            neighbours: neighbours
                .map(|pair| (pair[0] - mean) * (pair[1] - mean))
                .sum(),
        }
    }

    fn variance(&self) -> f64 {
        self.squares * self.blocks / (self.blocks - 1.0)
    }

    /// The covariance of neighbours, summed up. About their own mean even independent blocks seem to have a negative one,
    /// which is corrected.
    fn covariance(&self) -> f64 {
        self.neighbours + self.squares / self.blocks
    }
}

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
    /// The symmetric interval with a confidence such as 0.95.
    pub(crate) fn interval(&self, confidence: f64) -> Interval {
        let margin = student::critical(self.df, confidence) * self.standard_error;
        Interval::new(self.value - margin, self.value + margin)
    }

    /// The probability that chance alone gives at least this distance from zero, if the true value is zero.
    pub(crate) fn p_value(&self) -> f64 {
        student::two_sided_p(self.t(), self.df)
    }

    /// The distance from zero in standard errors.
    pub(super) fn t(&self) -> f64 {
        self.value / self.standard_error
    }

    /// The difference from a value whose error is independent of this one's.
    pub(crate) fn minus(&self, other: &Uncertain) -> Uncertain {
        let [own, others] = [self, other].map(Variance::from_error);
        own.plus(others).around(self.value - other.value)
    }

    pub(crate) fn times(self, factor: f64) -> Uncertain {
        Uncertain {
            value: factor * self.value,
            ..self.inflated(factor)
        }
    }

    /// Multiplies the standard error by the factor of a calibration.
    pub(crate) fn inflated(self, factor: f64) -> Uncertain {
        Uncertain {
            standard_error: factor * self.standard_error,
            ..self
        }
    }
}

impl Variance {
    pub(super) fn from_error(estimate: &Uncertain) -> Variance {
        Variance::new(estimate.standard_error.powi(2), estimate.df)
    }

    pub(super) fn around(self, value: f64) -> Uncertain {
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

    #[test]
    fn alternating_blocks_count_as_independent() {
        let variance = variance_from_blocks(&[vec![1.0, -1.0, 1.0, -1.0]]).expect("four blocks");
        assert_eq!(variance.df, 3.0);
        assert!((variance.value - 4.0 * 4.0 / 3.0).abs() < 1e-12);
    }

    #[test]
    fn drifting_blocks_have_a_larger_variance_than_alternating_ones() {
        let drifting = variance_from_blocks(&[vec![1.0, 1.0, -1.0, -1.0]]).expect("four blocks");
        let alternating = variance_from_blocks(&[vec![1.0, -1.0, 1.0, -1.0]]).expect("four blocks");
        assert!(drifting.value > alternating.value);
    }

    #[test]
    fn the_level_of_a_group_adds_no_variance_within_it() {
        let shifted = [vec![11.0, 9.0, 11.0, 9.0], vec![1.0, -1.0, 1.0, -1.0]];
        assert_eq!(
            variance_from_blocks(&shifted).map(|variance| variance.df),
            Some(6.0)
        );
        assert!(
            (variance_from_blocks(&shifted).expect("blocks").value - 2.0 * 16.0 / 3.0).abs()
                < 1e-12
        );
        // Totals of 40 and 0.
        assert_eq!(
            variance_from_groups(&shifted),
            Some(Variance::new(1600.0, 1.0))
        );
    }

    #[test]
    fn variances_need_two_groups_or_two_blocks() {
        assert_eq!(variance_from_groups(&[vec![1.0, 2.0]]), None);
        assert_eq!(variance_from_blocks(&[vec![1.0]]), None);
        assert_eq!(variance_from_blocks(&[]), None);
    }

    #[test]
    fn groups_that_differ_no_more_than_blocks_explain_are_pooled() {
        let (blocks, df) = (Variance::new(1.0, 33.0), 2.0);
        let pooled = pooled_or_summed(Variance::new(1.2, df), blocks);
        assert_eq!(pooled.df, 35.0);
        assert!((pooled.value - (2.4 + 33.0) / 35.0).abs() < 1e-12);
        let apart = pooled_or_summed(Variance::new(9.0, df), blocks);
        assert_eq!(apart.value, 9.0);
        assert!(apart.df < 3.0, "{}", apart.df);
    }

    #[test]
    fn the_wider_variance_is_taken() {
        let blocks = Variance::new(1.0, 33.0);
        let groups = |value| Variance::new(value, 2.0);
        assert_eq!(wider_of(groups(0.2), blocks), blocks);
        let apart = wider_of(groups(1.0), blocks);
        assert_eq!(apart.df, 2.0);
        assert!((apart.value - 4.0 / 3.0 * (1.0 - 1.0 / 3.0)).abs() < 1e-12);
    }

    #[test]
    fn with_blocks_that_do_not_vary_the_variance_is_that_of_groups() {
        let (blocks, groups) = (Variance::new(0.0, 33.0), Variance::new(1.0, 2.0));
        assert_eq!(pooled_or_summed(groups, blocks), groups);
    }

    #[test]
    fn a_variance_that_is_no_more_than_chance_has_more_degrees_of_freedom() {
        let blocks = Variance::new(1.0, 5.0);
        let by_chance = blocks.at_least(2.0);
        assert_eq!(by_chance.value, 2.0);
        assert!((by_chance.df - 20.0).abs() < 1e-9);
        assert!((blocks.at_least(0.1).df - 5.0).abs() < 0.1);
        assert_eq!(blocks.at_least(0.0), blocks);
    }

    #[test]
    fn a_sum_has_the_degrees_of_freedom_of_its_dominant_part() {
        let few = Variance::new(100.0, 2.0);
        let many = Variance::new(1.0, 33.0);
        assert!((few.plus(many).df - 2.04).abs() < 0.01);
        let nothing = Variance::new(0.0, 33.0);
        assert_eq!(few.plus(nothing), few);
        assert_eq!(nothing.plus(nothing), nothing);
    }

    const THREE: Uncertain = Uncertain {
        value: 3.0,
        standard_error: 1.0,
        df: 2.0,
    };

    #[test]
    fn an_interval_contains_zero_exactly_if_p_exceeds_one_minus_its_confidence() {
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
