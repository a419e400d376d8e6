//! Draws random numbers.

use std::sync::LazyLock;

use rand::RngExt;
use rand::rngs::StdRng;
use statrs::distribution::{ContinuousCDF, Normal};

/// Evenly likely values of a standard normal variable: finer than any bucket, and quick to draw from.
static NORMAL: LazyLock<Vec<f64>> = LazyLock::new(|| {
    let steps = 1 << 16;
    let middle = |step: i32| (f64::from(step) + 0.5) / f64::from(steps);
    (0..steps)
        .map(|step| Normal::standard().inverse_cdf(middle(step)))
        .collect()
});

/// Counts with a smaller expectation are too skewed for a normal distribution.
const RARE: f64 = 30.0;

pub(super) fn normal(rng: &mut StdRng) -> f64 {
    NORMAL[rng.random_range(0..NORMAL.len())]
}

/// A random factor with mean 1 and about the relative standard deviation `sigma`.
pub(super) fn factor(sigma: f64, rng: &mut StdRng) -> f64 {
    (sigma * normal(rng) - sigma.powi(2) / 2.0).exp()
}

/// How many of `all` things happen, if each has this probability.
pub(super) fn count(all: f64, chance: f64, rng: &mut StdRng) -> f64 {
    let mean = all * chance;
    if mean < RARE {
        return poisson(mean, rng);
    }
    let spread = (mean * (1.0 - chance)).sqrt();
    (mean + spread * normal(rng)).round().clamp(0.0, all)
}

fn poisson(mean: f64, rng: &mut StdRng) -> f64 {
    let none = (-mean).exp();
    let mut chance: f64 = rng.random();
    let mut count = 0.0;
    while chance > none {
        chance *= rng.random::<f64>();
        count += 1.0;
    }
    count
}
