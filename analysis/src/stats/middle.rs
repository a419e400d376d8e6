//! The middle of many cells. Relative changes of cells differ so much in how well they are known that a
//! mean would be one of the worst few.

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
    /// How often chance alone would give as much, were there no change.
    pub(crate) p_value: f64,
    /// Else the mean: of a few cells a median has no bounds.
    pub(crate) is_median: bool,
}

/// The median over these cells, with the interval and the chance that order and sign alone give: nothing
/// is assumed of how values are distributed, but that cells are independent. Of cells too few for that,
/// the mean with the errors of the cells. None without any. `confidence` as 0.95.
pub(crate) fn middle_of_cells(cells: &[Uncertain], confidence: f64) -> Option<Middle> {
    let mut sorted: Vec<f64> = cells.iter().map(|cell| cell.value).collect();
    sorted.sort_by(f64::total_cmp);
    let Some(outside) = ranks_outside(sorted.len(), 1.0 - confidence) else {
        return mean(cells, confidence);
    };
    let (last, half) = (sorted.len() - 1, sorted.len() / 2);
    Some(Middle {
        value: if sorted.len() % 2 == 1 {
            sorted[half]
        } else {
            (sorted[half - 1] + sorted[half]) / 2.0
        },
        interval: Interval {
            low: sorted[outside],
            high: sorted[last - outside],
        },
        p_value: sign_test(&sorted),
        is_median: true,
    })
}

fn mean(cells: &[Uncertain], confidence: f64) -> Option<Middle> {
    mean_over_cells(cells).map(|mean| Middle {
        value: mean.value,
        interval: mean.interval(confidence),
        p_value: mean.p_value(),
        is_median: false,
    })
}

/// How many of the smallest, and of the largest, can be left out, since how many cells are below the
/// median is as the heads of so many coins. None if not even the extremes are sure to be around it.
fn ranks_outside(count: usize, left_out: f64) -> Option<usize> {
    let coins = Binomial::new(0.5, count as u64).ok()?;
    let is_rare = |rank: &u64| coins.cdf(*rank) <= left_out / 2.0;
    let rare = (0..count as u64).take_while(is_rare).count();
    rare.checked_sub(1)
}

/// Two-sided; what is zero is on neither side.
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
