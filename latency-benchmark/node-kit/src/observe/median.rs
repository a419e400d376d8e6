/// The median of repeated timings, which one that was interrupted does not change. Their number is odd.
pub(crate) fn median<T: Ord + Copy>(mut timings: Vec<T>) -> T {
    timings.sort_unstable();
    timings[timings.len() / 2]
}
