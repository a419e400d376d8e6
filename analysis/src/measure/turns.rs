//! Two properties of a cell that make its means misleading. Turns can be too short for requests, or not of the same number for
//! all variants. And throughput can have two levels: a mode that lasts for several slices.

use run_format::{BASELINE, Pass, SliceRow};

use super::metric::Metric;
use super::sums::{CellBlocks, SweepSetup};
use crate::load::{LoadedRun, LoadedSlice};

#[derive(Clone, Debug, Default)]
pub(crate) struct Turns {
    /// Whether most requests were sent before the turn in which they were answered, so under any variant.
    is_short_for_requests: bool,
    /// Variants that had fewer turns than the baseline in some blocks. Noise that changes from block to block has
    /// another weight in them.
    pub(crate) fewer: Vec<usize>,
}

impl Turns {
    pub(super) fn examine(runs: &[LoadedRun], variants: usize) -> Turns {
        let rows = runs.iter().flat_map(LoadedRun::rows);
        let compared = rows.filter(|row| row.pass == Pass::Compare);
        let sum =
            |count: fn(&SliceRow) -> Option<u64>| compared.clone().filter_map(count).sum::<u64>();
        let has_fewer = |variant: &usize| {
            runs.iter().any(|run| {
                let turns = |block: &[usize], variant: usize| run.slices[block[variant]].row.turns;
                let mut blocks = run.blocks.iter();
                blocks.any(|block| turns(block, *variant) < turns(block, BASELINE))
            })
        };
        Turns {
            is_short_for_requests: 2 * sum(|row| row.requests_begun_before)
                > sum(|row| row.requests),
            fewer: (0..variants).filter(has_fewer).collect(),
        }
    }

    /// Whether a change of the metric would be that of several variants at once.
    pub(crate) fn blur(&self, metric: Metric) -> bool {
        self.is_short_for_requests && metric.info().is_of_requests
    }
}

/// Requests per second, the lower level first.
pub(crate) type Levels = [f64; 2];

/// The two levels of each variant in the first launch that has two.
pub(super) fn levels(blocks: &CellBlocks, setup: &SweepSetup) -> Vec<Option<Levels>> {
    /// With fewer, whole numbers of requests look like levels.
    const FEWEST_REQUESTS: u64 = 100;
    let rate = |_: &_, slice: &LoadedSlice| {
        let SliceRow { requests, .. } = slice.row;
        let enough = requests.filter(|requests| *requests >= FEWEST_REQUESTS)?;
        Some(enough as f64 / slice.row.duration_ms * 1e3)
    };
    let levels_of_variant = |variant| {
        let launches = blocks.sums_by_block(&[variant], rate, |rates| rates.iter().sum())?;
        launches.into_iter().find_map(two_levels)
    };
    setup.variants().map(levels_of_variant).collect()
}

/// There are two levels if one gap is more than half of the range of all rates but the outermost tenth, and if a quarter or more
/// of the slices lies on either side of the gap. Of sets of 20 values that are spread evenly at random, one in 6,000 has such a
/// gap.
fn two_levels(mut rates: Vec<f64>) -> Option<Levels> {
    const FEWEST: usize = 20;
    const LEAST_RATIO: f64 = 1.2;
    rates.sort_by(f64::total_cmp);
    let (count, outer) = (rates.len(), rates.len() / 20);
    if count < FEWEST {
        return None;
    }
    let range = rates[count - 1 - outer] - rates[outer];
    let mut splits = count / 4..=count - count / 4;
    let split = splits.find(|split| rates[*split] - rates[split - 1] > range / 2.0)?;
    let (low, high) = rates.split_at(split);
    let levels = [low, high].map(|part| part.iter().sum::<f64>() / part.len() as f64);
    (levels[1] > LEAST_RATIO * levels[0]).then_some(levels)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_levels_are_told_from_noise_and_from_drift() {
        let noise = |slice: i32| f64::from(slice * 7919 % 13);
        let levels = |rate: fn(i32) -> f64| {
            two_levels((0..40).map(|slice| rate(slice) + noise(slice)).collect())
        };
        let [low, high] =
            levels(|slice| if slice < 15 { 700.0 } else { 1000.0 }).expect("two levels");
        assert!(
            (low - 706.0).abs() < 3.0 && (high - 1006.0).abs() < 3.0,
            "{low} {high}"
        );
        assert_eq!(levels(|_| 1000.0), None);
        assert_eq!(levels(|slice| 500.0 + 20.0 * f64::from(slice)), None);
        assert_eq!(
            levels(|slice| if slice == 3 { 100.0 } else { 1000.0 }),
            None,
            "an outlier"
        );
        assert_eq!(
            levels(|slice| if slice % 2 == 0 { 950.0 } else { 1000.0 }),
            None,
            "too near"
        );
        assert_eq!(two_levels(vec![1.0, 2.0, 1.0, 2.0]), None, "too few");
    }
}
