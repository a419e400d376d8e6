//! How figures change when several cells are measured at the same time.

use run_format::plan::cells::FEWEST_PAIRS;
use run_format::plan::sums::{BEYOND_TIME, CPU_TIME, SliceSums, SumRatio, THROUGHPUT};

use super::mean::MeanChange;
use super::student::CONFIDENCE;
use super::variance::{Interval, Uncertain};

/// The sums of a run that was measured beside others, and of the same run alone. Each is the sum of all variants.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AlonePair {
    pub(crate) beside: SliceSums,
    pub(crate) alone: SliceSums,
}

/// Jobs disturb each other if a quantity changes by more than this.
pub(crate) const LIMIT_PERCENT: f64 = 5.0;

const QUANTITIES: [(&str, SumRatio); 3] = [
    ("throughput", THROUGHPUT),
    ("CPU time per request", CPU_TIME),
    ("time beyond 50 µs", BEYOND_TIME),
];

/// The change of a quantity from runs alone to runs beside others, in percent, with a 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct BesideOthers {
    pub(crate) quantity: &'static str,
    pub(crate) percent: f64,
    pub(crate) interval: Interval,
    pub(crate) pairs: usize,
}

impl BesideOthers {
    /// Compares every quantity that enough pairs have. Launches differ by factors, so logarithms are averaged.
    pub(crate) fn compare(pairs: &[AlonePair]) -> Vec<BesideOthers> {
        let change = |(name, quantity): (&'static str, SumRatio)| {
            let value = |sums: &SliceSums| (quantity.parts)(sums).map(|(sum, per)| sum / per);
            let log = |pair: &AlonePair| Some((value(&pair.beside)? / value(&pair.alone)?).ln());
            let mut logs: Vec<f64> = pairs.iter().filter_map(log).collect();
            logs.retain(|log| log.is_finite());
            let count = logs.len() as f64;
            let mean = logs.iter().sum::<f64>() / count;
            let squares: f64 = logs.iter().map(|log| (log - mean).powi(2)).sum();
            (logs.len() >= FEWEST_PAIRS).then(|| {
                let mean_change = MeanChange::Ratio(Uncertain {
                    value: mean,
                    standard_error: (squares / (count - 1.0) / count).sqrt(),
                    df: count - 1.0,
                });
                BesideOthers {
                    quantity: name,
                    percent: mean_change.value(),
                    interval: mean_change.interval(CONFIDENCE),
                    pairs: logs.len(),
                }
            })
        };
        QUANTITIES.into_iter().filter_map(change).collect()
    }

    pub(crate) fn disturbs(&self) -> bool {
        self.interval.low > LIMIT_PERCENT || self.interval.high < -LIMIT_PERCENT
    }

    pub(crate) fn is_harmless(&self) -> bool {
        self.interval.low >= -LIMIT_PERCENT && self.interval.high <= LIMIT_PERCENT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sums(requests: u64) -> SliceSums {
        SliceSums {
            beyond_ns: 10_000_000,
            requests,
            seconds: 1.0,
            cpu_ns: Some(1_000_000),
        }
    }

    #[test]
    fn a_common_effect_of_all_pairs_is_distinguished_from_noise_of_launches() {
        let pairs = |beside: [u64; 4]| {
            let alone = [1000, 1500, 700, 1200];
            let pair = |(beside, alone)| AlonePair {
                beside: sums(beside),
                alone: sums(alone),
            };
            beside.into_iter().zip(alone).map(pair).collect::<Vec<_>>()
        };
        let [throughput, cpu_time, beyond] =
            &BesideOthers::compare(&pairs([900, 1350, 630, 1080]))[..]
        else {
            panic!("all are known")
        };
        assert!((throughput.percent + 10.0).abs() < 0.01 && throughput.disturbs());
        assert!((cpu_time.percent - 11.1).abs() < 0.1 && cpu_time.disturbs());
        assert!(beyond.percent == 0.0 && beyond.is_harmless());
        // Mean of the logarithms 0.095, -0.105, 0.095, -0.105; their standard error 0.0579, t 3.18.
        let noisy = BesideOthers::compare(&pairs([1100, 1350, 770, 1080]))[0];
        assert!(!noisy.disturbs() && !noisy.is_harmless());
        assert!(
            (noisy.interval.low + 17.3).abs() < 0.2 && (noisy.interval.high - 19.6).abs() < 0.2,
            "{noisy:?}"
        );
        assert_eq!(BesideOthers::compare(&pairs([1; 4])[..3]), []);
    }
}
