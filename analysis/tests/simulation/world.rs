//! Simulates a cell. Launches differ, slices resemble their neighbours, and polls are seldom slow.

use rand::RngExt;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use run_format::counts::Counts;
use statrs::distribution::{ContinuousCDF, Normal};

use super::draw;
use crate::stats::RatioPart;

/// Durations are lognormal. Their logarithms have this standard deviation and this mean.
const SPREAD: f64 = 0.8;
const MIDDLE: f64 = 9.0;
/// The relative distance of buckets.
const BUCKET: f64 = 0.01;

#[derive(Clone, Copy, Debug)]
pub(super) struct World {
    pub(super) name: &'static str,
    pub(super) runs: usize,
    pub(super) blocks: usize,
    /// The number of variants that take turns. Only those of [`SimulatedVariant`] are evaluated.
    pub(super) variants: usize,
    pub(super) polls: f64,
    /// The share of slow polls under the baseline.
    pub(super) share: f64,
    /// The share of the other variant, divided by that of the baseline.
    pub(super) ratio: f64,
    /// The relative standard deviation of slices, beside that of counting.
    pub(super) noise: f64,
    /// The correlation of slices that follow each other.
    pub(super) correlation: f64,
    pub(super) launches: LaunchSpread,
    /// The relative standard deviation by which launches differ in the ratio.
    pub(super) disagreement: f64,
    /// Whether a run stops early if its shares are known well enough. Only for cells with one run.
    pub(super) stops_early: bool,
    /// The number of durations in a slice.
    pub(super) timed: usize,
}

/// The spread of the factor by which launches differ in everything.
#[derive(Clone, Copy, Debug)]
pub(super) enum LaunchSpread {
    Uniform(f64),
    Normal(f64),
}

#[derive(Clone, Copy)]
pub(super) enum SimulatedVariant {
    Baseline,
    Control,
    Other,
}

/// The random factors of a cell, drawn before anything is counted.
pub(super) struct Course {
    /// The factor of each launch.
    shifts: Vec<f64>,
    /// The factors of everything, by variant, run and block.
    factors: [Vec<Vec<f64>>; 3],
}

impl World {
    pub(super) fn course(&self, rng: &mut StdRng) -> Course {
        let mut course = Course {
            shifts: Vec::new(),
            factors: Default::default(),
        };
        for _ in 0..self.runs {
            let shift = self.launches.shift(rng);
            let by_role = [1.0, 1.0, self.ratio * draw::factor(self.disagreement, rng)];
            let run = self.run(rng);
            for ((role, noise), ratio) in run.into_iter().enumerate().zip(by_role) {
                course.factors[role]
                    .push(noise.iter().map(|noise| shift * ratio * noise).collect());
            }
            course.shifts.push(shift);
        }
        course
    }

    /// The noise of each slice, by role and block. It is correlated in the order in which variants take turns.
    fn run(&self, rng: &mut StdRng) -> [Vec<f64>; 3] {
        let mut noise = draw::normal(rng);
        let mut by_role: [Vec<f64>; 3] = Default::default();
        let fresh = (1.0 - self.correlation.powi(2)).sqrt();
        for _ in 0..self.blocks {
            let mut order: Vec<usize> = (0..self.variants).collect();
            order.shuffle(rng);
            for variant in order {
                noise = self.correlation * noise + fresh * draw::normal(rng);
                if let Some(blocks) = by_role.get_mut(variant) {
                    blocks.push((self.noise * noise - self.noise.powi(2) / 2.0).exp());
                }
            }
        }
        by_role
    }

    pub(super) fn slow(
        &self,
        course: &Course,
        role: SimulatedVariant,
        rng: &mut StdRng,
    ) -> Vec<Vec<RatioPart>> {
        let mut slice = |factor: &f64| {
            let polls = (self.polls * draw::factor(0.1, rng)).round();
            RatioPart {
                num: draw::count(polls, (self.share * factor).min(1.0), rng),
                den: polls,
            }
        };
        let runs = course.factors[role as usize].iter();
        runs.map(|run| run.iter().map(&mut slice).collect())
            .collect()
    }

    pub(super) fn durations(
        &self,
        course: &Course,
        role: SimulatedVariant,
        rng: &mut StdRng,
    ) -> Vec<Vec<Counts>> {
        let runs = course.factors[role as usize].iter();
        let mut slice = |factor: &f64| self.timed_slice(factor.ln(), rng);
        runs.map(|run| run.iter().map(&mut slice).collect())
            .collect()
    }

    fn timed_slice(&self, shift: f64, rng: &mut StdRng) -> Counts {
        let mut logarithm = || MIDDLE + shift + SPREAD * draw::normal(rng);
        let mut buckets: Vec<i32> = (0..self.timed)
            .map(|_| (logarithm() / BUCKET).round() as i32)
            .collect();
        buckets.sort_unstable();
        let alike = buckets.chunk_by(|a, b| a == b);
        Counts::from_sorted(alike.map(|bucket| (value_of(bucket[0]), bucket.len() as u64)))
    }

    /// The true share of slow polls under the baseline: in this launch if there is one run, otherwise over all launches.
    pub(super) fn true_share(&self, course: &Course) -> f64 {
        self.share * self.true_shift(course)
    }

    /// The true change at the mean level of the launches.
    pub(super) fn true_change(&self, course: &Course) -> f64 {
        self.share * (self.ratio - 1.0) * mean(&course.shifts)
    }

    /// Like [`World::true_share`], for a quantile of durations.
    pub(super) fn true_quantile(&self, q: f64, course: &Course) -> f64 {
        self.quantile(q) * self.true_shift(course)
    }

    pub(super) fn true_quantile_change(&self, q: f64, course: &Course) -> f64 {
        self.quantile(q) * (self.ratio - 1.0) * mean(&course.shifts)
    }

    fn true_shift(&self, course: &Course) -> f64 {
        if self.runs == 1 {
            course.shifts[0]
        } else {
            1.0
        }
    }

    /// The quantile over all slices of a launch without shift. Noise of slices spreads durations, too.
    fn quantile(&self, q: f64) -> f64 {
        let spread = SPREAD.hypot(self.noise);
        (MIDDLE - self.noise.powi(2) / 2.0 + spread * Normal::standard().inverse_cdf(q)).exp()
    }
}

impl Course {
    pub(super) fn stop_after(&mut self, blocks: usize) {
        let runs = self.factors.iter_mut().flatten();
        runs.for_each(|run| run.truncate(blocks));
    }
}

impl LaunchSpread {
    fn shift(self, rng: &mut StdRng) -> f64 {
        match self {
            LaunchSpread::Uniform(by) => rng.random_range(1.0 - by..1.0 + by),
            // No launch is without slow polls.
            LaunchSpread::Normal(by) => (1.0 + by * draw::normal(rng)).max(0.05),
        }
    }
}

fn value_of(bucket: i32) -> u64 {
    (f64::from(bucket) * BUCKET).exp().round() as u64
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}
