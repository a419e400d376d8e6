//! Correction for the number of comparisons: among many cells, some seem changed by chance.

/// The false discovery rate: the greatest expected share of changes called resolved that are no changes.
pub(crate) const RESOLVED: f64 = 0.05;

/// Benjamini and Hochberg's. If all changes up to some adjusted p-value are called resolved, the expected share of false
/// ones among them is at most that value. A family is all measured cells of one variant, metric and site.
pub(crate) fn adjusted_p_values(p_values: &[Option<f64>]) -> Vec<Option<f64>> {
    let tested = p_values.iter().enumerate();
    let tested = tested.filter_map(|(cell, p)| Some((cell, (*p)?)));
    let mut tested: Vec<(usize, f64)> = tested.collect();
    tested.sort_by(|(_, a), (_, b)| b.total_cmp(a));
    let count = tested.len() as f64;
    let mut adjusted = vec![None; p_values.len()];
    let mut lowest = 1.0_f64;
    for (larger, (cell, p)) in tested.into_iter().enumerate() {
        // A smaller p-value is not adjusted to more than a larger one.
        lowest = lowest.min(p * count / (count - larger as f64));
        adjusted[cell] = Some(lowest);
    }
    adjusted
}

pub(crate) fn is_resolved(adjusted_p_value: f64) -> bool {
    adjusted_p_value <= RESOLVED
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p_values_are_adjusted_by_their_rank() {
        let adjusted = adjusted_p_values(&[Some(0.04), Some(0.01), None, Some(0.03), Some(0.005)]);
        assert_eq!(adjusted[2], None);
        let expected = [0.04, 0.02, 0.04, 0.02];
        for (adjusted, expected) in adjusted.into_iter().flatten().zip(expected) {
            assert!((adjusted - expected).abs() < 1e-12, "{adjusted} {expected}");
        }
    }

    #[test]
    fn one_cell_alone_is_not_adjusted() {
        assert_eq!(adjusted_p_values(&[None, Some(0.05)]), [None, Some(0.05)]);
        assert!(is_resolved(0.05) && !is_resolved(0.0501));
        assert!(adjusted_p_values(&[]).is_empty());
    }
}
