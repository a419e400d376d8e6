//! The same variant of the same cell in two sweeps, as before and after a change of the code.

use super::change::Change;
use super::estimate::BareEstimate;
use super::variance::Variance;

/// Two sweeps share no block, so the differences between launches do not cancel out. None if one of the two has no
/// variance, or a single launch: then it is unknown how much launches differ, however narrow the intervals of both are.
pub(crate) fn change_between(before: &BareEstimate, after: &BareEstimate) -> Option<Change> {
    if before.is_of_one_launch || after.is_of_one_launch {
        return None;
    }
    let [of_before, of_after] = [before.level?, after.level?].map(|of| Variance::of_error(&of));
    let [base, value] = [before, after].map(|of| of.value.max(of.least));
    let ratio = value / base;
    // To first order, the ratio errs by the error of `after` less `ratio` times that of `before`.
    let of_ratio = of_before.scaled(ratio).plus(of_after).scaled(1.0 / base);
    Some(Change {
        difference: of_before.plus(of_after).of(after.value - before.value),
        relative: (base > 0.0).then(|| of_ratio.of(ratio - 1.0)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::{RatioKind, RatioPart, ratio};

    fn slow(by_run: &[f64]) -> BareEstimate {
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
        let (one, three) = (slow(&[1000.0]), slow(&[100.0, 110.0, 90.0]));
        for (before, after) in [(&one, &three), (&three, &one), (&one, &one)] {
            assert_eq!(change_between(before, after), None);
        }
    }

    #[test]
    fn a_relative_change_does_not_explode_where_both_are_below_the_least_value() {
        let least = |by_run: &[f64]| {
            let mut of = slow(by_run);
            of.least = 0.01;
            of
        };
        let change = change_between(&least(&[1.0, 2.0, 1.0]), &least(&[40.0, 60.0, 50.0]));
        let change = change.expect("several launches");
        assert!(change.difference.value > 0.004);
        assert_eq!(change.relative.map(|of| of.value), Some(0.0));
    }

    #[test]
    fn launches_that_differ_hide_a_difference_between_sweeps() {
        let compare = |before: &[f64], after: &[f64]| {
            change_between(&slow(before), &slow(after)).expect("several launches")
        };
        let far = compare(&[1200.0, 1270.0, 1650.0], &[270.0, 280.0, 400.0]);
        assert!(far.p_value() < 0.05);
        assert!(
            (far.difference.df - 2.3).abs() < 0.5,
            "{}",
            far.difference.df
        );
        let near = compare(&[1200.0, 1270.0, 1650.0], &[1000.0, 1100.0, 1500.0]);
        assert!(near.p_value() > 0.05);
        assert!(
            near.relative
                .is_some_and(|of| of.value < 0.0 && of.standard_error > 0.1)
        );
    }
}
