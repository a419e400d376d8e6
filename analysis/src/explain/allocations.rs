//! Allocations by child and by function.

use std::collections::BTreeMap;

use run_format::{Site, tables::Pass};

use super::sums::{EventRates, PassSums, apart, both_by, child_name};
use crate::load::explain::cell::CellEvidence;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct AllocatingFunction {
    pub(crate) function: String,
    pub(crate) objects: u64,
    pub(crate) percent: f64,
    pub(crate) bytes: u64,
}

/// By site and child: the polls of the child (for the site's own code, of the site), and the objects with their bytes.
pub(crate) fn by_child(
    evidence: &CellEvidence,
    variant: usize,
) -> BTreeMap<(Site, String), (u64, EventRates)> {
    let Some(sums) = PassSums::of(evidence, &[Pass::Allocations], variant) else {
        return BTreeMap::new();
    };
    let mut totals: BTreeMap<(Site, String), [u64; 3]> = BTreeMap::new();
    for row in evidence.allocations.iter().filter(|it| sums.has(it.slice)) {
        let Some(site) = row.site else { continue };
        let key = (site, child_name(row.child.as_deref()).to_owned());
        let total = totals.entry(key).or_default();
        total[0] += row.polls.unwrap_or(0);
        total[1] += row.objects;
        total[2] += row.bytes;
    }
    let averages = |(key, [polls, objects, bytes]): (_, [u64; 3])| {
        let all = (objects as f64, bytes as f64);
        let rates = EventRates {
            per_poll: Some(both_by(all, polls as f64)?),
            per_request: both_by(all, sums.requests() as f64),
        };
        Some((key, (polls, rates)))
    };
    totals.into_iter().filter_map(averages).collect()
}

/// From stacks sampled in polls of `site` and of the swarm's site, for the baseline. The functions with the most objects come first.
pub(crate) fn functions(evidence: &CellEvidence, site: Site) -> Vec<AllocatingFunction> {
    let Some(sums) = PassSums::of(evidence, &[Pass::Allocations], 0) else {
        return Vec::new();
    };
    let sites = apart(site);
    let is_one = |of: Option<Site>| of.is_some_and(|of| sites.contains(&of));
    let mut by_function: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    let rows = evidence.allocation_stacks.iter();
    for row in rows.filter(|it| sums.has(it.slice) && is_one(it.site)) {
        let sum = by_function
            .entry(allocating_frame(&row.stack).to_owned())
            .or_default();
        sum.0 += row.objects;
        sum.1 += row.bytes;
    }
    let all: u64 = by_function.values().map(|(objects, _)| objects).sum();
    let mut functions: Vec<AllocatingFunction> = by_function
        .into_iter()
        .map(|(function, (objects, bytes))| AllocatingFunction {
            function,
            objects,
            percent: 100.0 * objects as f64 / (all as f64).max(1.0),
            bytes,
        })
        .collect();
    functions.sort_by_key(|it| std::cmp::Reverse(it.objects));
    functions
}

/// The innermost function outside the standard library: the code that decides to allocate.
fn allocating_frame(frames: &str) -> &str {
    const OF_THE_LANGUAGE: [&str; 5] = ["alloc::", "core::", "std::", "hashbrown::", "__"];
    let is_own = |frame: &&str| {
        let bare = frame.trim_start_matches(['<', '&']);
        !frame.is_empty()
            && !matches!(bare, "malloc" | "calloc" | "realloc")
            && !OF_THE_LANGUAGE.iter().any(|it| bare.starts_with(it))
    };
    let mut frames_inwards = frames.rsplit(';');
    let innermost = frames_inwards.clone().find(|it| !it.is_empty());
    frames_inwards
        .find(is_own)
        .or(innermost)
        .unwrap_or("unknown")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn allocations_of_a_collection_are_those_of_its_caller() {
        let frames = "Connection::poll;yamux::frame::encode;alloc::vec::Vec::push;alloc::raw_vec::finish_grow";
        assert_eq!(allocating_frame(frames), "yamux::frame::encode");
        assert_eq!(
            allocating_frame("alloc::alloc::alloc"),
            "alloc::alloc::alloc"
        );
        assert_eq!(
            allocating_frame("a;<alloc::vec::Vec as core::iter::Extend>::extend"),
            "a"
        );
        assert_eq!(allocating_frame(""), "unknown");
    }
}
