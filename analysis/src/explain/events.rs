//! What happens in polls, and how often: allocations, system calls and counted events.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use run_format::{BASELINE, EvidenceRow, OBJECTS, POLLS, Pass, Site};

use super::sums::{PassSums, apart, counted_once, is_slow};
use crate::load::CellEvidence;
use crate::measure::OWN;
use crate::stats::{CellEstimate, quotient};
use crate::text::quoted;

/// How often something happens, and its bytes or microseconds. None if there was no poll, or no request.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct EventRates {
    pub(crate) per_poll: Option<(f64, f64)>,
    /// In polls and outside them.
    pub(crate) per_request: Option<(f64, f64)>,
}

fn rates(count: u64, amount: f64, of: f64) -> Option<(f64, f64)> {
    Some((quotient(count as f64, of)?, quotient(amount, of)?))
}

/// By site and child: the polls of the child (for the site's own code, of the site), and the objects with their bytes.
pub(crate) fn allocations(
    evidence: &CellEvidence,
    variant: usize,
) -> BTreeMap<(Site, String), (u64, EventRates)> {
    let sums = PassSums::of(evidence, Pass::Allocations, variant);
    let totals = sums.by(&evidence.allocations, |row| {
        let child = row.child.as_deref().unwrap_or(OWN).to_owned();
        let [objects, bytes] = allocated(row);
        let polls = if row.what == POLLS { row.count } else { 0 };
        Some(((row.site?, child), [polls, objects, bytes]))
    });
    let averages = |(key, [polls, objects, bytes]): (_, [u64; 3])| {
        let rates = EventRates {
            per_poll: Some(rates(objects, bytes as f64, polls as f64)?),
            per_request: rates(objects, bytes as f64, sums.requests()),
        };
        Some((key, (polls, rates)))
    };
    totals.into_iter().filter_map(averages).collect()
}

/// Objects and bytes.
fn allocated(row: &EvidenceRow) -> [u64; 2] {
    match row.what == OBJECTS {
        true => [row.count, row.amount.unwrap_or(0)],
        false => [0, 0],
    }
}

/// Objects and bytes by function in sampled stacks of the baseline, of `site` and the swarm's; most objects first.
pub(crate) fn allocating_functions(evidence: &CellEvidence, site: Site) -> Vec<(String, [u64; 2])> {
    let sums = PassSums::of(evidence, Pass::Allocations, 0);
    let by_function = sums.by(&evidence.allocation_stacks, |row| {
        let function = allocating_frame(&row.what).to_owned();
        let is_one = apart(site).contains(&row.site?);
        is_one.then_some((function, [row.count, row.amount?]))
    });
    let mut functions = Vec::from_iter(by_function);
    functions.sort_by_key(|(_, [objects, _])| Reverse(*objects));
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
    let own = frames_inwards.find(is_own);
    own.or(innermost).unwrap_or("unknown")
}

/// One counter for one variant. A value that was not counted, or that would divide by zero, is absent.
pub(crate) struct CounterRates {
    pub(crate) per_poll: Option<f64>,
    pub(crate) per_slow_poll: Option<f64>,
    pub(crate) process_per_s: Option<f64>,
}

/// What a reading of the counters and a mean poll take, in µs, if counts by poll say nothing because of readings.
pub(crate) fn disturbing_reading(evidence: &CellEvidence, site: Site) -> Option<[f64; 2]> {
    const LEAST_PARTS: f64 = 100.0;
    let reading_ns = evidence.seen.counter_reading_ns? as f64;
    let [polls, ns] = PassSums::of(evidence, Pass::Normal, BASELINE).polls(site, 0);
    let poll_ns = quotient(ns as f64, polls as f64)?;
    (reading_ns * LEAST_PARTS > poll_ns).then_some([reading_ns / 1e3, poll_ns / 1e3])
}

pub(crate) fn counters(
    evidence: &CellEvidence,
    variant: usize,
    site: Site,
    slow_from_ns: Option<u64>,
) -> BTreeMap<String, CounterRates> {
    let sums = PassSums::of(evidence, Pass::Counters, variant);
    let from_ns = slow_from_ns.unwrap_or(u64::MAX);
    let counted = |is_one: &dyn Fn(&EvidenceRow) -> bool| {
        sums.by(&evidence.counters, |row| {
            is_one(row).then_some((&*row.what, [row.count]))
        })
    };
    let in_polls = counted(&|row| row.site == Some(site));
    let in_slow = counted(&|row| row.site == Some(site) && is_slow(row.from_ns, from_ns));
    let in_process = counted(&|row| row.site.is_none());
    let polls = |from_ns| sums.polls(site, from_ns)[0] as f64;
    let rates = counted(&|_| true).into_keys().map(|counter| {
        let per = |counts: &BTreeMap<&str, [u64; 1]>, whole| {
            let [count] = counts.get(counter)?;
            quotient(*count as f64, whole)
        };
        let rates = CounterRates {
            per_poll: per(&in_polls, polls(0)),
            per_slow_poll: per(&in_slow, polls(from_ns)),
            process_per_s: per(&in_process, sums.seconds()),
        };
        (counter.to_owned(), rates)
    });
    rates.collect()
}

const WAITING: [&str; 13] = [
    "clock_nanosleep",
    "epoll_pwait",
    "epoll_pwait2",
    "epoll_wait",
    "futex_wait",
    "nanosleep",
    "pause",
    "poll",
    "ppoll",
    "pselect6",
    "sched_yield",
    "select",
    "wait4",
];

pub(crate) struct WaitingChild {
    pub(crate) child: String,
    pub(crate) call: String,
    pub(crate) percent: f64,
    pub(crate) us_per_call: f64,
    pub(crate) slow_polls: u64,
    pub(crate) calls: u64,
}

/// How often each is called, with its microseconds. The call with the most time comes first.
pub(crate) fn system_calls(
    evidence: &CellEvidence,
    variant: usize,
    site: Site,
) -> Vec<(String, EventRates)> {
    let sums = PassSums::of(evidence, Pass::SystemCalls, variant);
    let sites = sums.by(&evidence.system_calls, |row| Some((row.site, [])));
    let is_counted = counted_once(sites.into_keys());
    let totals = sums.by(&evidence.system_calls, |row| {
        let (calls, ns) = (row.count, row.amount?);
        let [here, once] = [row.site == Some(site), is_counted(row.site)].map(u64::from);
        let sums = [here * calls, here * ns, once * calls, once * ns];
        Some((&*row.what, sums))
    });
    let polls = sums.polls(site, 0)[0] as f64;
    let mut sorted = Vec::from_iter(totals);
    sorted.sort_by_key(|(_, total)| Reverse(total[1].max(total[3])));
    let called = |(name, [calls, ns, of_all, ns_of_all]): (&str, [u64; 4])| {
        let called = EventRates {
            per_poll: rates(calls, ns as f64 / 1000.0, polls),
            per_request: rates(of_all, ns_of_all as f64 / 1000.0, sums.requests()),
        };
        (name.to_owned(), called)
    };
    sorted.into_iter().map(called).collect()
}

/// Per request: objects and bytes in polls, all system calls, and each of these.
pub(crate) fn by_request(
    evidence: &CellEvidence,
    variant: usize,
    calls: &[&str],
) -> Vec<(String, Option<CellEstimate>)> {
    let of = |pass| PassSums::of(evidence, pass, variant);
    let (of_allocations, of_calls) = (of(Pass::Allocations), of(Pass::SystemCalls));
    let rows = &evidence.allocations;
    let [objects, bytes] =
        [0, 1].map(|at| of_allocations.per_request(rows, |row| (row.site, allocated(row)[at])));
    let called = |name: Option<&str>| {
        of_calls.per_request(&evidence.system_calls, |row| {
            let is_it = name.is_none_or(|name| row.what == name);
            (row.site, if is_it { row.count } else { 0 })
        })
    };
    let mut counted = vec![
        ("allocations in polls".to_owned(), objects),
        ("bytes of these".to_owned(), bytes),
        ("system calls".to_owned(), called(None)),
    ];
    counted.extend(calls.iter().map(|name| (quoted(name), called(Some(name)))));
    counted
}

pub(crate) fn waiting(evidence: &CellEvidence, site: Site, from_ns: u64) -> Option<WaitingChild> {
    let sums = PassSums::of(evidence, Pass::SystemCalls, 0);
    // By child and call: how many, and their time.
    let mut slow = sums.by(&evidence.system_calls, |row| {
        let is_one = row.site == Some(site) && is_slow(row.from_ns, from_ns);
        is_one.then_some(((row.child.as_deref(), &*row.what), [row.count, row.amount?]))
    });
    let [slow_polls, slow_ns] = sums.polls(site, from_ns);
    let calls: u64 = slow.values().map(|[calls, _]| calls).sum();
    let overhead_ns = calls * evidence.seen.system_call_overhead_ns.unwrap_or(0);
    slow.retain(|(_, call), _| WAITING.contains(call));
    let mut by_child: BTreeMap<Option<&str>, u64> = BTreeMap::new();
    for ((child, _), [_, ns]) in &slow {
        *by_child.entry(*child).or_default() += ns;
    }
    let (child, waited_ns) = by_child.into_iter().max_by_key(|(_, ns)| *ns)?;
    let calls = slow.iter().filter(|((of, _), _)| *of == child);
    let ((_, call), [count, in_call]) = calls.max_by_key(|(_, [_, ns])| *ns)?;
    Some(WaitingChild {
        child: child.unwrap_or(OWN).to_owned(),
        call: (*call).to_owned(),
        percent: 100.0 * quotient(waited_ns as f64, slow_ns.saturating_sub(overhead_ns) as f64)?,
        us_per_call: quotient(*in_call as f64 / 1000.0, *count as f64)?,
        slow_polls,
        calls: *count,
    })
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
