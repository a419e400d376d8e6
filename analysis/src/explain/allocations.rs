//! What was allocated, where, and by which functions.

use std::collections::BTreeMap;

use super::sums::{Sums, apart, by, child_name};
use crate::{
    load::explain::cell::{CellEvidence, Pass},
    site::Site,
};

/// Of a child's polls under one variant.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Allocated {
    pub(crate) polls: u64,
    /// By poll of the child, or of the site where it is the site's own code.
    pub(crate) objects_per_poll: f64,
    pub(crate) bytes_per_poll: f64,
    /// Absent where no request was answered.
    pub(crate) objects_per_request: Option<f64>,
    pub(crate) bytes_per_request: Option<f64>,
}

/// A function, and what it allocated of all objects in polls.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Allocator {
    pub(crate) function: String,
    pub(crate) objects: u64,
    pub(crate) percent: f64,
    pub(crate) bytes: u64,
}

/// By site and child.
pub(crate) fn by_child(
    evidence: &CellEvidence,
    variant: usize,
) -> BTreeMap<(Site, String), Allocated> {
    let Some(sums) = Sums::of(evidence, &[Pass::Allocations], variant) else {
        return BTreeMap::new();
    };
    let mut totals: BTreeMap<(Site, String), [u64; 3]> = BTreeMap::new();
    for row in evidence.allocations.iter().filter(|it| sums.has(it.slice)) {
        let Some(site) = row.place.site else { continue };
        let key = (site, child_name(&row.place.child).to_owned());
        let total = totals.entry(key).or_default();
        total[0] += row.polls.unwrap_or(0);
        total[1] += row.objects;
        total[2] += row.bytes;
    }
    let requests = sums.requests() as f64;
    let averages = |(key, [polls, objects, bytes]): (_, [u64; 3])| {
        let of = Allocated {
            polls,
            objects_per_poll: by(objects as f64, polls as f64)?,
            bytes_per_poll: by(bytes as f64, polls as f64)?,
            objects_per_request: by(objects as f64, requests),
            bytes_per_request: by(bytes as f64, requests),
        };
        Some((key, of))
    };
    totals.into_iter().filter_map(averages).collect()
}

/// The functions with the most objects first, by samples of the polls of `site` and the swarm's.
pub(crate) fn functions(evidence: &CellEvidence, variant: usize, site: Site) -> Vec<Allocator> {
    let Some(sums) = Sums::of(evidence, &[Pass::Allocations], variant) else {
        return Vec::new();
    };
    let sites = apart(site);
    let is_one = |of: Option<Site>| of.is_some_and(|of| sites.contains(&of));
    let mut by_function: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    let rows = evidence.allocation_stacks.iter();
    for row in rows.filter(|it| sums.has(it.slice) && is_one(it.site)) {
        let sum = by_function
            .entry(who_asks(&row.frames).to_owned())
            .or_default();
        sum.0 += row.objects;
        sum.1 += row.bytes;
    }
    let all: u64 = by_function.values().map(|(objects, _)| objects).sum();
    let mut functions: Vec<Allocator> = by_function
        .into_iter()
        .map(|(function, (objects, bytes))| Allocator {
            function,
            objects,
            percent: 100.0 * objects as f64 / (all as f64).max(1.0),
            bytes,
        })
        .collect();
    functions.sort_by_key(|it| std::cmp::Reverse(it.objects));
    functions
}

/// The innermost function that is not part of the language's own collections: whose doing it is.
fn who_asks(frames: &str) -> &str {
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
    fn what_a_vector_does_is_the_doing_of_who_fills_it() {
        let frames = "Connection::poll;yamux::frame::encode;alloc::vec::Vec::push;alloc::raw_vec::finish_grow";
        assert_eq!(who_asks(frames), "yamux::frame::encode");
        assert_eq!(who_asks("alloc::alloc::alloc"), "alloc::alloc::alloc");
        assert_eq!(
            who_asks("a;<alloc::vec::Vec as core::iter::Extend>::extend"),
            "a"
        );
        assert_eq!(who_asks(""), "unknown");
    }
}
