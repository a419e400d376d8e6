//! What the worker's counters counted in polls, and over all.

use std::collections::BTreeMap;

use super::sums::{Sums, by};
use crate::{
    load::explain::{
        cell::{CellEvidence, Pass},
        tables::{Counter, Scope},
    },
    site::Site,
};

/// One counter under one variant. What was not counted, or of what there was none, is absent.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Counted {
    pub(crate) per_poll: Option<f64>,
    pub(crate) per_slow_poll: Option<f64>,
    pub(crate) process_per_s: Option<f64>,
}

/// By counter; polls are those of `site`.
pub(crate) fn of(
    evidence: &CellEvidence,
    variant: usize,
    site: Site,
    slow_from_ns: Option<u64>,
) -> BTreeMap<String, Counted> {
    let Some(sums) = Sums::of(evidence, &[Pass::Counters], variant) else {
        return BTreeMap::new();
    };
    let rows = evidence.counters.iter();
    let rows: Vec<&Counter> = rows.filter(|it| sums.has(it.slice)).collect();
    let mut names: Vec<&String> = rows.iter().map(|it| &it.counter).collect();
    names.sort();
    names.dedup();
    let polls = sums.polls(site, 0).0 as f64;
    let counted = |name: &String| {
        let total = |is_one: &dyn Fn(&Counter) -> bool| {
            let rows = rows.iter().filter(|it| it.counter == *name && is_one(it));
            let counts = rows.map(|it| it.count as f64);
            counts.reduce(|sum, more| sum + more)
        };
        let in_polls = |it: &Counter| it.scope == Scope::Poll && it.place.site == Some(site);
        let slow = slow_from_ns.and_then(|from_ns| {
            let slow = sums.polls(site, from_ns).0 as f64;
            by(
                total(&|it| in_polls(it) && it.place.is_slow(from_ns))?,
                slow,
            )
        });
        let per_s = |scope| by(total(&|it| it.scope == scope)?, sums.seconds());
        Counted {
            per_poll: total(&in_polls).and_then(|count| by(count, polls)),
            per_slow_poll: slow,
            process_per_s: per_s(Scope::Process),
        }
    };
    names
        .into_iter()
        .map(|name| (name.clone(), counted(name)))
        .collect()
}
