//! How well the slow ratios are known already. It decides when to stop and is shown as progress; the
//! report has its own, better intervals.

use statrs::distribution::{ContinuousCDF, StudentsT};

use super::BlockDone;
use crate::config::Precision;

/// With fewer blocks an interval says little about itself.
const FEWEST_BLOCKS: usize = 4;

/// The slow ratio of `Connection::poll` in every slice, by variant.
pub(super) struct Estimates {
    percent: Vec<Vec<f64>>,
}

/// A mean with half the width of its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Estimate {
    mean: f64,
    margin: Option<f64>,
}

impl Estimates {
    pub(super) fn new(variants: usize) -> Estimates {
        Estimates {
            percent: vec![Vec::new(); variants],
        }
    }

    /// A slice without polls has no ratio.
    pub(super) fn add(&mut self, variant: usize, slow: u64, polls: u64) {
        if polls > 0 {
            self.percent[variant].push(100.0 * slow as f64 / polls as f64);
        }
    }

    pub(super) fn are_within(&self, precision: Precision) -> bool {
        self.percent.iter().all(|percent| {
            estimate(percent).is_some_and(|Estimate { mean, margin }| {
                let allowed = precision
                    .percentage_points
                    .max(precision.percent_of_value / 100.0 * mean);
                percent.len() >= FEWEST_BLOCKS && margin.is_some_and(|margin| margin <= allowed)
            })
        })
    }

    pub(super) fn block_done(&self, block: u32) -> BlockDone {
        let estimates: Vec<Option<Estimate>> = self
            .percent
            .iter()
            .map(|percent| estimate(percent))
            .collect();
        BlockDone {
            block,
            slow_percent: estimates
                .iter()
                .map(|estimate| estimate.map(|of| of.mean))
                .collect(),
            margin_percent: estimates
                .iter()
                .map(|estimate| estimate.and_then(|of| of.margin))
                .collect(),
        }
    }
}

fn estimate(values: &[f64]) -> Option<Estimate> {
    let count = values.len() as f64;
    let mean = (!values.is_empty()).then(|| values.iter().sum::<f64>() / count)?;
    let margin = (values.len() > 1).then(|| {
        let variance = values
            .iter()
            .map(|value| (value - mean).powi(2))
            .sum::<f64>()
            / (count - 1.0);
        let quantile =
            StudentsT::new(0.0, 1.0, count - 1.0).map_or(f64::INFINITY, |t| t.inverse_cdf(0.975));
        quantile * (variance / count).sqrt()
    });
    Some(Estimate { mean, margin })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRECISION: Precision = Precision {
        percentage_points: 1.0,
        percent_of_value: 10.0,
    };

    fn of(variants: &[&[u64]]) -> Estimates {
        let mut estimates = Estimates::new(variants.len());
        for (variant, slow) in variants.iter().enumerate() {
            slow.iter()
                .for_each(|&slow| estimates.add(variant, slow, 1000));
        }
        estimates
    }

    #[test]
    fn the_margin_is_that_of_students_t() {
        // 1, 2, 3, 4: mean 2.5, standard deviation 1.29, t with 3 degrees of freedom 3.182.
        let Estimate { mean, margin } = estimate(&[1.0, 2.0, 3.0, 4.0]).expect("there are values");
        assert_eq!(mean, 2.5);
        assert!((margin.expect("more than one") - 2.054).abs() < 0.001);
        assert_eq!(estimate(&[1.0]).expect("a value").margin, None);
        assert_eq!(estimate(&[]), None);
    }

    #[test]
    fn every_variant_has_to_be_known() {
        assert!(of(&[&[10, 11, 10, 11], &[200, 210, 205, 200]]).are_within(PRECISION));
        assert!(!of(&[&[10, 11, 10, 11], &[200, 400, 100, 300]]).are_within(PRECISION));
        assert!(
            !of(&[&[10, 11, 10], &[200, 210, 205]]).are_within(PRECISION),
            "too few blocks"
        );
        assert!(
            !of(&[&[10, 11, 10, 11], &[]]).are_within(PRECISION),
            "nothing seen of one"
        );
    }

    #[test]
    fn a_large_ratio_may_be_off_by_more() {
        assert!(of(&[&[500, 540, 520, 510, 530]]).are_within(PRECISION));
        assert!(!of(&[&[50, 90, 70, 60, 80]]).are_within(PRECISION));
    }
}
