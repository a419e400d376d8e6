//! The mean over cells.

use super::{uncertain::Uncertain, variance::Variance};

/// The mean over these cells, each with the same weight. Their errors are independent. It describes the cells
/// that were measured and no others. None without any.
pub(crate) fn mean_over_cells(cells: &[Uncertain]) -> Option<Uncertain> {
    let count = cells.len() as f64;
    let sum: f64 = cells.iter().map(|cell| cell.value).sum();
    let of_sum = cells
        .iter()
        .map(Variance::of_error)
        .reduce(Variance::plus)?;
    Some(of_sum.scaled(1.0 / count).of(sum / count))
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
}
