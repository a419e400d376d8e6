//! Student's t distribution, for estimates whose standard error is itself an estimate.

use std::cell::RefCell;
use std::collections::HashMap;

use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

/// The confidence of the intervals in reports and pictures.
pub(crate) const CONFIDENCE: f64 = 0.95;

/// The confidence that each of this many intervals needs so that all of them hold together with 95 % (Bonferroni).
pub(crate) fn confidence_of_each(intervals: usize) -> f64 {
    1.0 - (1.0 - CONFIDENCE) / intervals.max(1) as f64
}

/// More degrees of freedom than this change no figure that is printed, and for far more the inverse is not accurate.
const ABOUT_NORMAL: f64 = 10_000.0;

/// Half the width of an interval with this confidence, in standard errors. Results are kept, because computing them is slow
/// and most estimates of a sweep have the same degrees of freedom.
pub(super) fn critical(df: f64, confidence: f64) -> f64 {
    const MOST_KEPT: usize = 100_000;
    thread_local! {
        static FOUND: RefCell<HashMap<[u64; 2], f64>> = RefCell::default();
    }
    FOUND.with_borrow_mut(|found| {
        if found.len() == MOST_KEPT {
            found.clear();
        }
        *found
            .entry([df, confidence].map(f64::to_bits))
            .or_insert_with(|| student(df).inverse_cdf(0.5 + confidence / 2.0))
    })
}

/// The probability that chance alone is at least this many standard errors off, on either side.
pub(super) fn two_sided_p(t: f64, df: f64) -> f64 {
    2.0 * student(df).sf(t.abs())
}

/// The standard normal value as unlikely as `t`, so that estimates of different degrees of freedom can be combined.
pub(super) fn normal_score(t: f64, df: f64) -> f64 {
    // A smaller probability would give an infinite score.
    let beyond = student(df).sf(t.abs()).max(f64::MIN_POSITIVE);
    -t.signum() * Normal::standard().inverse_cdf(beyond)
}

fn student(df: f64) -> StudentsT {
    StudentsT::new(0.0, 1.0, df.min(ABOUT_NORMAL))
        .expect("a variance is estimated with some degrees of freedom")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn critical_values_are_those_of_the_tables() {
        for (df, value) in [(1.0, 12.706), (2.0, 4.303), (5.0, 2.571), (33.0, 2.035)] {
            assert!((critical(df, 0.95) - value).abs() < 0.001, "{df}");
        }
    }

    #[test]
    fn the_p_value_of_a_critical_value_is_one_minus_its_confidence() {
        // Means over many cells have thousands of degrees of freedom.
        let few = (100..6000)
            .step_by(7)
            .map(|hundredths| f64::from(hundredths) / 100.0);
        let many = (2..60).map(|exponent| 1.3_f64.powi(exponent));
        for df in few.chain(many) {
            for confidence in [0.5, 0.95, 0.999] {
                let p = two_sided_p(-critical(df, confidence), df);
                assert!((p - (1.0 - confidence)).abs() < 1e-6, "{df}: {p}");
            }
        }
    }

    #[test]
    fn a_score_has_the_sign_and_the_probability_of_t() {
        assert!((normal_score(4.303, 2.0) - 1.96).abs() < 0.001);
        assert!((normal_score(-4.303, 2.0) + 1.96).abs() < 0.001);
        assert!(normal_score(1e12, 30.0).is_finite());
    }
}
