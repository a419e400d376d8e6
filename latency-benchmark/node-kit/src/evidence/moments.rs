//! Sums of what was seen at moments, by its place in the polls.

use std::{collections::BTreeMap, ops::Range};

use crate::observe::whole_polls::{PollPlace, WholePolls};

/// What was seen since the last slice, and when.
pub(super) type Moments<T> = Vec<(u64, T)>;

/// Sums what is from the slice. `counted` tells by what, and how much it is at a place in the polls.
pub(super) fn summed<T, K: Ord, const N: usize>(
    seen: &mut Moments<T>,
    window_ns: &Range<u64>,
    polls: &WholePolls,
    mut counted: impl FnMut(PollPlace, &T) -> (K, [u64; N]),
) -> BTreeMap<K, [u64; N]> {
    let mut sums = BTreeMap::new();
    for (at_ns, what) in seen
        .drain(..)
        .filter(|(at_ns, _)| window_ns.contains(at_ns))
    {
        for place in polls.places(at_ns) {
            let (by, counts) = counted(place, &what);
            add(sums.entry(by).or_insert([0; N]), counts);
        }
    }
    sums
}

pub(super) fn add<const N: usize>(sums: &mut [u64; N], counts: [u64; N]) {
    for (sum, count) in sums.iter_mut().zip(counts) {
        *sum += count;
    }
}
