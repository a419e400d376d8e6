//! How well the changes from the baseline are known while a cell is measured. This decides when to stop, and is
//! shown as progress. The report has its own, better intervals. The repeated unit is a slice, or a launch where
//! subjects are compared.

use run_format::{BASELINE, BlockReport, Precision};

use crate::sums::{Part, SliceSums, cpu_time, slow_share, students_t, throughput};

/// With fewer blocks an interval says little about itself. It is looked at when their number has
/// doubled, since who looks after every block stops too soon.
pub const FEWEST_BLOCKS: usize = 4;

/// A variant whose requests are rarer is not known, however alike its slices are.
const FEWEST_REQUESTS: u64 = 30;

/// What was seen, by variant and then by slice.
pub struct Changes {
    variants: Vec<Vec<SliceSums>>,
}

impl Changes {
    pub fn new(variants: usize) -> Changes {
        Changes {
            variants: vec![Vec::new(); variants],
        }
    }

    pub fn add(&mut self, variant: usize, slice: SliceSums) {
        self.variants[variant].push(slice);
    }

    /// Whether every change is known well enough: that of slow polls in percentage points or in percent of the
    /// baseline, those of throughput and of CPU time per request in percent. Variants that are `idle` change
    /// nothing. `answers` says whether there are requests.
    pub fn are_within(
        &self,
        precision: Precision,
        answers: bool,
        idle: impl Fn(usize) -> bool,
    ) -> bool {
        let blocks = self.variants.iter().map(Vec::len).min().unwrap_or(0);
        let asked = |of: &[SliceSums]| of.iter().map(|slice| slice.requests).sum::<u64>();
        let is_time_to_look = blocks >= FEWEST_BLOCKS && blocks.is_power_of_two();
        is_time_to_look
            && (!answers || self.variants.iter().all(|of| asked(of) >= FEWEST_REQUESTS))
            && (0..self.variants.len())
                .filter(|variant| !idle(*variant))
                .all(|variant| self.is_within(variant, precision, answers))
    }

    /// Of the baseline, this is about its level.
    fn is_within(&self, variant: usize, precision: Precision, answers: bool) -> bool {
        let percent = precision.percent_of_value / 100.0;
        let half_width = |part: Part| -> Option<(f64, f64)> {
            let baseline = RatioOfSums::from_slices(&self.variants[BASELINE], part)?;
            if variant == BASELINE {
                return Some((baseline.half_width()?, baseline.value));
            }
            let other = RatioOfSums::from_slices(&self.variants[variant], part)?;
            Some((other.less(&baseline).half_width()?, baseline.value))
        };
        let slow = half_width(slow_share).is_some_and(|(width, baseline)| {
            width <= (precision.percentage_points / 100.0).max(percent * baseline)
        });
        let is_known = |part| half_width(part).is_some_and(|(width, of)| width <= percent * of);
        // Not every kernel says it.
        let mut slices = self.variants.iter().flatten();
        let says_cpu_time = slices.all(|slice| slice.cpu_ns.is_some());
        let costs = || is_known(throughput) && (!says_cpu_time || is_known(cpu_time));
        slow && (!answers || variant == BASELINE || costs())
    }

    pub fn report(&self, block: u32) -> BlockReport {
        let variants = self.variants.iter();
        let ratios = variants.map(|of| RatioOfSums::from_slices(of, slow_share));
        let ratios: Vec<Option<RatioOfSums>> = ratios.collect();
        let percent = |of: fn(&RatioOfSums) -> Option<f64>| {
            let percent = |ratio: &Option<_>| Some(100.0 * of(ratio.as_ref()?)?);
            ratios.iter().map(percent).collect()
        };
        BlockReport {
            block,
            slow_percent: percent(|ratio| Some(ratio.value)),
            margin_percent: percent(RatioOfSums::half_width),
            ..BlockReport::default()
        }
    }

    pub fn requests_per_s(&self) -> Vec<Option<f64>> {
        let rate = |of| Some(RatioOfSums::from_slices(of, throughput)?.value);
        self.variants.iter().map(|of| rate(of)).collect()
    }
}

/// A ratio of two sums, with what each slice adds to its error.
struct RatioOfSums {
    value: f64,
    deviations: Vec<f64>,
    /// The least variance: slices that agree by chance, as do those without a slow poll, are not certain.
    least_variance: f64,
}

impl RatioOfSums {
    fn from_slices(slices: &[SliceSums], part: Part) -> Option<RatioOfSums> {
        let parts: Vec<(f64, f64)> = slices.iter().map(part).collect::<Option<_>>()?;
        let add = |sum: (f64, f64), part: &(f64, f64)| (sum.0 + part.0, sum.1 + part.1);
        let (num, den) = parts.iter().fold((0.0, 0.0), add);
        let value = num / den;
        let smoothed = (num + 1.0) / (den + 2.0);
        let deviations = parts.iter().map(|part| (part.0 - value * part.1) / den);
        (den > 0.0).then(|| RatioOfSums {
            value,
            deviations: deviations.collect(),
            // As if events were independent. They are not, so the truth is wider.
            least_variance: (smoothed * (1.0 - smoothed) / den).max(0.0),
        })
    }

    fn less(&self, baseline: &RatioOfSums) -> RatioOfSums {
        let pairs = self.deviations.iter().zip(&baseline.deviations);
        RatioOfSums {
            value: self.value - baseline.value,
            deviations: pairs.map(|(this, that)| this - that).collect(),
            least_variance: self.least_variance + baseline.least_variance,
        }
    }

    fn half_width(&self) -> Option<f64> {
        let count = self.deviations.len() as f64;
        let squares: f64 = self.deviations.iter().map(|it| it.powi(2)).sum();
        let variance = (squares * count / (count - 1.0)).max(self.least_variance);
        Some(students_t(count)? * variance.sqrt())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRECISION: Precision = Precision {
        percentage_points: 1.0,
        percent_of_value: 10.0,
    };

    fn slice(slow: u64, polls: u64, requests: u64) -> SliceSums {
        SliceSums {
            slow,
            slow_ns: 0,
            polls,
            requests,
            seconds: 1.0,
            cpu_ns: Some(1_000_000 * requests),
        }
    }

    fn of(polls: u64, variants: &[&[u64]]) -> Changes {
        let mut changes = Changes::new(variants.len());
        for (variant, slow) in variants.iter().enumerate() {
            for &slow in *slow {
                changes.add(variant, slice(slow, polls, 100));
            }
        }
        changes
    }

    fn are_within(changes: &Changes) -> bool {
        changes.are_within(PRECISION, true, |_| false)
    }

    #[test]
    fn the_margin_is_that_of_students_t() {
        // 1, 2, 3, 4 %: mean 2.5, standard deviation 1.29, t with 3 degrees of freedom 3.182.
        let report = of(10_000, &[&[100, 200, 300, 400], &[100], &[]]).report(4);
        assert_eq!(report.slow_percent, [Some(2.5), Some(1.0), None]);
        assert!((report.margin_percent[0].expect("more than one") - 2.054).abs() < 0.001);
        assert_eq!(report.margin_percent[1..], [None, None]);
    }

    #[test]
    fn few_polls_without_a_slow_one_prove_little() {
        assert!(!are_within(&of(40, &[&[0, 0, 0, 0]])), "0 of 160");
        assert!(are_within(&of(1_000, &[&[0, 0, 0, 0]])), "0 of 4000");
    }

    #[test]
    fn every_change_has_to_be_known_unless_it_is_idle() {
        let level: &[u64] = &[10_000, 20_000, 30_000, 20_000];
        let noisy: &[u64] = &[40_000, 10_000, 15_000, 35_000];
        let parallel: &[u64] = &[10_100, 20_100, 30_000, 20_100];
        assert!(
            !are_within(&of(100_000, &[level])),
            "the level is not known"
        );
        let steady: &[u64] = &[20_000, 20_100, 19_900, 20_000];
        assert!(are_within(&of(100_000, &[steady, steady])));
        assert!(!are_within(&of(100_000, &[steady, noisy])));
        assert!(!are_within(&of(100_000, &[steady, parallel])));
        let changes = of(100_000, &[steady, noisy]);
        assert!(changes.are_within(PRECISION, true, |variant| variant == 1));
        assert!(
            !are_within(&of(100_000, &[steady, &[]])),
            "nothing seen of one"
        );
    }

    #[test]
    fn throughput_and_cpu_time_have_to_be_known_where_there_are_requests() {
        let mut changes = of(100_000, &[&[1_000; 4]]);
        changes.variants.push(Vec::new());
        for requests in [50, 150, 60, 140] {
            changes.add(1, slice(1_000, 100_000, requests));
        }
        assert!(!are_within(&changes));
        assert!(changes.are_within(PRECISION, false, |_| false));
    }

    #[test]
    fn it_is_looked_at_when_the_blocks_have_doubled() {
        let slow = [1_000; 9];
        let known: Vec<usize> = (1..=9)
            .filter(|blocks| are_within(&of(100_000, &[&slow[..*blocks]])))
            .collect();
        assert_eq!(known, [4, 8]);
    }

    #[test]
    fn silence_is_not_knowledge() {
        let mut changes = Changes::new(1);
        for _ in 0..4 {
            changes.add(0, slice(10, 100_000, 0));
        }
        assert!(!are_within(&changes));
        assert!(changes.are_within(PRECISION, false, |_| false));
    }
}
