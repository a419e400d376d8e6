//! The counters of the worker thread, in polls and in total.

use std::collections::BTreeMap;

use run_format::{
    Site,
    evidence::{CounterRow, CounterScope},
    tables::Pass,
};

use super::sums::{PassSums, by, is_slow};
use crate::load::explain::cell::CellEvidence;

/// One counter for one variant. A value that was not counted, or that would divide by zero, is absent.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct CounterRates {
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
) -> BTreeMap<String, CounterRates> {
    let Some(sums) = PassSums::of(evidence, &[Pass::Counters], variant) else {
        return BTreeMap::new();
    };
    let rows = evidence.counters.iter();
    let rows: Vec<&CounterRow> = rows.filter(|it| sums.has(it.slice)).collect();
    let mut names: Vec<&String> = rows.iter().map(|it| &it.counter).collect();
    names.sort();
    names.dedup();
    let polls = sums.polls(site, 0).0 as f64;
    let counted = |name: &String| {
        let total = |is_one: &dyn Fn(&CounterRow) -> bool| {
            let rows = rows.iter().filter(|it| it.counter == *name && is_one(it));
            let counts = rows.map(|it| it.count as f64);
            counts.reduce(|sum, more| sum + more)
        };
        let in_polls = |it: &CounterRow| it.scope == CounterScope::Poll && it.site == Some(site);
        let slow = slow_from_ns.and_then(|from_ns| {
            let slow = sums.polls(site, from_ns).0 as f64;
            by(
                total(&|it| in_polls(it) && is_slow(it.from_ns, from_ns))?,
                slow,
            )
        });
        let per_s = |scope| by(total(&|it| it.scope == scope)?, sums.seconds());
        CounterRates {
            per_poll: total(&in_polls).and_then(|count| by(count, polls)),
            per_slow_poll: slow,
            process_per_s: per_s(CounterScope::Process),
        }
    };
    names
        .into_iter()
        .map(|name| (name.clone(), counted(name)))
        .collect()
}
