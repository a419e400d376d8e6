//! How often each value was seen, as the statistics take it: values ascending, each the lower end of its
//! bucket in a histogram of three significant digits.

use crate::stats::Counts;

/// What is read off counts by a limit.
pub(crate) trait AboveLimit {
    fn total(&self) -> u64;

    /// How many values are above the bucket of `limit`.
    fn above(&self, limit: u64) -> u64;

    /// The sum of those.
    fn sum_above(&self, limit: u64) -> u64;
}

impl AboveLimit for Counts {
    fn total(&self) -> u64 {
        self.iter().map(|(_, count)| count).sum()
    }

    fn above(&self, limit: u64) -> u64 {
        over(self, limit).iter().map(|(_, count)| count).sum()
    }

    fn sum_above(&self, limit: u64) -> u64 {
        let over = over(self, limit).iter();
        over.map(|(value, count)| value * count).sum()
    }
}

fn over(counts: &[(u64, u64)], limit: u64) -> &[(u64, u64)] {
    &counts[counts.partition_point(|(value, _)| *value <= limit)..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_cut_at_a_limit() {
        let counts: Counts = vec![(10, 3), (30, 1), (50, 4)];
        assert_eq!(
            (counts.total(), counts.above(30), counts.sum_above(10)),
            (8, 4, 230)
        );
        assert_eq!(counts.above(9), 8);
    }
}
