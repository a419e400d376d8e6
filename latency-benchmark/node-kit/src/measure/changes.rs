//! Estimates how well the changes from the baseline are known while a cell is measured. This decides when to stop, and is
//! shown as progress. The report has its own, better intervals. The repeated unit is a slice.

use run_format::{BASELINE, BlockReport, Precision};

use run_format::plan::run::FEWEST_BLOCKS;
use run_format::plan::sums::{BEYOND_TIME, CPU_TIME, SliceSums, SumRatio, THROUGHPUT};
use statrs::distribution::{ContinuousCDF, StudentsT};

/// A variant with fewer requests is not known well enough, however similar its slices are.
const FEWEST_REQUESTS: u64 = 30;

/// The sums of each slice, by variant.
pub(super) struct Changes {
    variants: Vec<Vec<SliceSums>>,
}

impl Changes {
    pub(super) fn new(variants: usize) -> Changes {
        Changes {
            variants: vec![Vec::new(); variants],
        }
    }

    pub(super) fn add(&mut self, variant: usize, slice: SliceSums) {
        self.variants[variant].push(slice);
    }

    /// Whether every change is known well enough. The change of the time beyond the threshold is judged in ms per second or in
    /// percent of the baseline, and the changes of throughput and of CPU time per request in percent. Variants that
    /// `never_yielded` changed nothing. `answers` says whether there are requests.
    pub(super) fn are_within(
        &self,
        precision: Precision,
        answers: bool,
        never_yielded: impl Fn(usize) -> bool,
    ) -> bool {
        let blocks = self.variants.iter().map(Vec::len).min().unwrap_or(0);
        let requests =
            |slices: &[SliceSums]| -> u64 { slices.iter().map(|slice| slice.requests).sum() };
        let has_enough = |slices: &Vec<SliceSums>| requests(slices) >= FEWEST_REQUESTS;
        let is_time_to_look = blocks >= FEWEST_BLOCKS && blocks.is_power_of_two();
        is_time_to_look
            && (!answers || self.variants.iter().all(has_enough))
            && (0..self.variants.len())
                .filter(|variant| !never_yielded(*variant))
                .all(|variant| self.is_within(variant, precision, answers))
    }

    /// Whether the change of one variant is known well enough. For the baseline, this is about its level.
    fn is_within(&self, variant: usize, precision: Precision, answers: bool) -> bool {
        let percent = precision.percent_of_value / 100.0;
        let half_width = |quantity: SumRatio| -> Option<(f64, f64)> {
            let baseline = RatioOfSums::from_slices(&self.variants[BASELINE], quantity)?;
            if variant == BASELINE {
                return Some((baseline.half_width()?, baseline.value));
            }
            let other = RatioOfSums::from_slices(&self.variants[variant], quantity)?;
            Some((other.minus(&baseline).half_width()?, baseline.value))
        };
        let beyond_is_known = half_width(BEYOND_TIME).is_some_and(|(width, baseline)| {
            width <= precision.beyond_ms_per_s.max(percent * baseline)
        });
        let is_known = |quantity| {
            half_width(quantity).is_some_and(|(width, baseline)| width <= percent * baseline)
        };
        // Not every kernel tells the CPU time.
        let mut slices = self.variants.iter().flatten();
        let has_cpu_time = slices.all(|slice| slice.cpu_ns.is_some());
        let costs = || is_known(THROUGHPUT) && (!has_cpu_time || is_known(CPU_TIME));
        beyond_is_known && (!answers || variant == BASELINE || costs())
    }

    pub(super) fn report(&self, block: u32) -> BlockReport {
        BlockReport {
            block,
            beyond_ms_per_s: self.values(BEYOND_TIME),
            ..BlockReport::default()
        }
    }

    pub(super) fn requests_per_s(&self) -> Vec<Option<f64>> {
        self.values(THROUGHPUT)
    }

    /// The value of each variant. None while it is unknown.
    fn values(&self, quantity: SumRatio) -> Vec<Option<f64>> {
        let value = |slices| Some(RatioOfSums::from_slices(slices, quantity)?.value);
        self.variants.iter().map(|slices| value(slices)).collect()
    }
}

/// A ratio of two sums over slices, and the deviation of each slice from it.
struct RatioOfSums {
    value: f64,
    deviations: Vec<f64>,
    /// The half-width that a single unseen event would cause. Slices without any event agree exactly, but the next slice may
    /// have one.
    least_half_width: f64,
}

impl RatioOfSums {
    fn from_slices(slices: &[SliceSums], quantity: SumRatio) -> Option<RatioOfSums> {
        let parts = slices
            .iter()
            .map(quantity.parts)
            .collect::<Option<Vec<(f64, f64)>>>()?;
        let add = |sum: (f64, f64), part: &(f64, f64)| (sum.0 + part.0, sum.1 + part.1);
        let (num, den) = parts.iter().fold((0.0, 0.0), add);
        let value = num / den;
        let deviations = parts.iter().map(|part| (part.0 - value * part.1) / den);
        (den > 0.0).then(|| RatioOfSums {
            value,
            deviations: deviations.collect(),
            least_half_width: quantity.event / den,
        })
    }

    fn minus(&self, baseline: &RatioOfSums) -> RatioOfSums {
        let pairs = self.deviations.iter().zip(&baseline.deviations);
        RatioOfSums {
            value: self.value - baseline.value,
            deviations: pairs.map(|(this, that)| this - that).collect(),
            least_half_width: self.least_half_width.max(baseline.least_half_width),
        }
    }

    fn half_width(&self) -> Option<f64> {
        let count = self.deviations.len() as f64;
        let squares: f64 = self
            .deviations
            .iter()
            .map(|deviation| deviation.powi(2))
            .sum();
        let error = (squares * count / (count - 1.0)).sqrt();
        Some((students_t(count)? * error).max(self.least_half_width))
    }
}

/// The number of standard errors by which a mean of `count` values is off with a probability of 5 %.
fn students_t(count: f64) -> Option<f64> {
    let distribution = StudentsT::new(0.0, 1.0, count - 1.0).ok()?;
    Some(distribution.inverse_cdf(0.975))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRECISION: Precision = Precision {
        beyond_ms_per_s: 2.0,
        percent_of_value: 10.0,
    };

    fn slice(beyond_ms: u64, requests: u64) -> SliceSums {
        SliceSums {
            beyond_ns: 1_000_000 * beyond_ms,
            requests,
            seconds: 1.0,
            cpu_ns: Some(1_000_000 * requests),
        }
    }

    /// Slices of one second, by variant the time beyond the threshold of each in ms.
    fn changes(variants: &[&[u64]]) -> Changes {
        let mut changes = Changes::new(variants.len());
        for (variant, slices) in variants.iter().enumerate() {
            for &beyond_ms in *slices {
                changes.add(variant, slice(beyond_ms, 100));
            }
        }
        changes
    }

    fn are_within(changes: &Changes) -> bool {
        changes.are_within(PRECISION, true, |_| false)
    }

    #[test]
    fn the_margin_is_that_of_students_t() {
        // Mean 250, standard deviation 129.1, t with 3 degrees of freedom 3.182.
        let changes = changes(&[&[100, 200, 300, 400], &[100], &[]]);
        let report = changes.report(4);
        assert_eq!(report.beyond_ms_per_s, [Some(250.0), Some(100.0), None]);
        let margin = |variant: usize| {
            RatioOfSums::from_slices(&changes.variants[variant], BEYOND_TIME)?.half_width()
        };
        assert!((margin(0).expect("more than one") - 205.4).abs() < 0.1);
        assert_eq!([margin(1), margin(2)], [None, None]);
    }

    #[test]
    fn a_short_time_without_a_slow_poll_proves_little() {
        let with_seconds = |seconds: f64| {
            let mut changes = Changes::new(1);
            for _ in 0..4 {
                changes.add(
                    0,
                    SliceSums {
                        seconds,
                        ..slice(0, 100)
                    },
                );
            }
            changes
        };
        assert!(!are_within(&with_seconds(0.005)), "20 ms");
        assert!(are_within(&with_seconds(0.06)), "240 ms");
        assert!(!with_seconds(1e6).are_within(Precision::EXACT, false, |_| false));
    }

    #[test]
    fn every_change_has_to_be_known_unless_its_variant_never_yielded() {
        let level: &[u64] = &[100, 200, 300, 200];
        let noisy: &[u64] = &[400, 100, 150, 350];
        let parallel: &[u64] = &[101, 201, 300, 201];
        assert!(!are_within(&changes(&[level])), "the level is not known");
        let steady: &[u64] = &[200, 201, 199, 200];
        assert!(are_within(&changes(&[steady, steady])));
        assert!(!are_within(&changes(&[steady, noisy])));
        assert!(!are_within(&changes(&[steady, parallel])));
        let with_noisy = changes(&[steady, noisy]);
        assert!(with_noisy.are_within(PRECISION, true, |variant| variant == 1));
        assert!(!are_within(&changes(&[steady, &[]])), "nothing seen of one");
    }

    #[test]
    fn the_larger_of_the_two_bounds_counts() {
        // Half the interval is 3.18.
        let large: &[u64] = &[99, 101, 103, 101];
        let small: &[u64] = &[9, 11, 13, 11];
        assert!(are_within(&changes(&[large])), "10 % of 101");
        assert!(!are_within(&changes(&[small])), "more than 2 ms per s");
        let coarse = Precision {
            beyond_ms_per_s: 3.0,
            percent_of_value: 0.1,
        };
        assert!(changes(&[small]).are_within(coarse, false, |_| false));
    }

    #[test]
    fn throughput_and_cpu_time_have_to_be_known_where_there_are_requests() {
        let mut changes = changes(&[&[10; 4], &[]]);
        for requests in [50, 150, 60, 140] {
            changes.add(1, slice(10, requests));
        }
        assert!(!are_within(&changes));
        assert!(changes.are_within(PRECISION, false, |_| false));
    }

    #[test]
    fn it_is_looked_at_when_the_blocks_have_doubled() {
        let slices = [10; 9];
        let known: Vec<usize> = (1..=9)
            .filter(|blocks| are_within(&changes(&[&slices[..*blocks]])))
            .collect();
        assert_eq!(known, [4, 8]);
    }

    #[test]
    fn silence_is_not_knowledge() {
        let mut changes = Changes::new(1);
        for _ in 0..4 {
            changes.add(0, slice(1, 0));
        }
        assert!(!are_within(&changes));
        assert!(changes.are_within(PRECISION, false, |_| false));
    }
}
