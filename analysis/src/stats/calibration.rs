//! Two corrections of the changes in cells. Calibration compares standard errors with the real errors. Pairs that differ only
//! by noise show these: the baseline with its copy, the A/A control, and with candidates that never fired in a cell. The
//! second correction allows for the number of comparisons, because among many cells some seem changed by chance.

use super::student::normal_score;
use super::variance::Uncertain;

/// The fewest pairs for a calibration. The spread of the scores of fewer pairs is too uncertain.
pub(crate) const FEWEST_CONTROLS: usize = 5;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Calibration {
    pub(crate) pairs: usize,
    /// The factor by which standard errors are too small. None with too few pairs.
    pub(crate) factor: Option<f64>,
    /// The number of pairs that would seem different before the calibration. One in twenty is expected.
    pub(crate) flagged_before: usize,
    pub(crate) flagged_after: usize,
}

/// Calibrates by changes that are only noise. Standard errors are never made smaller.
pub(crate) fn calibrate(differences: &[Uncertain]) -> Calibration {
    let pairs = differences.len();
    let factor = (pairs >= FEWEST_CONTROLS).then(|| root_mean_square_score(differences).max(1.0));
    let inflated = |change: &Uncertain| change.inflated(factor.unwrap_or(1.0));
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

/// The root mean square of the scores. It is about 1 if the standard errors are right, since the scores are then standard
/// normal.
fn root_mean_square_score(differences: &[Uncertain]) -> f64 {
    let scores = differences
        .iter()
        .map(|change| normal_score(change.t(), change.df));
    let squares: f64 = scores.map(|score| score.powi(2)).sum();
    (squares / differences.len() as f64).sqrt()
}

fn flagged(differences: &[Uncertain]) -> usize {
    let p_values = differences.iter().map(Uncertain::p_value);
    p_values.filter(|p_value| *p_value <= RESOLVED).count()
}

/// The false discovery rate: the greatest expected share of changes called resolved that are no changes.
pub(crate) const RESOLVED: f64 = 0.05;

/// Benjamini and Hochberg's adjustment. If all changes up to some adjusted p-value are called resolved, the expected share of
/// false ones among them is at most that value. One call is about all measured cells of one variant, metric and site.
pub(crate) fn adjusted_p_values(p_values: &[Option<f64>]) -> Vec<Option<f64>> {
    let known = |(cell, p): (usize, &Option<f64>)| Some((cell, (*p)?));
    let mut tested: Vec<(usize, f64)> = p_values.iter().enumerate().filter_map(known).collect();
    tested.sort_by(|(_, a), (_, b)| b.total_cmp(a));
    let count = tested.len() as f64;
    let mut adjusted = vec![None; p_values.len()];
    let mut lowest = 1.0_f64;
    for (larger, (cell, p)) in tested.into_iter().enumerate() {
        // A smaller p-value is not adjusted to more than a larger one.
        lowest = lowest.min(p * count / (count - larger as f64));
        adjusted[cell] = Some(lowest);
    }
    adjusted
}

pub(crate) fn is_resolved(adjusted_p_value: f64) -> bool {
    adjusted_p_value <= RESOLVED
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

    #[test]
    fn p_values_are_adjusted_by_their_rank() {
        let adjusted = adjusted_p_values(&[Some(0.04), Some(0.01), None, Some(0.03), Some(0.005)]);
        assert_eq!(adjusted[2], None);
        let expected = [0.04, 0.02, 0.04, 0.02];
        for (adjusted, expected) in adjusted.into_iter().flatten().zip(expected) {
            assert!((adjusted - expected).abs() < 1e-12, "{adjusted} {expected}");
        }
    }

    #[test]
    fn one_cell_alone_is_not_adjusted() {
        assert_eq!(adjusted_p_values(&[None, Some(0.05)]), [None, Some(0.05)]);
        assert!(is_resolved(0.05) && !is_resolved(0.0501));
        assert!(adjusted_p_values(&[]).is_empty());
    }
}
