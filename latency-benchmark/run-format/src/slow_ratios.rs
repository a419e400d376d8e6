//! How well the slow ratios of a cell are known while it is measured. This decides when to stop, and is shown
//! as progress. The report has its own, better intervals. The repeated unit is a slice, or a launch where
//! subjects are compared.

use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::{precision::Precision, protocol::BlockReport};

/// With fewer blocks an interval says little about itself. It is looked at when their number has
/// doubled, since who looks after every block stops too soon.
const FEWEST_BLOCKS: usize = 4;

/// A variant whose requests are rarer is not known, however alike its slices are.
const FEWEST_REQUESTS: u64 = 30;

/// What was seen of `Connection::poll`, by variant.
pub struct SlowRatios {
    variants: Vec<VariantSlices>,
}

#[derive(Clone, Default)]
struct VariantSlices {
    /// The slow ratio of every slice.
    percent: Vec<f64>,
    slow: u64,
    polls: u64,
    requests: u64,
}

/// A mean with half the width of its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
struct MeanWithMargin {
    mean: f64,
    margin: Option<f64>,
}

impl SlowRatios {
    pub fn new(variants: usize) -> SlowRatios {
        SlowRatios {
            variants: vec![VariantSlices::default(); variants],
        }
    }

    /// A slice without polls has no ratio.
    pub fn add(&mut self, variant: usize, slow: u64, polls: u64, requests: u64) {
        let seen = &mut self.variants[variant];
        seen.slow += slow;
        seen.polls += polls;
        seen.requests += requests;
        if polls > 0 {
            seen.percent.push(100.0 * slow as f64 / polls as f64);
        }
    }

    /// Whether every variant is known well enough; `answers` says whether requests are part of that.
    pub fn are_within(&self, precision: Precision, answers: bool) -> bool {
        self.variants.iter().all(|seen| {
            let blocks = seen.percent.len();
            let is_time_to_look = blocks >= FEWEST_BLOCKS && blocks.is_power_of_two();
            let is_known = seen
                .estimate()
                .is_some_and(|MeanWithMargin { mean, margin }| {
                    let of_value = precision.percent_of_value / 100.0 * mean;
                    margin.is_some_and(|margin| margin <= precision.percentage_points.max(of_value))
                });
            is_time_to_look && is_known && (!answers || seen.requests >= FEWEST_REQUESTS)
        })
    }

    pub fn report(&self, block: u32) -> BlockReport {
        let estimates: Vec<Option<MeanWithMargin>> =
            self.variants.iter().map(VariantSlices::estimate).collect();
        BlockReport {
            block,
            slow_percent: estimates
                .iter()
                .map(|estimate| estimate.map(|of| of.mean))
                .collect(),
            margin_percent: estimates
                .iter()
                .map(|estimate| estimate.and_then(|of| of.margin))
                .collect(),
            requests_per_s: Vec::new(),
        }
    }
}

impl VariantSlices {
    fn estimate(&self) -> Option<MeanWithMargin> {
        let count = self.percent.len() as f64;
        let mean = (!self.percent.is_empty()).then(|| self.percent.iter().sum::<f64>() / count)?;
        let margin = (self.percent.len() > 1).then(|| {
            let squares = self
                .percent
                .iter()
                .map(|value| (value - mean).powi(2))
                .sum::<f64>();
            let variance = squares / (count - 1.0);
            let t = StudentsT::new(0.0, 1.0, count - 1.0);
            let quantile = t.map_or(f64::INFINITY, |t| t.inverse_cdf(0.975));
            // Slices that agree by chance, as do those without a slow poll, are not certain.
            (quantile * (variance / count).sqrt()).max(self.binomial_margin())
        });
        Some(MeanWithMargin { mean, margin })
    }

    /// Half the width of Wilson's interval, in percent, as if the polls were independent. They are
    /// not, so the truth is wider.
    fn binomial_margin(&self) -> f64 {
        const Z: f64 = 1.96;
        let (n, ratio) = (self.polls as f64, self.slow as f64 / self.polls as f64);
        let under_root = ratio * (1.0 - ratio) / n + Z * Z / (4.0 * n * n);
        100.0 * Z * under_root.sqrt() / (1.0 + Z * Z / n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRECISION: Precision = Precision {
        percentage_points: 1.0,
        percent_of_value: 10.0,
    };

    fn of(polls: u64, variants: &[&[u64]]) -> SlowRatios {
        let mut estimates = SlowRatios::new(variants.len());
        for (variant, slow) in variants.iter().enumerate() {
            for &slow in *slow {
                estimates.add(variant, slow, polls, 100);
            }
        }
        estimates
    }

    #[test]
    fn the_margin_is_that_of_students_t() {
        // 1, 2, 3, 4 %: mean 2.5, standard deviation 1.29, t with 3 degrees of freedom 3.182.
        let estimates = of(10_000, &[&[100, 200, 300, 400], &[100], &[]]);
        let seen = &estimates.variants;
        let MeanWithMargin { mean, margin } = seen[0].estimate().expect("there are values");
        assert_eq!(mean, 2.5);
        assert!((margin.expect("more than one") - 2.054).abs() < 0.001);
        assert_eq!(seen[1].estimate().expect("a value").margin, None);
        assert_eq!(seen[2].estimate(), None);
    }

    #[test]
    fn few_polls_without_a_slow_one_prove_little() {
        assert!(
            !of(40, &[&[0, 0, 0, 0]]).are_within(PRECISION, true),
            "0 of 160"
        );
        assert!(
            of(1_000, &[&[0, 0, 0, 0]]).are_within(PRECISION, true),
            "0 of 4000"
        );
    }

    #[test]
    fn every_variant_has_to_be_known() {
        let ok: &[u64] = &[1_000, 1_010, 990, 1_000];
        assert!(of(100_000, &[ok, &[20_000, 21_000, 20_500, 20_000]]).are_within(PRECISION, true));
        assert!(!of(100_000, &[ok, &[20_000, 40_000, 10_000, 30_000]]).are_within(PRECISION, true));
        assert!(
            !of(100_000, &[&[1_000, 1_010, 990], &[900, 900, 900]]).are_within(PRECISION, true)
        );
        assert!(
            !of(100_000, &[ok, &[]]).are_within(PRECISION, true),
            "nothing seen of one"
        );
    }

    #[test]
    fn it_is_looked_at_when_the_blocks_have_doubled() {
        let slow = [1_000; 9];
        let known: Vec<usize> = (1..=9)
            .filter(|blocks| of(100_000, &[&slow[..*blocks]]).are_within(PRECISION, true))
            .collect();
        assert_eq!(known, [4, 8]);
    }

    #[test]
    fn silence_is_not_knowledge() {
        let mut estimates = SlowRatios::new(1);
        for _ in 0..4 {
            estimates.add(0, 10, 100_000, 0);
        }
        assert!(!estimates.are_within(PRECISION, true));
        assert!(estimates.are_within(PRECISION, false));
    }
}
