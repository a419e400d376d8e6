//! How uncertain a sum over blocks is: what the blocks of a run say, what runs say, and both.
//!
//! A deviation is what a block adds to the error of an estimate, so the error is the sum of all
//! deviations and these functions estimate the variance of that sum.

use statrs::distribution::{ContinuousCDF, FisherSnedecor};

use super::{student, uncertain::Uncertain};

/// Above this chance of seeing runs differ as they do although only blocks do, runs and blocks
/// estimate the same variance.
const ALIKE: f64 = 0.25;

/// So many times the degrees of freedom has a variance that is no more than chance. More would be as
/// good for intervals, but blocks that agree by luck would then be believed too often.
const KNOWN: f64 = 4.0;

/// By so much the variance of few launches is taken for larger, so that intervals hold the truth nearly as
/// often where launches are spread evenly as where they are normal.
const NOT_NORMAL: f64 = 4.0 / 3.0;

/// With this confidence the widths of intervals are compared.
const CONFIDENCE: f64 = 0.95;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Variance {
    pub(super) value: f64,
    pub(super) df: f64,
}

/// From how the blocks of a run differ. It knows nothing of how launches differ. None where a run has a
/// single block.
pub(super) fn within(deviations: &[Vec<f64>]) -> Option<Variance> {
    let runs: Vec<Run> = deviations.iter().map(|run| Run::of(run)).collect();
    if runs.is_empty() || runs.iter().any(|run| run.blocks < 2.0) {
        return None;
    }
    let apart: f64 = runs.iter().map(Run::variance).sum();
    // Neighbours that err to the same side do not cancel out. That they would err to opposite sides
    // more than chance has it is not assumed.
    let together: f64 = runs.iter().map(Run::covariance).sum();
    let value = apart + 2.0 * together.max(0.0);
    let blocks: f64 = runs.iter().map(|run| run.blocks - 1.0).sum();
    // Blocks that err together are as good as fewer blocks.
    let df = if value > 0.0 {
        blocks * apart / value
    } else {
        blocks
    };
    Some(Variance {
        value,
        df: df.max(1.0),
    })
}

/// From how runs differ, whatever makes them differ. None with a single run.
pub(super) fn between(deviations: &[Vec<f64>]) -> Option<Variance> {
    let totals: Vec<f64> = deviations.iter().map(|run| run.iter().sum()).collect();
    let runs = Run::of(&totals);
    (runs.blocks > 1.0).then(|| Variance {
        value: runs.variance(),
        df: runs.blocks - 1.0,
    })
}

/// One estimate from both where runs differ no more than their blocks explain, which makes it matter
/// little how few runs there are; else what blocks say, and by how much runs differ more.
pub(super) fn together(runs: Variance, blocks: Variance) -> Variance {
    let f = FisherSnedecor::new(runs.df, blocks.df).expect("both were estimated");
    // Blocks that do not vary at all give no ratio and say nothing.
    if blocks.value == 0.0 || f.sf(runs.value / blocks.value) <= ALIKE {
        return blocks.plus(Variance {
            value: (runs.value - blocks.value).max(0.0),
            ..runs
        });
    }
    let df = runs.df + blocks.df;
    Variance {
        value: (runs.df * runs.value + blocks.df * blocks.value) / df,
        df,
    }
}

/// The one with the wider interval: what runs say, and what blocks say where runs agree by luck.
///
/// By themselves runs would be right as often as they should, however much or little launches differ. But
/// where they agree better than their blocks, so narrow an interval is not to be believed; to make up for
/// the wider one that is taken then, the others are narrowed by a part of what blocks explain. And two or
/// three launches that are not normal are less certain than t has it.
pub(super) fn wider(runs: Variance, blocks: Variance) -> Variance {
    let explained = blocks.value * runs.df.min(2.0) / 6.0;
    let beyond = Variance {
        value: NOT_NORMAL * (runs.value - explained).max(0.0),
        ..runs
    };
    if beyond.margin() > blocks.margin() {
        beyond
    } else {
        blocks
    }
}

impl Variance {
    /// Half the width of an interval.
    fn margin(self) -> f64 {
        student::critical(self.df, CONFIDENCE) * self.value.sqrt()
    }

    /// Of a sum of two things that err independently, by Satterthwaite.
    pub(super) fn plus(self, other: Variance) -> Variance {
        let value = self.value + other.value;
        let parts = self.value.powi(2) / self.df + other.value.powi(2) / other.df;
        Variance {
            value,
            df: if parts > 0.0 {
                value.powi(2) / parts
            } else {
                self.df.min(other.df)
            },
        }
    }

    /// Of this times a constant.
    pub(super) fn scaled(self, by: f64) -> Variance {
        Variance {
            value: by.powi(2) * self.value,
            ..self
        }
    }

    /// Not below what chance alone gives. That much is known, so the nearer the variance is to it, the
    /// more degrees of freedom it has.
    pub(super) fn at_least(self, floor: f64) -> Variance {
        let value = self.value.max(floor);
        let known = if value > 0.0 {
            (floor / value).powi(2)
        } else {
            0.0
        };
        Variance {
            value,
            df: self.df / (1.0 - known * (1.0 - 1.0 / KNOWN)),
        }
    }

    /// The value whose error varies so.
    pub(super) fn of(self, value: f64) -> Uncertain {
        Uncertain {
            value,
            standard_error: self.value.sqrt(),
            df: self.df,
        }
    }
}

/// The sums over one run that variances need, about the run's mean.
struct Run {
    blocks: f64,
    squares: f64,
    /// Products of blocks that follow each other.
    neighbours: f64,
}

impl Run {
    fn of(deviations: &[f64]) -> Run {
        let blocks = deviations.len() as f64;
        let mean = deviations.iter().sum::<f64>() / blocks;
        Run {
            blocks,
            squares: deviations.iter().map(|of| (of - mean).powi(2)).sum(),
            neighbours: deviations
                .windows(2)
                .map(|of| (of[0] - mean) * (of[1] - mean))
                .sum(),
        }
    }

    /// Of the sum over blocks.
    fn variance(&self) -> f64 {
        self.squares * self.blocks / (self.blocks - 1.0)
    }

    /// Of the sum over neighbours. About their own mean even independent ones seem opposed.
    fn covariance(&self) -> f64 {
        self.neighbours + self.squares / self.blocks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_that_alternate_are_taken_as_independent() {
        let variance = within(&[vec![1.0, -1.0, 1.0, -1.0]]).expect("four blocks");
        assert_eq!(variance.df, 3.0);
        assert!((variance.value - 4.0 * 4.0 / 3.0).abs() < 1e-12);
    }

    #[test]
    fn blocks_that_drift_are_not() {
        let drifting = within(&[vec![1.0, 1.0, -1.0, -1.0]]).expect("four blocks");
        let alternating = within(&[vec![1.0, -1.0, 1.0, -1.0]]).expect("four blocks");
        assert!(drifting.value > alternating.value);
    }

    #[test]
    fn a_level_that_a_run_has_is_no_variance_within_it() {
        let shifted = [vec![11.0, 9.0, 11.0, 9.0], vec![1.0, -1.0, 1.0, -1.0]];
        assert_eq!(within(&shifted).map(|of| of.df), Some(6.0));
        assert!((within(&shifted).expect("blocks").value - 2.0 * 16.0 / 3.0).abs() < 1e-12);
        // Totals of 40 and 0.
        assert_eq!(
            between(&shifted),
            Some(Variance {
                value: 1600.0,
                df: 1.0
            })
        );
    }

    #[test]
    fn one_run_says_nothing_of_runs_and_one_block_nothing_of_blocks() {
        assert_eq!(between(&[vec![1.0, 2.0]]), None);
        assert_eq!(within(&[vec![1.0]]), None);
        assert_eq!(within(&[]), None);
    }

    #[test]
    fn runs_that_differ_no_more_than_blocks_explain_are_pooled() {
        let (blocks, df) = (
            Variance {
                value: 1.0,
                df: 33.0,
            },
            2.0,
        );
        let pooled = together(Variance { value: 1.2, df }, blocks);
        assert_eq!(pooled.df, 35.0);
        assert!((pooled.value - (2.4 + 33.0) / 35.0).abs() < 1e-12);
        let apart = together(Variance { value: 9.0, df }, blocks);
        assert_eq!(apart.value, 9.0);
        assert!(apart.df < 3.0, "{}", apart.df);
    }

    #[test]
    fn runs_are_believed_where_they_differ_and_blocks_where_runs_agree_by_luck() {
        let blocks = Variance {
            value: 1.0,
            df: 33.0,
        };
        let runs = |value| Variance { value, df: 2.0 };
        assert_eq!(wider(runs(0.2), blocks), blocks);
        let apart = wider(runs(1.0), blocks);
        assert_eq!(apart.df, 2.0);
        assert!((apart.value - 4.0 / 3.0 * (1.0 - 1.0 / 3.0)).abs() < 1e-12);
    }

    #[test]
    fn blocks_that_do_not_vary_leave_it_to_the_runs() {
        let (blocks, runs) = (
            Variance {
                value: 0.0,
                df: 33.0,
            },
            Variance {
                value: 1.0,
                df: 2.0,
            },
        );
        assert_eq!(together(runs, blocks), runs);
    }

    #[test]
    fn what_is_no_more_than_chance_is_better_known() {
        let blocks = Variance {
            value: 1.0,
            df: 5.0,
        };
        let by_chance = blocks.at_least(2.0);
        assert_eq!(by_chance.value, 2.0);
        assert!((by_chance.df - 20.0).abs() < 1e-9);
        assert!((blocks.at_least(0.1).df - 5.0).abs() < 0.1);
        assert_eq!(blocks.at_least(0.0), blocks);
    }

    #[test]
    fn a_sum_has_the_freedom_of_what_dominates_it() {
        let few = Variance {
            value: 100.0,
            df: 2.0,
        };
        let many = Variance {
            value: 1.0,
            df: 33.0,
        };
        assert!((few.plus(many).df - 2.04).abs() < 0.01);
        let nothing = Variance {
            value: 0.0,
            df: 33.0,
        };
        assert_eq!(few.plus(nothing), few);
        assert_eq!(nothing.plus(nothing), nothing);
    }
}
