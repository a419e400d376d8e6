//! The A/A control, a second copy of the baseline, shows whether standard errors are as large as the real errors.

use super::multiple::RESOLVED;
use super::student::normal_score;
use super::uncertain::Uncertain;

/// The spread of fewer scores is too uncertain.
pub(crate) const FEWEST_PAIRS: usize = 5;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Calibration {
    pub(crate) pairs: usize,
    /// The factor by which standard errors are too small. None with too few pairs.
    pub(crate) factor: Option<f64>,
    /// The number of cells in which the control alone would seem different from the baseline. One in twenty is expected.
    pub(crate) flagged_before: usize,
    pub(crate) flagged_after: usize,
}

/// From the change of the A/A control in each cell. Standard errors are never made smaller.
pub(crate) fn calibrate(differences: &[Uncertain]) -> Calibration {
    let pairs = differences.len();
    let factor = (pairs >= FEWEST_PAIRS).then(|| spread(differences).max(1.0));
    let inflated = |of: &Uncertain| of.inflated(factor.unwrap_or(1.0));
    let calibrated: Vec<Uncertain> = differences.iter().map(inflated).collect();
    Calibration {
        pairs,
        factor,
        flagged_before: flagged(differences),
        flagged_after: flagged(&calibrated),
    }
}

impl Calibration {
    /// The factor for `inflated`; 1 if there are too few pairs.
    pub(crate) fn inflation(&self) -> f64 {
        self.factor.unwrap_or(1.0)
    }
}

/// The root mean square of scores that are standard normal if the standard errors are right.
fn spread(differences: &[Uncertain]) -> f64 {
    let scores = differences.iter().map(|of| normal_score(of.t(), of.df));
    let squares: f64 = scores.map(|score| score.powi(2)).sum();
    (squares / differences.len() as f64).sqrt()
}

fn flagged(differences: &[Uncertain]) -> usize {
    let p_values = differences.iter().map(Uncertain::p_value);
    p_values.filter(|p_value| *p_value <= RESOLVED).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn controls(errors: &[f64]) -> Vec<Uncertain> {
        let difference = |value: &f64| Uncertain {
            value: *value,
            standard_error: 1.0,
            df: 1e6,
        };
        errors.iter().map(difference).collect()
    }

    #[test]
    fn controls_that_differ_more_than_they_should_widen_everything() {
        let calibration = calibrate(&controls(&[3.0, -3.0, 3.0, -3.0, 3.0]));
        assert!((calibration.inflation() - 3.0).abs() < 0.001);
        assert_eq!(
            (calibration.flagged_before, calibration.flagged_after),
            (5, 0)
        );
    }

    #[test]
    fn controls_that_differ_less_narrow_nothing() {
        let calibration = calibrate(&controls(&[0.1; 8]));
        assert_eq!((calibration.factor, calibration.pairs), (Some(1.0), 8));
    }

    #[test]
    fn a_few_controls_calibrate_nothing() {
        let calibration = calibrate(&controls(&[9.0; 4]));
        assert_eq!((calibration.factor, calibration.inflation()), (None, 1.0));
        assert_eq!(
            (calibration.flagged_before, calibration.flagged_after),
            (4, 4)
        );
    }
}
