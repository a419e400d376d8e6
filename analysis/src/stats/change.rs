//! The change from the baseline to another variant in the blocks that both share, and the change of one variant between two
//! sweeps.

use super::estimate::{BareEstimate, CellEstimate};
use super::variance::{
    Uncertain, Variance, pooled_or_summed, variance_from_blocks, variance_from_groups,
};

/// A change in the launches that were measured. A launch shifts all of its variants by about the same factor, which cancels
/// out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Change {
    pub(crate) difference: Uncertain,
    pub(crate) relative: Option<Uncertain>,
}

/// None if the two do not share their blocks, or if no block varied.
pub(crate) fn paired_change(baseline: &CellEstimate, other: &CellEstimate) -> Option<Change> {
    let pair = PairedEstimates::new(baseline, other, 0.0)?;
    let ratio_variance = pair.variance_of_ratio()?;
    let difference_variance = pair.variance_of_difference(ratio_variance)?;
    let relative = match baseline.value.min(other.value) < baseline.least {
        false => pair.relative(ratio_variance),
        true => {
            let raised = PairedEstimates::new(baseline, other, baseline.least)?;
            raised.relative(raised.variance_of_ratio()?)
        }
    };
    (difference_variance.value > 0.0).then(|| Change {
        difference: difference_variance.around(other.value - baseline.value),
        relative,
    })
}

/// Two sweeps share no block, so the differences between launches do not cancel out. None if one of the two has no
/// variance, or a single group of blocks: then it is unknown how much groups differ, however narrow the intervals of both are.
pub(crate) fn change_between(before: &BareEstimate, after: &BareEstimate) -> Option<Change> {
    if before.is_of_one_group || after.is_of_one_group {
        return None;
    }
    let [variance_before, variance_after] =
        [before.level?, after.level?].map(|level| Variance::from_error(&level));
    let [base, value] = [before, after].map(|side| side.value.max(side.least));
    let ratio = value / base;
    // To first order, the ratio errs by the error of `after` less `ratio` times that of `before`.
    let ratio_variance = variance_before
        .scaled(ratio)
        .plus(variance_after)
        .scaled(1.0 / base);
    Some(Change {
        difference: variance_before
            .plus(variance_after)
            .around(after.value - before.value),
        relative: (base > 0.0).then(|| ratio_variance.around(ratio - 1.0)),
    })
}

impl Change {
    pub(crate) fn inflated(self, factor: f64) -> Change {
        Change {
            difference: self.difference.inflated(factor),
            relative: self.relative.map(|relative| relative.inflated(factor)),
        }
    }
}

struct PairedEstimates<'a> {
    baseline: &'a CellEstimate,
    other: &'a CellEstimate,
    /// The values of the two, each raised to the least value if it is below.
    values: [f64; 2],
    /// The factors that scale each of the two to the lower value. A launch that shifts both by one factor then shifts both by
    /// the same amount.
    weights: [f64; 2],
}

impl<'a> PairedEstimates<'a> {
    fn new(baseline: &'a CellEstimate, other: &'a CellEstimate, least: f64) -> Option<Self> {
        let blocks =
            |estimate: &CellEstimate| estimate.deviations.iter().map(Vec::len).collect::<Vec<_>>();
        let values = [baseline, other].map(|estimate| estimate.value.max(least));
        let higher = values[0].max(values[1]);
        let share = |value: f64| if higher > 0.0 { value / higher } else { 1.0 };
        (blocks(baseline) == blocks(other)).then(|| PairedEstimates {
            baseline,
            other,
            values,
            weights: [share(values[1]), share(values[0])],
        })
    }

    /// The variance of the ratio of the two. It includes how much launches differ, because one launch may have a change and
    /// another none.
    fn variance_of_ratio(&self) -> Option<Variance> {
        let blocks = self.variance_from_blocks(self.weights);
        match (blocks, variance_from_groups(&self.deviations(self.weights))) {
            (Some(blocks), Some(groups)) => Some(pooled_or_summed(groups, blocks)),
            (blocks, groups) => blocks.or(groups),
        }
    }

    /// The variance of the difference of the two. It includes the uncertainty of the baseline in the measured groups, so that
    /// no difference is more certain than its two sides.
    fn variance_of_difference(&self, ratio_variance: Variance) -> Option<Variance> {
        let (Some(plain), Some(at_level)) = (
            self.variance_from_blocks([1.0; 2]),
            self.variance_from_blocks(self.weights),
        ) else {
            return Some(ratio_variance);
        };
        let level_variance = Variance {
            value: (plain.value - at_level.value).max(0.0),
            ..plain
        };
        let sum = ratio_variance.plus(level_variance);
        // Both come from the same blocks, so the sum has no more degrees of freedom than the better one.
        Some(Variance {
            df: sum.df.min(ratio_variance.df.max(plain.df)),
            ..sum
        })
    }

    fn relative(&self, ratio_variance: Variance) -> Option<Uncertain> {
        let [baseline, other] = self.values;
        // This factor converts from the scale of the lower value to that of the baseline.
        let scale = baseline * self.weights[1];
        let is_known = baseline > 0.0 && ratio_variance.value > 0.0;
        is_known.then(|| {
            ratio_variance
                .scaled(1.0 / scale)
                .around(other / baseline - 1.0)
        })
    }

    fn variance_from_blocks(&self, weights: [f64; 2]) -> Option<Variance> {
        variance_from_blocks(&self.deviations(weights))
            .map(|variance| variance.at_least(self.floor(weights)))
    }

    fn deviations(&self, [baseline_weight, other_weight]: [f64; 2]) -> Vec<Vec<f64>> {
        let group = |(baseline, other): (&Vec<f64>, &Vec<f64>)| {
            let blocks = baseline.iter().zip(other);
            let apart = blocks.map(|(was, is)| other_weight * is - baseline_weight * was);
            apart.collect()
        };
        let groups = self.baseline.deviations.iter();
        groups.zip(&self.other.deviations).map(group).collect()
    }

    fn floor(&self, [baseline_weight, other_weight]: [f64; 2]) -> f64 {
        baseline_weight.powi(2) * self.baseline.floor + other_weight.powi(2) * self.other.floor
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::{RatioKind, RatioPart, ratio};

    /// The share of slow polls. Every block has 10,000 polls.
    fn slow(by_run: &[&[u32]]) -> CellEstimate {
        let part = |slow: &u32| RatioPart {
            num: f64::from(*slow),
            den: 10_000.0,
        };
        let parts: Vec<Vec<RatioPart>> = by_run
            .iter()
            .map(|run| run.iter().map(part).collect())
            .collect();
        ratio(&parts, RatioKind::Share).expect("polls were seen")
    }

    fn compared(baseline: &[&[u32]], other: &[&[u32]]) -> Change {
        paired_change(&slow(baseline), &slow(other)).expect("the same blocks")
    }

    #[test]
    fn a_factor_that_shifts_a_whole_run_does_not_hide_a_change() {
        let alike = compared(&[&[1000, 1100], &[1100, 1000]], &[&[800, 860], &[870, 810]]);
        let shifted = compared(
            &[&[1000, 1100], &[1650, 1500]],
            &[&[800, 860], &[1305, 1215]],
        );
        assert!(
            shifted.difference.p_value() < 0.01,
            "{}",
            shifted.difference.p_value()
        );
        let error = |change: Change| change.relative.expect("a baseline").standard_error;
        assert!(
            error(shifted) < 1.5 * error(alike),
            "{} {}",
            error(shifted),
            error(alike)
        );
    }

    #[test]
    fn a_change_in_only_one_of_two_launches_is_not_resolved() {
        let baseline: &[&[u32]] = &[&[1000, 1010, 990, 1000], &[1000, 1010, 990, 1000]];
        let change = compared(baseline, &[&[500, 510, 490, 500], &[1000, 990, 1010, 1000]]);
        assert!(change.difference.p_value() > 0.05);
        assert!(change.difference.df < 1.5, "{}", change.difference.df);
    }

    #[test]
    fn swapping_the_two_sides_changes_only_the_sign() {
        let (a, b) = (
            &[&[1000_u32, 1100, 900][..]][..],
            &[&[10_u32, 30, 20][..]][..],
        );
        let (there, back) = (compared(a, b), compared(b, a));
        assert_eq!(there.difference.value, -back.difference.value);
        assert!((there.difference.p_value() - back.difference.p_value()).abs() < 1e-12);
        assert_eq!(there.difference.df, back.difference.df);
    }

    #[test]
    fn a_difference_is_not_more_certain_than_its_larger_side() {
        let (baseline, none) = (slow(&[&[1000, 1400, 900, 1200]]), slow(&[&[0, 0, 0, 0]]));
        let change = paired_change(&baseline, &none).expect("the same blocks");
        let level = baseline.level().expect("four blocks");
        assert!(change.difference.standard_error >= 0.99 * level.standard_error);
        let relative = change.relative.expect("a baseline");
        assert_eq!(relative.value, -1.0);
        assert!(
            relative.standard_error < 0.01,
            "that almost none are left is certain"
        );
    }

    #[test]
    fn the_relative_change_is_divided_by_the_baseline() {
        let halved = compared(&[&[1000, 1200, 800]], &[&[500, 610, 390]]);
        assert_eq!(halved.relative.map(|change| change.value), Some(-0.5));
        let doubled = compared(&[&[500, 610, 390]], &[&[1000, 1200, 800]]);
        let (down, up) = (
            halved.relative.expect("some"),
            doubled.relative.expect("some"),
        );
        // The same uncertainty of the same ratio, four times as large about 2 as about a half.
        assert!((up.standard_error / down.standard_error - 4.0).abs() < 0.05);
        assert_eq!(compared(&[&[0, 0]], &[&[1, 0]]).relative, None);
    }

    #[test]
    fn a_relative_change_does_not_explode_where_both_are_below_the_least_value() {
        let [low, high] = [slow(&[&[1, 2, 1]]), slow(&[&[40, 60, 50]])];
        let relative = |least: f64, other: &CellEstimate| {
            let change =
                paired_change(&low.clone().with_least(least), other).expect("the same blocks");
            change.relative.expect("a baseline").value
        };
        assert!(relative(0.0, &high) > 30.0);
        assert_eq!(relative(0.01, &high), 0.0);
        assert!((relative(0.0025, &high) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn blocks_that_were_not_shared_are_not_compared() {
        assert!(paired_change(&slow(&[&[10, 20]]), &slow(&[&[10, 20, 30]])).is_none());
        assert!(paired_change(&slow(&[&[10, 20]]), &slow(&[&[10], &[20]])).is_none());
    }

    #[test]
    fn two_variants_without_slow_polls_may_still_differ() {
        let none = compared(&[&[0, 0]], &[&[0, 0]]);
        assert_eq!(
            (none.difference.value, none.difference.p_value()),
            (0.0, 1.0)
        );
        assert!(none.difference.interval(0.95).high > 1e-4);
    }

    /// Launches with four blocks each, in which this many of 10,000 polls are slow.
    fn launched(by_run: &[f64]) -> BareEstimate {
        let run = |slow: &f64| {
            vec![
                RatioPart {
                    num: *slow,
                    den: 10_000.0
                };
                4
            ]
        };
        let parts: Vec<Vec<RatioPart>> = by_run.iter().map(run).collect();
        let estimate = ratio(&parts, RatioKind::Share);
        estimate.expect("polls were seen").bare()
    }

    #[test]
    fn a_single_launch_on_a_side_resolves_nothing() {
        let (one, three) = (launched(&[1000.0]), launched(&[100.0, 110.0, 90.0]));
        for (before, after) in [(&one, &three), (&three, &one), (&one, &one)] {
            assert_eq!(change_between(before, after), None);
        }
    }

    #[test]
    fn a_relative_change_between_sweeps_does_not_explode_either() {
        let least = |by_run: &[f64]| {
            let mut estimate = launched(by_run);
            estimate.least = 0.01;
            estimate
        };
        let change = change_between(&least(&[1.0, 2.0, 1.0]), &least(&[40.0, 60.0, 50.0]))
            .expect("several launches");
        assert!(change.difference.value > 0.004);
        assert_eq!(change.relative.map(|change| change.value), Some(0.0));
    }

    #[test]
    fn launches_that_differ_hide_a_difference_between_sweeps() {
        let compare = |before: &[f64], after: &[f64]| {
            change_between(&launched(before), &launched(after)).expect("several launches")
        };
        let far = compare(&[1200.0, 1270.0, 1650.0], &[270.0, 280.0, 400.0]);
        assert!(far.difference.p_value() < 0.05);
        assert!(
            (far.difference.df - 2.3).abs() < 0.5,
            "{}",
            far.difference.df
        );
        let near = compare(&[1200.0, 1270.0, 1650.0], &[1000.0, 1100.0, 1500.0]);
        assert!(near.difference.p_value() > 0.05);
        assert!(
            near.relative
                .is_some_and(|change| change.value < 0.0 && change.standard_error > 0.1)
        );
    }
}
