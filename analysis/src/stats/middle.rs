//! The median of many cells. The uncertainty of relative changes differs so much between cells that a few
//! cells would dominate a mean.

use statrs::distribution::{Binomial, DiscreteCDF};

use super::{
    mean::mean_over_cells,
    uncertain::{Interval, Uncertain},
};

/// One number for the changes of several cells.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Middle {
    pub(crate) value: f64,
    pub(crate) interval: Interval,
    /// The probability that chance alone would give at least this, if there were no change.
    pub(crate) p_value: f64,
    /// Otherwise the mean, since the median of a few cells has no bounds.
    pub(crate) is_median: bool,
}

/// The median over these cells, with an interval from their order and a p-value from their signs. Both assume
/// that cells are independent, and no distribution. Of too few cells, the mean with the errors of the cells.
/// None without any. `confidence` as 0.95.
pub(crate) fn middle_of_cells(cells: &[Uncertain], confidence: f64) -> Option<Middle> {
    let mut sorted: Vec<f64> = cells.iter().map(|cell| cell.value).collect();
    sorted.sort_by(f64::total_cmp);
    let Some(outside) = ranks_outside(sorted.len(), 1.0 - confidence) else {
        return mean(cells, confidence);
    };
    let last = sorted.len() - 1;
    Some(Middle {
        value: median_of_sorted(&sorted),
        interval: Interval {
            low: sorted[outside],
            high: sorted[last - outside],
        },
        p_value: sign_test(&sorted),
        is_median: true,
    })
}

/// Of values in ascending order, of which there is at least one.
pub(super) fn median_of_sorted(sorted: &[f64]) -> f64 {
    let half = sorted.len() / 2;
    if sorted.len() % 2 == 1 {
        sorted[half]
    } else {
        (sorted[half - 1] + sorted[half]) / 2.0
    }
}

/// Whether the middle of this many cells is their median.
pub(crate) fn has_median(cells: usize, confidence: f64) -> bool {
    ranks_outside(cells, 1.0 - confidence).is_some()
}

fn mean(cells: &[Uncertain], confidence: f64) -> Option<Middle> {
    mean_over_cells(cells).map(|mean| Middle {
        value: mean.value,
        interval: mean.interval(confidence),
        p_value: mean.p_value(),
        is_median: false,
    })
}

/// How many of the smallest, and of the largest, the interval can leave out. The number of cells below the
/// median is binomial. None if not even the extremes enclose the median with this confidence.
fn ranks_outside(count: usize, left_out: f64) -> Option<usize> {
    let coins = Binomial::new(0.5, count as u64).ok()?;
    let is_rare = |rank: &u64| coins.cdf(*rank) <= left_out / 2.0;
    let rare = (0..count as u64).take_while(is_rare).count();
    rare.checked_sub(1)
}

/// Two-sided, without the values that are zero.
fn sign_test(values: &[f64]) -> f64 {
    let below = values.iter().filter(|value| **value < 0.0).count() as u64;
    let above = values.iter().filter(|value| **value > 0.0).count() as u64;
    let fewer = below.min(above);
    Binomial::new(0.5, below + above).map_or(1.0, |coins| (2.0 * coins.cdf(fewer)).min(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn middle(values: &[f64]) -> Middle {
        let cells: Vec<Uncertain> = values
            .iter()
            .map(|value| Uncertain {
                value: *value,
                standard_error: 1.0,
                df: 1e6,
            })
            .collect();
        middle_of_cells(&cells, 0.95).expect("there are values")
    }

    #[test]
    fn one_wild_cell_moves_no_median() {
        let tame: Vec<f64> = (-10..=10).map(f64::from).collect();
        let wild = [&tame[..20], &[1e9]].concat();
        assert_eq!(middle(&tame).value, middle(&wild).value);
    }

    #[test]
    fn the_interval_leaves_out_what_the_binomial_says() {
        // Of ten coins at most one shows heads in 11 of 1024 cases, at most two in 56.
        let values: Vec<f64> = (1..=10).map(f64::from).collect();
        let Interval { low, high } = middle(&values).interval;
        assert_eq!((low, high), (2.0, 9.0));
    }

    #[test]
    fn a_few_cells_are_averaged_with_their_own_errors() {
        let middle = middle(&[0.0, 3.0, 6.0, 9.0]);
        assert_eq!((middle.value, middle.is_median), (4.5, false));
        assert!((middle.interval.high - 4.5 - 1.96 / 2.0).abs() < 0.001);
        assert!(middle_of_cells(&[], 0.95).is_none());
    }

    #[test]
    fn as_many_above_as_below_is_chance() {
        let middle = middle(&[-3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0]);
        assert_eq!((middle.p_value, middle.is_median), (1.0, true));
    }
}
