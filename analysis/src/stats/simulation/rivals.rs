//! Two intervals that others use, to be compared with ours and never reported.

use rand::{RngExt, rngs::StdRng};

use crate::stats::{Interval, Part};

const RESAMPLES: usize = 400;

/// Intervals of the baseline's share and of its change.
pub(super) struct Rival {
    pub(super) level: Interval,
    pub(super) change: Interval,
}

/// As if every poll were independent of every other.
pub(super) fn single_polls(baseline: &[Vec<Part>], other: &[Vec<Part>]) -> Rival {
    let [(baseline, of_baseline), (other, of_other)] = [baseline, other].map(|slices| {
        let Part { num, den } = sum(slices.iter().flatten().copied());
        (num / den, num / den * (1.0 - num / den) / den)
    });
    Rival {
        level: about(baseline, of_baseline),
        change: about(other - baseline, of_baseline + of_other),
    }
}

/// Runs are drawn with replacement, then blocks of each; the middle 95 % of what comes out.
pub(super) fn hierarchical_bootstrap(
    baseline: &[Vec<Part>],
    other: &[Vec<Part>],
    rng: &mut StdRng,
) -> Rival {
    let (mut levels, mut changes) = (Vec::new(), Vec::new());
    for _ in 0..RESAMPLES {
        let drawn = resample(baseline, rng);
        let share = |of: &[Vec<Part>]| {
            let Part { num, den } = sum(drawn.iter().map(|(run, block)| of[*run][*block]));
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

/// Of which run which block.
fn resample(runs: &[Vec<Part>], rng: &mut StdRng) -> Vec<(usize, usize)> {
    let mut drawn = Vec::new();
    for _ in runs {
        let run = rng.random_range(0..runs.len());
        let blocks = runs[run].len();
        drawn.extend((0..blocks).map(|_| (run, rng.random_range(0..blocks))));
    }
    drawn
}

fn sum(parts: impl Iterator<Item = Part>) -> Part {
    parts.fold(Part::default(), |sum, part| Part {
        num: sum.num + part.num,
        den: sum.den + part.den,
    })
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
