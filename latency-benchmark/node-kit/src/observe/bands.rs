//! Buckets of a poll's duration. Iterations and children are counted in them, so that the threshold for a slow
//! poll can be chosen when reading, from the lower ends of these buckets.

/// The lower end of each bucket.
pub(crate) const BANDS_FROM_NS: [u64; 10] = [
    0, 10_000, 25_000, 50_000, 75_000, 100_000, 150_000, 200_000, 500_000, 1_000_000,
];

pub(crate) fn band_of(duration_ns: u64) -> usize {
    BANDS_FROM_NS.partition_point(|from| *from <= duration_ns) - 1
}

/// The lower end of the bucket of a duration.
pub(crate) fn band_from_ns(duration_ns: u64) -> u64 {
    BANDS_FROM_NS[band_of(duration_ns)]
}

/// The lower end of each bucket of the time from a change of variant to a poll.
pub(crate) const AFTER_SWITCH_FROM_MS: [u64; 10] = [0, 2, 5, 10, 20, 50, 100, 200, 500, 1000];

/// The bucket of that time.
pub(crate) fn after_switch(after_ns: u64) -> usize {
    AFTER_SWITCH_FROM_MS.partition_point(|from| from * 1_000_000 <= after_ns) - 1
}
