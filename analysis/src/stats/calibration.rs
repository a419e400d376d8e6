//! Two variants that are the same, the A/A twins, show whether standard errors are as large as the
//! errors are.

use super::{change::Change, multiple::RESOLVED, student::normal_score, uncertain::Uncertain};

/// With fewer the spread of their scores says little.
pub(crate) const FEWEST_PAIRS: usize = 5;

/// What the twins of all cells say about the standard errors of one metric.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Calibration {
    pub(crate) pairs: usize,
    /// By how much standard errors are too small; none with too few pairs to tell.
    pub(crate) factor: Option<f64>,
    /// Twins that each by itself would be taken for different, where one in twenty is expected.
    pub(crate) flagged_before: usize,
    pub(crate) flagged_after: usize,
}

/// From the change of each twin against its baseline. Standard errors are never made smaller.
pub(crate) fn calibrate(twins: &[Change]) -> Calibration {
    let differences: Vec<Uncertain> = twins.iter().map(|twin| twin.difference).collect();
    let pairs = differences.len();
    let factor = (pairs >= FEWEST_PAIRS).then(|| spread(&differences).max(1.0));
    let inflated = |of: &Uncertain| of.inflated(factor.unwrap_or(1.0));
    let calibrated: Vec<Uncertain> = differences.iter().map(inflated).collect();
    Calibration {
        pairs,
        factor,
        flagged_before: flagged(&differences),
        flagged_after: flagged(&calibrated),
    }
}

impl Calibration {
    /// To be given to `inflated`; 1 where nothing could be calibrated.
    pub(crate) fn inflation(&self) -> f64 {
        self.factor.unwrap_or(1.0)
    }
}

/// The root mean square of what would be standard normal, were the standard errors right.
fn spread(differences: &[Uncertain]) -> f64 {
    let squares = differences
        .iter()
        .map(|of| normal_score(of.t(), of.df).powi(2));
    (squares.sum::<f64>() / differences.len() as f64).sqrt()
}

fn flagged(differences: &[Uncertain]) -> usize {
    differences
        .iter()
        .filter(|of| of.p_value() <= RESOLVED)
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::estimate::Scope;

    fn twins(errors: &[f64]) -> Vec<Change> {
        let change = |value: &f64| Change {
            difference: Uncertain {
                value: *value,
                standard_error: 1.0,
                df: 1e6,
            },
            relative: None,
            scope: Scope::ThisRun,
        };
        errors.iter().map(change).collect()
    }

    #[test]
    fn twins_that_differ_more_than_they_should_widen_everything() {
        let calibration = calibrate(&twins(&[3.0, -3.0, 3.0, -3.0, 3.0]));
        assert!((calibration.inflation() - 3.0).abs() < 0.001);
        assert_eq!(
            (calibration.flagged_before, calibration.flagged_after),
            (5, 0)
        );
    }

    #[test]
    fn twins_that_differ_less_narrow_nothing() {
        let calibration = calibrate(&twins(&[0.1; 8]));
        assert_eq!((calibration.factor, calibration.pairs), (Some(1.0), 8));
    }

    #[test]
    fn a_few_twins_calibrate_nothing_and_it_says_so() {
        let calibration = calibrate(&twins(&[9.0; 4]));
        assert_eq!((calibration.factor, calibration.inflation()), (None, 1.0));
        assert_eq!(
            (calibration.flagged_before, calibration.flagged_after),
            (4, 4)
        );
    }
}
