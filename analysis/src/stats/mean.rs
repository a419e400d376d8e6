//! Means of differences and of ratios over cells.

use super::variance::{Interval, Uncertain, Variance};

pub(crate) fn mean(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let (mut sum, mut count) = (0.0, 0);
    for value in values {
        sum += value;
        count += 1;
    }
    (count > 0).then(|| sum / f64::from(count))
}

/// The mean over these cells, each with the same weight. It describes the cells that were measured and no others. Their errors
/// are independent. None without cells.
pub(crate) fn mean_over_cells(cells: &[Uncertain]) -> Option<Uncertain> {
    let count = cells.len() as f64;
    let sum: f64 = cells.iter().map(|cell| cell.value).sum();
    let errors = cells.iter().map(Variance::from_error);
    let sum_variance = errors.reduce(Variance::plus)?;
    Some(sum_variance.scaled(1.0 / count).around(sum / count))
}

/// A mean change over cells, in percentage points or in percent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum MeanChange {
    Difference(Uncertain),
    /// The logarithm of the mean ratio.
    Ratio(Uncertain),
}

impl MeanChange {
    pub(crate) fn from_differences(cells: &[Uncertain]) -> Option<MeanChange> {
        mean_over_cells(cells).map(MeanChange::Difference)
    }

    /// The random-effects mean of the logarithms of relative changes, which are in percent.
    pub(crate) fn from_relatives(cells: &[Uncertain]) -> Option<MeanChange> {
        let logs: Vec<Uncertain> = cells.iter().map(logarithm).collect();
        random_effects(&logs).map(MeanChange::Ratio)
    }

    pub(crate) fn value(&self) -> f64 {
        match self {
            MeanChange::Difference(mean) => mean.value,
            MeanChange::Ratio(mean) => percent_of_log_ratio(mean.value),
        }
    }

    pub(crate) fn interval(&self, confidence: f64) -> Interval {
        match self {
            MeanChange::Difference(mean) => mean.interval(confidence),
            MeanChange::Ratio(mean) => {
                let Interval { low, high } = mean.interval(confidence);
                Interval::new(percent_of_log_ratio(low), percent_of_log_ratio(high))
            }
        }
    }
}

/// The change in percent that the logarithm of a ratio stands for.
fn percent_of_log_ratio(logarithm: f64) -> f64 {
    100.0 * logarithm.exp_m1()
}

/// The logarithm of the ratio behind a relative change in percent. A ratio below half its standard error is raised to that,
/// because an event that was not seen may have happened half a time.
fn logarithm(change: &Uncertain) -> Uncertain {
    let error = change.standard_error / 100.0;
    let ratio = (1.0 + change.value / 100.0).max(error / 2.0);
    Uncertain {
        value: ratio.ln(),
        standard_error: error / ratio,
        df: change.df,
    }
}

/// The random-effects mean over these cells, with DerSimonian and Laird's weights. The error of a cell comes from a few
/// blocks, so an error below that of the median cell is raised to that: luck must not give a cell its weight. Like
/// [`mean_over_cells`], the mean describes only these cells. So the distance between cells adds to the error only as far as
/// their weights differ.
fn random_effects(cells: &[Uncertain]) -> Option<Uncertain> {
    let errors = cells.iter().map(|cell| cell.standard_error);
    let least_error = Spread::over(errors)?.upper_median;
    let error =
        |cell: &Uncertain| Variance::new(cell.standard_error.max(least_error).powi(2), cell.df);
    let errors: Vec<Variance> = cells.iter().map(error).collect();
    let weights = |between: f64| {
        let precision = |error: &Variance| 1.0 / (error.value + between);
        let precisions: Vec<f64> = errors.iter().map(precision).collect();
        let sum: f64 = precisions.iter().sum();
        precisions.into_iter().map(move |precision| precision / sum)
    };
    let mean = |between: f64| {
        let weighted = cells.iter().zip(weights(between));
        weighted
            .map(|(cell, weight)| weight * cell.value)
            .sum::<f64>()
    };
    // The variance between the true values of cells is the part of their spread that errors do not explain.
    let middle = mean(0.0);
    let pairs = cells.iter().zip(&errors);
    let squares = pairs.map(|(cell, error)| (cell.value - middle).powi(2) / error.value);
    let excess = squares.sum::<f64>() - (cells.len() as f64 - 1.0);
    let precision: f64 = errors.iter().map(|error| 1.0 / error.value).sum();
    let alike: f64 = weights(0.0).map(|weight| weight.powi(2)).sum();
    let between = match cells.len() {
        1 => 0.0,
        _ => (excess / (precision * (1.0 - alike))).max(0.0),
    };
    let each = errors.iter().zip(weights(between));
    let scaled = each.map(|(error, weight)| error.scaled(weight));
    let count = cells.len() as f64;
    let uneven: f64 = weights(between)
        .map(|weight| (weight - 1.0 / count).powi(2))
        .sum();
    let by_weights = Variance::new(between * uneven, (count - 1.0).max(1.0));
    let variance = scaled.reduce(Variance::plus)?.plus(by_weights);
    Some(variance.around(mean(between)))
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spread {
    pub(crate) least: f64,
    /// The median. Of two middle values it is the upper one.
    pub(crate) upper_median: f64,
    pub(crate) greatest: f64,
}

impl Spread {
    /// None without values.
    pub(crate) fn over(values: impl Iterator<Item = f64>) -> Option<Spread> {
        let mut sorted: Vec<f64> = values.collect();
        sorted.sort_by(f64::total_cmp);
        Some(Spread {
            least: *sorted.first()?,
            upper_median: sorted[sorted.len() / 2],
            greatest: *sorted.last()?,
        })
    }
}

/// The median of values in ascending order. There must be at least one.
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
    fn equal_cells_add_up_their_degrees_of_freedom_and_halve_the_error_of_one() {
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
    fn a_mean_that_one_uncertain_cell_dominates_has_its_degrees_of_freedom() {
        let mean = mean_over_cells(&[cell(0.0, 100.0), cell(0.0, 0.1)]).expect("two cells");
        assert!((mean.df - 5.0).abs() < 0.001);
        assert_eq!(mean_over_cells(&[]), None);
    }

    fn ratio(cells: &[Uncertain]) -> MeanChange {
        MeanChange::from_relatives(cells).expect("there are cells")
    }

    #[test]
    fn a_half_and_a_double_cancel_each_other() {
        let mean = ratio(&[cell(-50.0, 1.0), cell(100.0, 4.0)]);
        assert!(mean.value().abs() < 1e-9, "{mean:?}");
        assert_eq!(MeanChange::from_relatives(&[]), None);
    }

    #[test]
    fn neither_an_uncertain_nor_a_suspiciously_certain_cell_dominates_the_mean() {
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
    fn an_event_that_was_never_seen_has_a_bound() {
        let Interval { low, high } = ratio(&[cell(-100.0, 10.0)]).interval(0.95);
        assert!(low > -100.0 && high > 0.0, "{low} {high}");
    }
}
