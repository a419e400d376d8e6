//! Ratios of sums, such as slow polls over all polls.

use super::estimate::{CellEstimate, IntervalShape};

/// The summands of one slice. A slice without any events is `0 / 0`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct RatioPart {
    pub(crate) num: f64,
    pub(crate) den: f64,
}

impl RatioPart {
    pub(crate) fn new(num: f64, den: f64) -> RatioPart {
        RatioPart { num, den }
    }

    pub(crate) fn from_counts(num: u64, den: u64) -> RatioPart {
        RatioPart::new(num as f64, den as f64)
    }

    pub(crate) fn sum(parts: impl IntoIterator<Item = RatioPart>) -> RatioPart {
        let add = |sum: RatioPart, part: RatioPart| {
            RatioPart::new(sum.num + part.num, sum.den + part.den)
        };
        parts.into_iter().fold(RatioPart::default(), add)
    }
}

/// The kind of a ratio. The variance that chance alone causes depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RatioKind {
    /// A share of the things counted, such as slow polls of all polls.
    Share,
    /// Random events divided by something else, such as slow polls by requests. Events at a steady pace, such as requests,
    /// vary less and are amounts.
    Count,
    /// Any other value that is not negative, such as slow nanoseconds by second.
    Amount,
}

/// The sum of all numerators divided by that of all denominators. None if the latter is zero.
pub(crate) fn ratio(parts: &[Vec<RatioPart>], kind: RatioKind) -> Option<CellEstimate> {
    let RatioPart { num, den } = RatioPart::sum(parts.iter().flatten().copied());
    if den <= 0.0 {
        return None;
    }
    let most = match kind {
        // Packets of one slice may be lost in the next.
        RatioKind::Share => 1.0,
        RatioKind::Count | RatioKind::Amount => f64::INFINITY,
    };
    let value = (num / den).min(most);
    // To first order, the error of a ratio is the sum of these.
    let deviation = |part: &RatioPart| (part.num - value * part.den) / den;
    let by_block = |group: &Vec<RatioPart>| group.iter().map(deviation).collect();
    Some(CellEstimate {
        value,
        deviations: parts.iter().map(by_block).collect(),
        floor: kind.variance_by_chance(num, den),
        least: 0.0,
        shape: kind.shape(den),
    })
}

impl RatioKind {
    /// The variance if one more of either kind had been counted (Agresti and Caffo), because zero of a thousand does not mean
    /// that the true share is zero.
    fn variance_by_chance(self, num: f64, den: f64) -> f64 {
        match self {
            RatioKind::Share => {
                let share = (num + 1.0) / (den + 2.0);
                share * (1.0 - share) / den
            }
            RatioKind::Count => (num + 1.0) / den.powi(2),
            RatioKind::Amount => 0.0,
        }
    }

    fn shape(self, den: f64) -> IntervalShape {
        let curvature = match self {
            RatioKind::Share => 1.0,
            RatioKind::Count => 0.0,
            RatioKind::Amount => return IntervalShape::Symmetric,
        };
        IntervalShape::Score {
            counted: den,
            curvature,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(num: f64, den: f64) -> RatioPart {
        RatioPart { num, den }
    }

    #[test]
    fn the_value_is_the_ratio_of_sums_and_not_the_mean_of_ratios() {
        let parts = [
            vec![part(1.0, 10.0), part(0.0, 90.0)],
            vec![part(9.0, 100.0)],
        ];
        assert_eq!(
            ratio(&parts, RatioKind::Share).map(|estimate| estimate.value),
            Some(0.05)
        );
    }

    #[test]
    fn deviations_add_up_to_zero_and_that_of_an_empty_slice_is_zero() {
        let parts = [vec![part(3.0, 10.0), part(0.0, 0.0), part(1.0, 30.0)]];
        let deviations = ratio(&parts, RatioKind::Share)
            .expect("polls were seen")
            .deviations;
        assert!(deviations.iter().flatten().sum::<f64>().abs() < 1e-12);
        assert_eq!(deviations[0][1], 0.0);
    }

    #[test]
    fn a_share_is_at_most_all() {
        let parts = [vec![part(5.0, 4.0), part(3.0, 3.0)]];
        let of_kind = |kind| ratio(&parts, kind).map(|estimate| estimate.value);
        assert_eq!(of_kind(RatioKind::Share), Some(1.0));
        assert_eq!(of_kind(RatioKind::Count), Some(8.0 / 7.0));
    }

    #[test]
    fn a_ratio_needs_events() {
        assert!(ratio(&[vec![part(0.0, 0.0)]], RatioKind::Count).is_none());
        assert!(ratio(&[], RatioKind::Share).is_none());
    }

    #[test]
    fn zero_of_many_events_has_an_interval_above_zero() {
        let none = ratio(
            &[vec![part(0.0, 500.0), part(0.0, 500.0)]],
            RatioKind::Share,
        );
        let interval = none
            .and_then(|estimate| estimate.interval(0.95))
            .expect("two blocks");
        assert_eq!(interval.low, 0.0);
        assert!(interval.high > 0.003, "the rule of three");
    }

    #[test]
    fn an_amount_that_is_zero_in_every_slice_has_no_interval() {
        let none =
            ratio(&[vec![part(0.0, 1.0), part(0.0, 1.0)]], RatioKind::Amount).expect("time passed");
        assert_eq!(none.value, 0.0);
        assert_eq!(none.interval(0.95), None);
    }
}
