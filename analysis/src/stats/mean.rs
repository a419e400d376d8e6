//! The mean over cells, of differences and of ratios.

use super::variance::{Interval, Uncertain, Variance};

pub(crate) fn mean(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let values: Vec<f64> = values.into_iter().collect();
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The mean over these cells, each with the same weight. Their errors are independent. It describes the cells
/// that were measured and no others. None without any.
pub(crate) fn mean_over_cells(cells: &[Uncertain]) -> Option<Uncertain> {
    let count = cells.len() as f64;
    let sum: f64 = cells.iter().map(|cell| cell.value).sum();
    let errors = cells.iter().map(Variance::of_error);
    let of_sum = errors.reduce(Variance::plus)?;
    Some(of_sum.scaled(1.0 / count).of(sum / count))
}

/// A mean change over cells, in percentage points or in percent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum MeanChange {
    Difference(Uncertain),
    /// The logarithm of the mean ratio.
    Ratio(Uncertain),
}

impl MeanChange {
    pub(crate) fn of_differences(cells: &[Uncertain]) -> Option<MeanChange> {
        mean_over_cells(cells).map(MeanChange::Difference)
    }

    /// Of relative changes in percent: the random-effects mean of their logarithms.
    pub(crate) fn of_relatives(cells: &[Uncertain]) -> Option<MeanChange> {
        let logs: Vec<Uncertain> = cells.iter().map(logarithm).collect();
        random_effects(&logs).map(MeanChange::Ratio)
    }

    pub(crate) fn value(&self) -> f64 {
        match self {
            MeanChange::Difference(mean) => mean.value,
            MeanChange::Ratio(mean) => percent(mean.value),
        }
    }

    pub(crate) fn interval(&self, confidence: f64) -> Interval {
        match self {
            MeanChange::Difference(mean) => mean.interval(confidence),
            MeanChange::Ratio(mean) => {
                let Interval { low, high } = mean.interval(confidence);
                Interval::new(percent(low), percent(high))
            }
        }
    }
}

fn percent(logarithm: f64) -> f64 {
    100.0 * logarithm.exp_m1()
}

/// Of the ratio that a relative change in percent is. A ratio below half its standard error counts as that: what was
/// not seen at all may have happened half a time.
fn logarithm(change: &Uncertain) -> Uncertain {
    let error = change.standard_error / 100.0;
    let ratio = (1.0 + change.value / 100.0).max(error / 2.0);
    Uncertain {
        value: ratio.ln(),
        standard_error: error / ratio,
        df: change.df,
    }
}

/// The random-effects mean (DerSimonian and Laird's weights) over these cells. The error of a cell comes from a few
/// blocks, so one below that of the median cell is raised to that: luck must not give a cell its weight. As for
/// [`mean_over_cells`], the mean is that of these cells, each with the same weight. So how far cells are apart is a part
/// of the error only as far as their weights are not the same.
fn random_effects(cells: &[Uncertain]) -> Option<Uncertain> {
    let (_, median, _) = spread(cells.iter().map(|cell| cell.standard_error))?;
    let error = |it: &Uncertain| Variance::new(it.standard_error.max(median).powi(2), it.df);
    let errors: Vec<Variance> = cells.iter().map(error).collect();
    let weights = |apart: f64| {
        let weights: Vec<f64> = errors.iter().map(|it| 1.0 / (it.value + apart)).collect();
        let sum: f64 = weights.iter().sum();
        weights.into_iter().map(move |it| it / sum)
    };
    let mean = |apart: f64| {
        let cells = cells.iter().zip(weights(apart));
        cells.map(|(cell, weight)| weight * cell.value).sum::<f64>()
    };
    // How far the true values of cells are apart: the part of their spread that errors do not explain.
    let middle = mean(0.0);
    let squares = cells.iter().zip(&errors);
    let squares = squares.map(|(cell, error)| (cell.value - middle).powi(2) / error.value);
    let excess = squares.sum::<f64>() - (cells.len() as f64 - 1.0);
    let precision: f64 = errors.iter().map(|it| 1.0 / it.value).sum();
    let alike: f64 = weights(0.0).map(|it| it.powi(2)).sum();
    let apart = match cells.len() {
        1 => 0.0,
        _ => (excess / (precision * (1.0 - alike))).max(0.0),
    };
    let each = errors.iter().zip(weights(apart));
    let error = each.map(|(error, weight)| error.scaled(weight));
    let count = cells.len() as f64;
    let uneven: f64 = weights(apart).map(|it| (it - 1.0 / count).powi(2)).sum();
    let by_weights = Variance::new(apart * uneven, (count - 1.0).max(1.0));
    let error = error.reduce(Variance::plus)?.plus(by_weights);
    Some(error.of(mean(apart)))
}

/// The least, the median (the upper one of two) and the greatest.
pub(crate) fn spread(values: impl Iterator<Item = f64>) -> Option<(f64, f64, f64)> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    Some((*values.first()?, values[values.len() / 2], *values.last()?))
}

/// Of values in ascending order, of which there is at least one.
pub(super) fn median_of_sorted(sorted: &[f64]) -> f64 {
    let half = sorted.len() / 2;
    match sorted.len() % 2 {
        0 => (sorted[half - 1] + sorted[half]) / 2.0,
        _ => sorted[half],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(value: f64, standard_error: f64) -> Uncertain {
        Uncertain {
            value,
            standard_error,
            df: 5.0,
        }
    }

    #[test]
    fn cells_alike_add_up_their_freedom_and_share_their_error() {
        let mean = mean_over_cells(&[
            cell(1.0, 2.0),
            cell(2.0, 2.0),
            cell(3.0, 2.0),
            cell(6.0, 2.0),
        ])
        .expect("four cells");
        assert!((mean.value - 3.0).abs() < 1e-12 && (mean.standard_error - 1.0).abs() < 1e-12);
        assert!((mean.df - 20.0).abs() < 1e-9);
    }

    #[test]
    fn one_uncertain_cell_leaves_the_mean_with_its_freedom() {
        let mean = mean_over_cells(&[cell(0.0, 100.0), cell(0.0, 0.1)]).expect("two cells");
        assert!((mean.df - 5.0).abs() < 0.001);
        assert_eq!(mean_over_cells(&[]), None);
    }

    fn ratio(cells: &[Uncertain]) -> MeanChange {
        MeanChange::of_relatives(cells).expect("there are cells")
    }

    #[test]
    fn a_half_and_a_double_cancel_out() {
        let mean = ratio(&[cell(-50.0, 1.0), cell(100.0, 4.0)]);
        assert!(mean.value().abs() < 1e-9, "{mean:?}");
        assert_eq!(MeanChange::of_relatives(&[]), None);
    }

    #[test]
    fn a_wild_cell_moves_little_and_a_suspiciously_certain_one_rules_nothing() {
        let mut cells = vec![cell(1.0, 1.0); 20];
        cells.push(cell(80.0, 60.0));
        assert!((ratio(&cells).value() - 1.0).abs() < 0.1);
        cells[20] = cell(20.0, 0.0001);
        assert!(ratio(&cells).value() < 2.5);
    }

    #[test]
    fn cells_that_disagree_have_equal_weights() {
        let mean = ratio(&[cell(-50.0, 0.1), cell(-50.0, 0.1), cell(100.0, 4.0)]).value();
        let equal = 100.0 * ((0.5_f64 * 0.5 * 2.0).cbrt() - 1.0);
        assert!((mean - equal).abs() < 1.0, "{mean} {equal}");
    }

    #[test]
    fn what_was_never_seen_has_a_bound() {
        let Interval { low, high } = ratio(&[cell(-100.0, 10.0)]).interval(0.95);
        assert!(low > -100.0 && high > 0.0, "{low} {high}");
    }
}
