//! Turns the sums and histograms of slices into values with intervals, and tests which changes are
//! significant. `METHODS.md` has the reasons, the assumptions, and the coverage of the intervals.
//!
//! [`ratio()`] and [`quantile()`] estimate all figures from slices, which are grouped by group and by block. A group is the
//! blocks of one launch, or of one host if several hosts measured. An estimate has a value, and what each block adds to its
//! error. All variants of a cell have the same groups and blocks, because a block is one slice of each. Intervals, changes
//! between variants and means over cells follow from estimates in the same way for every metric.

mod beside_others;
mod calibration;
mod change;
mod estimate;
mod histogram;
mod mean;
mod quantile;
mod ratio;
#[cfg(test)]
#[path = "../../tests/simulation/mod.rs"]
mod simulation;
mod student;
mod trend;
mod variance;

pub(crate) use self::beside_others::{AlonePair, BesideOthers, LIMIT_PERCENT};
pub(crate) use self::calibration::{
    Calibration, FEWEST_CONTROLS, adjusted_p_values, calibrate, is_resolved,
};
pub(crate) use self::change::{Change, change_between, paired_change};
pub(crate) use self::estimate::{BareEstimate, CellEstimate};
pub(crate) use self::mean::{MeanChange, Spread, mean, mean_over_cells};
pub(crate) use self::quantile::{GroupCounts, quantile};
pub(crate) use self::ratio::{RatioKind, RatioPart, ratio};
pub(crate) use self::student::{CONFIDENCE, confidence_of_each};
pub(crate) use self::trend::{Trend, trend};
pub(crate) use self::variance::{Interval, Uncertain};

/// The part over the whole. None if the whole is not positive.
pub(crate) fn quotient(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| part / whole)
}

/// The part of the whole in percent. None if the whole is not positive. If the two are measured apart, the part may be a
/// little more than the whole, and counts as all of it.
pub(crate) fn percent(part: f64, whole: f64) -> Option<f64> {
    let percent = 100.0 * part / whole;
    (whole > 0.0 && percent >= 0.0).then(|| percent.min(100.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentage_is_a_number_from_0_to_100() {
        for (part, whole, expected) in [
            (0.0, 4.0, Some(0.0)),
            (1.0, 4.0, Some(25.0)),
            (4.1, 4.0, Some(100.0)),
            (1e300, 1e-300, Some(100.0)),
            (0.0, 0.0, None),
            (1.0, 0.0, None),
            (-1.0, 4.0, None),
            (f64::NAN, 4.0, None),
            (1.0, f64::NAN, None),
        ] {
            assert_eq!(percent(part, whole), expected, "{part} of {whole}");
        }
    }
}
