//! Two intervals in common use, which are compared with those of reports.

use rand::RngExt;
use rand::rngs::StdRng;

use crate::stats::{Interval, RatioPart};

const RESAMPLES: usize = 400;

/// Intervals of the baseline's share and of its change.
pub(super) struct Rival {
    pub(super) level: Interval,
    pub(super) change: Interval,
}

/// Intervals that treat polls as independent of each other.
pub(super) fn single_polls(baseline: &[Vec<RatioPart>], other: &[Vec<RatioPart>]) -> Rival {
    let [(baseline, of_baseline), (other, of_other)] = [baseline, other].map(|slices| {
        let RatioPart { num, den } = RatioPart::sum(slices.iter().flatten().copied());
        (num / den, num / den * (1.0 - num / den) / den)
    });
    Rival {
        level: about(baseline, of_baseline),
        change: about(other - baseline, of_baseline + of_other),
    }
}

/// Draws runs with replacement, then blocks of each run, and takes the middle 95 % of the results.
pub(super) fn hierarchical_bootstrap(
    baseline: &[Vec<RatioPart>],
    other: &[Vec<RatioPart>],
    rng: &mut StdRng,
) -> Rival {
    let (mut levels, mut changes) = (Vec::new(), Vec::new());
    for _ in 0..RESAMPLES {
        let drawn = resample(baseline, rng);
        let share = |slices: &[Vec<RatioPart>]| {
            let RatioPart { num, den } =
                RatioPart::sum(drawn.iter().map(|(run, block)| slices[*run][*block]));
            num / den
        };
        levels.push(share(baseline));
        changes.push(share(other) - share(baseline));
    }
    Rival {
        level: percentiles(levels),
        change: percentiles(changes),
    }
}

/// Pairs of a run and a block.
fn resample(runs: &[Vec<RatioPart>], rng: &mut StdRng) -> Vec<(usize, usize)> {
    let mut drawn = Vec::new();
    for _ in runs {
        let run = rng.random_range(0..runs.len());
        let blocks = runs[run].len();
        drawn.extend((0..blocks).map(|_| (run, rng.random_range(0..blocks))));
    }
    drawn
}

fn about(value: f64, variance: f64) -> Interval {
    let margin = 1.96 * variance.sqrt();
    Interval {
        low: value - margin,
        high: value + margin,
    }
}

fn percentiles(mut values: Vec<f64>) -> Interval {
    values.sort_by(f64::total_cmp);
    Interval {
        low: values[RESAMPLES * 25 / 1000],
        high: values[RESAMPLES * 975 / 1000 - 1],
    }
}
