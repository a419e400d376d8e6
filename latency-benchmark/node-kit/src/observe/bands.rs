//! Buckets of a poll's duration, and of the time since a change of variant.

use run_format::tables::BANDS_FROM_NS;

/// The lower end of the bucket of a duration.
pub(crate) fn band_from_ns(duration_ns: u64) -> u64 {
    BANDS_FROM_NS[BANDS_FROM_NS.partition_point(|from| *from <= duration_ns) - 1]
}

/// The lower end of each bucket of the time from a change of variant to a poll.
pub(crate) const AFTER_SWITCH_FROM_MS: [u64; 10] = [0, 2, 5, 10, 20, 50, 100, 200, 500, 1000];

pub(crate) fn after_switch(after_ns: u64) -> usize {
    AFTER_SWITCH_FROM_MS.partition_point(|from| from * 1_000_000 <= after_ns) - 1
}
