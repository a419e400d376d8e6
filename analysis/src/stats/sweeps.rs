//! The same variant of the same cell in two sweeps, as before and after a change of the code.

use super::{
    change::Change,
    estimate::{BareEstimate, EstimateScope},
    variance::Variance,
};

/// Two sweeps share no block, so the differences between launches do not cancel out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum BetweenSweeps {
    Compared(Change),
    /// One sweep has a single launch, so it is unknown how much launches differ. The difference is never
    /// resolved, however narrow the intervals of both.
    LaunchesUnknown {
        difference: f64,
    },
}

/// None if one of the two has no variance.
pub(crate) fn change_between(before: &BareEstimate, after: &BareEstimate) -> Option<BetweenSweeps> {
    let difference = after.value - before.value;
    if [before, after]
        .iter()
        .any(|side| side.scope == EstimateScope::ThisRun)
    {
        return Some(BetweenSweeps::LaunchesUnknown { difference });
    }
    let [of_before, of_after] = [before.level?, after.level?].map(|of| Variance::of_error(&of));
    let ratio = after.value / before.value;
    // To first order, the ratio errs by the error of `after` less `ratio` times that of `before`.
    let of_ratio = of_before
        .scaled(ratio)
        .plus(of_after)
        .scaled(1.0 / before.value);
    Some(BetweenSweeps::Compared(Change {
        difference: of_before.plus(of_after).of(difference),
        relative: (before.value > 0.0).then(|| of_ratio.of(ratio - 1.0)),
        scope: EstimateScope::Runs,
    }))
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
            let change = change_between(before, after);
            assert!(matches!(
                change,
                Some(BetweenSweeps::LaunchesUnknown { .. })
            ));
        }
    }

    #[test]
    fn launches_that_differ_hide_a_difference_between_sweeps() {
        let compare =
            |before: &[f64], after: &[f64]| match change_between(&slow(before), &slow(after)) {
                Some(BetweenSweeps::Compared(change)) => change,
                other => panic!("{other:?}"),
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
