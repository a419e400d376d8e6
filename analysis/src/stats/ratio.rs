//! A ratio of sums, as slow polls of all polls.

use super::{
    Slices,
    estimate::{Ends, Estimate},
};

/// What one slice adds to both sums. A slice in which nothing was seen is `0 / 0`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Part {
    pub(crate) num: f64,
    pub(crate) den: f64,
}

/// What chance alone does to a ratio, even if all slices agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Those of the things counted that are special, as slow polls of all polls.
    Share,
    /// Things that happen now and then, by something else, as slow polls by request. Not for what
    /// comes at a steady pace, as requests: they vary less than chance would have it.
    Count,
    /// Anything else that is not negative, as slow nanoseconds by second.
    Amount,
}

/// The sum of all numerators by that of all denominators. None where nothing was seen.
pub(crate) fn ratio(parts: &Slices<Part>, kind: Kind) -> Option<Estimate> {
    let all = parts.iter().flatten();
    let (num, den) = all.fold((0.0, 0.0), |(num, den), part| {
        (num + part.num, den + part.den)
    });
    if den <= 0.0 {
        return None;
    }
    let value = num / den;
    // To first order, the error of a ratio is the sum of these.
    let deviation = |part: &Part| (part.num - value * part.den) / den;
    let by_block = |run: &Vec<Part>| run.iter().map(deviation).collect();
    Some(Estimate {
        value,
        deviations: parts.iter().map(by_block).collect(),
        floor: kind.variance_by_chance(num, den),
        ends: kind.ends(den),
    })
}

impl Kind {
    /// As if one more had been special and one more not (Agresti and Caffo), since none of a thousand
    /// is not certainly none of all.
    fn variance_by_chance(self, num: f64, den: f64) -> f64 {
        match self {
            Kind::Share => {
                let share = (num + 1.0) / (den + 2.0);
                share * (1.0 - share) / den
            }
            Kind::Count => (num + 1.0) / den.powi(2),
            Kind::Amount => 0.0,
        }
    }

    fn ends(self, den: f64) -> Ends {
        match self {
            Kind::Share => Ends::Score {
                of: den,
                curvature: 1.0,
            },
            Kind::Count => Ends::Score {
                of: den,
                curvature: 0.0,
            },
            Kind::Amount => Ends::Symmetric,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(num: f64, den: f64) -> Part {
        Part { num, den }
    }

    #[test]
    fn the_value_is_that_of_the_sums_not_the_mean_of_ratios() {
        let parts = [
            vec![part(1.0, 10.0), part(0.0, 90.0)],
            vec![part(9.0, 100.0)],
        ];
        assert_eq!(ratio(&parts, Kind::Share).map(|of| of.value), Some(0.05));
    }

    #[test]
    fn deviations_sum_to_nothing_and_an_empty_slice_has_none() {
        let parts = [vec![part(3.0, 10.0), part(0.0, 0.0), part(1.0, 30.0)]];
        let deviations = ratio(&parts, Kind::Share)
            .expect("polls were seen")
            .deviations;
        assert!(deviations.iter().flatten().sum::<f64>().abs() < 1e-12);
        assert_eq!(deviations[0][1], 0.0);
    }

    #[test]
    fn what_was_not_seen_has_no_ratio() {
        assert!(ratio(&[vec![part(0.0, 0.0)]], Kind::Count).is_none());
        assert!(ratio(&[], Kind::Share).is_none());
    }

    #[test]
    fn none_seen_of_many_is_not_certainly_none() {
        let none = ratio(&[vec![part(0.0, 500.0), part(0.0, 500.0)]], Kind::Share);
        let interval = none.and_then(|of| of.interval(0.95)).expect("two blocks");
        assert_eq!(interval.low, 0.0);
        assert!(interval.high > 0.003, "the rule of three");
    }

    #[test]
    fn no_amount_in_any_slice_gives_no_interval() {
        let none =
            ratio(&[vec![part(0.0, 1.0), part(0.0, 1.0)]], Kind::Amount).expect("time passed");
        assert_eq!(none.value, 0.0);
        assert_eq!(none.interval(0.95), None);
    }
}
