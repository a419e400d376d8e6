//! What polls ask of the kernel, and how much of slow polls is its doing.

use std::collections::BTreeMap;

use super::{
    stacks,
    sums::{Once, Sums, by, child_name},
};
use crate::{
    load::explain::{
        cell::{CellEvidence, Pass},
        tables::SystemCalls,
    },
    site::Site,
};

/// Calls that are there to wait.
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

/// One call under one variant.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Called {
    /// By poll of the site, and their time.
    pub(crate) per_poll: Option<f64>,
    pub(crate) us_per_poll: Option<f64>,
    /// By request, whether in a poll or not.
    pub(crate) per_request: Option<f64>,
    pub(crate) us_per_request: Option<f64>,
}

/// How much of slow polls is the kernel's, in percent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Share {
    /// By the time of system calls, with what it took to see them taken off that of the polls.
    pub(crate) by_calls: f64,
    /// By samples that were inside a system call.
    pub(crate) by_stacks: Option<f64>,
}

/// Time that slow polls wait in, by site and child.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Waiting {
    pub(crate) site: Site,
    pub(crate) child: String,
    /// The call with the most time.
    pub(crate) call: String,
    /// Of the time of the site's slow polls.
    pub(crate) percent: f64,
    pub(crate) us_per_call: f64,
    pub(crate) slow_polls: u64,
    /// Of that call.
    pub(crate) calls: u64,
}

/// The call with the most time first.
pub(crate) fn by_name(
    evidence: &CellEvidence,
    variant: usize,
    site: Site,
) -> Vec<(String, Called)> {
    let Some(sums) = Sums::of(evidence, &[Pass::SystemCalls], variant) else {
        return Vec::new();
    };
    let rows = evidence.system_calls.iter();
    let rows: Vec<&SystemCalls> = rows.filter(|it| sums.has(it.slice)).collect();
    let once = Once::of(rows.iter().map(|it| it.place.site));
    let mut totals: BTreeMap<&str, [u64; 4]> = BTreeMap::new();
    for row in rows {
        let total = totals.entry(row.call.as_str()).or_default();
        if row.place.site == Some(site) {
            total[0] += row.calls;
            total[1] += row.ns;
        }
        if once.counts(row.place.site) {
            total[2] += row.calls;
            total[3] += row.ns;
        }
    }
    let (polls, requests) = (sums.polls(site, 0).0 as f64, sums.requests() as f64);
    let mut sorted: Vec<(&str, [u64; 4])> = totals.into_iter().collect();
    sorted.sort_by_key(|(_, total)| std::cmp::Reverse(total[1].max(total[3])));
    let called = |(name, [calls, ns, of_all, ns_of_all]): (&str, [u64; 4])| {
        let called = Called {
            per_poll: by(calls as f64, polls),
            us_per_poll: by(ns as f64 / 1000.0, polls),
            per_request: by(of_all as f64, requests),
            us_per_request: by(ns_of_all as f64 / 1000.0, requests),
        };
        (name.to_owned(), called)
    };
    sorted.into_iter().map(called).collect()
}

/// Of slow polls of `site`. None where there was no slow poll, or no call was seen at all.
pub(crate) fn kernel_share(
    evidence: &CellEvidence,
    variant: usize,
    site: Site,
    from_ns: u64,
) -> Option<Share> {
    let sums = Sums::of(evidence, &[Pass::SystemCalls], variant)?;
    if evidence.system_calls.is_empty() {
        return None;
    }
    let rows = evidence.system_calls.iter().filter(|it| {
        sums.has(it.slice) && it.place.site == Some(site) && it.place.is_slow(from_ns)
    });
    let (calls, ns) = rows.fold((0, 0), |(calls, ns), it| (calls + it.calls, ns + it.ns));
    let time = without_overhead(evidence, sums.polls(site, from_ns).1, calls);
    Some(Share {
        by_calls: 100.0 * by(ns as f64, time)?,
        by_stacks: stacks::in_kernel_percent(evidence, variant, site, from_ns),
    })
}

/// The time of polls without what it took to see their calls.
fn without_overhead(evidence: &CellEvidence, ns: u64, calls: u64) -> f64 {
    let overhead = evidence.seen.system_call_overhead_ns.unwrap_or(0.0);
    (ns as f64 - calls as f64 * overhead).max(0.0)
}

/// The child of `site` that waits most in its slow polls.
pub(crate) fn waiting(
    evidence: &CellEvidence,
    variant: usize,
    site: Site,
    from_ns: u64,
) -> Option<Waiting> {
    let sums = Sums::of(evidence, &[Pass::SystemCalls], variant)?;
    let slow = evidence.system_calls.iter().filter(|it| {
        sums.has(it.slice) && it.place.site == Some(site) && it.place.is_slow(from_ns)
    });
    let mut calls = 0;
    let mut by_child: BTreeMap<&str, BTreeMap<&str, (u64, u64)>> = BTreeMap::new();
    for row in slow {
        calls += row.calls;
        if WAITING.contains(&row.call.as_str()) {
            let by_call = by_child.entry(row.place.child.as_str()).or_default();
            let sum = by_call.entry(row.call.as_str()).or_default();
            sum.0 += row.calls;
            sum.1 += row.ns;
        }
    }
    let (polls, ns) = sums.polls(site, from_ns);
    let time = without_overhead(evidence, ns, calls);
    let of_child =
        |by_call: &BTreeMap<&str, (u64, u64)>| -> u64 { by_call.values().map(|(_, ns)| ns).sum() };
    let (child, by_call) = by_child
        .iter()
        .max_by_key(|(_, by_call)| of_child(by_call))?;
    let (call, (count, in_call)) = by_call.iter().max_by_key(|(_, (_, ns))| *ns)?;
    Some(Waiting {
        site,
        child: child_name(child).to_owned(),
        call: (*call).to_owned(),
        percent: 100.0 * by(of_child(by_call) as f64, time)?,
        us_per_call: by(*in_call as f64 / 1000.0, *count as f64)?,
        slow_polls: polls,
        calls: *count,
    })
}
