//! System calls in polls, and the kernel's share of slow polls.

use std::collections::BTreeMap;

use run_format::{Site, evidence::SystemCallRow, tables::Pass};

use super::{
    stacks,
    sums::{EventRates, OutermostSite, PassSums, both_by, by, child_name, is_slow},
};
use crate::load::explain::cell::CellEvidence;

/// System calls that wait.
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

/// The kernel's share of the time of slow polls, in percent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct KernelShare {
    /// From the durations of system calls. The cost of observing them is subtracted from the time of the polls.
    pub(crate) by_calls: f64,
    /// From stack samples.
    pub(crate) by_stacks: Option<f64>,
}

/// The child that waits most in slow polls.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct WaitingChild {
    pub(crate) child: String,
    /// The call with the most time.
    pub(crate) call: String,
    /// The share of the time of the site's slow polls.
    pub(crate) percent: f64,
    pub(crate) us_per_call: f64,
    pub(crate) slow_polls: u64,
    pub(crate) calls: u64,
}

/// How often each is called, with its microseconds. The call with the most time comes first.
pub(crate) fn by_name(
    evidence: &CellEvidence,
    variant: usize,
    site: Site,
) -> Vec<(String, EventRates)> {
    let Some(sums) = PassSums::of(evidence, &[Pass::SystemCalls], variant) else {
        return Vec::new();
    };
    let rows = evidence.system_calls.iter();
    let rows: Vec<&SystemCallRow> = rows.filter(|it| sums.has(it.slice)).collect();
    let once = OutermostSite::of(rows.iter().map(|it| it.site));
    let mut totals: BTreeMap<&str, [u64; 4]> = BTreeMap::new();
    for row in rows {
        let total = totals.entry(&*row.call).or_default();
        if row.site == Some(site) {
            total[0] += row.calls;
            total[1] += row.ns;
        }
        if once.counts(row.site) {
            total[2] += row.calls;
            total[3] += row.ns;
        }
    }
    let (polls, requests) = (sums.polls(site, 0).0 as f64, sums.requests() as f64);
    let mut sorted: Vec<(&str, [u64; 4])> = totals.into_iter().collect();
    sorted.sort_by_key(|(_, total)| std::cmp::Reverse(total[1].max(total[3])));
    let called = |(name, [calls, ns, of_all, ns_of_all]): (&str, [u64; 4])| {
        let rates = |calls: u64, ns: u64, of| both_by((calls as f64, ns as f64 / 1000.0), of);
        let called = EventRates {
            per_poll: rates(calls, ns, polls),
            per_request: rates(of_all, ns_of_all, requests),
        };
        (name.to_owned(), called)
    };
    sorted.into_iter().map(called).collect()
}

/// For slow polls of `site`. None without slow polls or without any system call.
pub(crate) fn kernel_share(
    evidence: &CellEvidence,
    site: Site,
    from_ns: u64,
) -> Option<KernelShare> {
    let slow = SlowCalls::of(evidence, site, from_ns)?;
    if evidence.system_calls.is_empty() {
        return None;
    }
    let ns: u64 = slow.rows.iter().map(|it| it.ns).sum();
    Some(KernelShare {
        by_calls: 100.0 * by(ns as f64, slow.time_ns)?,
        by_stacks: stacks::in_kernel_percent(evidence, site, from_ns),
    })
}

struct SlowCalls<'a> {
    rows: Vec<&'a SystemCallRow>,
    polls: u64,
    /// The time of those polls, without the cost of observing their system calls.
    time_ns: f64,
}

impl SlowCalls<'_> {
    fn of(evidence: &CellEvidence, site: Site, from_ns: u64) -> Option<SlowCalls<'_>> {
        let sums = PassSums::of(evidence, &[Pass::SystemCalls], 0)?;
        let is_one = |it: &&SystemCallRow| {
            sums.has(it.slice) && it.site == Some(site) && is_slow(it.from_ns, from_ns)
        };
        let rows: Vec<&SystemCallRow> = evidence.system_calls.iter().filter(is_one).collect();
        let (polls, ns) = sums.polls(site, from_ns);
        let calls: u64 = rows.iter().map(|it| it.calls).sum();
        let overhead_ns = evidence.seen.system_call_overhead_ns.unwrap_or(0);
        Some(SlowCalls {
            rows,
            polls,
            time_ns: (ns as f64 - (calls * overhead_ns) as f64).max(0.0),
        })
    }
}

/// For slow polls of `site`.
pub(crate) fn waiting(evidence: &CellEvidence, site: Site, from_ns: u64) -> Option<WaitingChild> {
    let slow = SlowCalls::of(evidence, site, from_ns)?;
    let mut by_child: BTreeMap<Option<&str>, BTreeMap<&str, (u64, u64)>> = BTreeMap::new();
    for row in slow.rows {
        if WAITING.contains(&&*row.call) {
            let by_call = by_child.entry(row.child.as_deref()).or_default();
            let sum = by_call.entry(&*row.call).or_default();
            sum.0 += row.calls;
            sum.1 += row.ns;
        }
    }
    let of_child =
        |by_call: &BTreeMap<&str, (u64, u64)>| -> u64 { by_call.values().map(|(_, ns)| ns).sum() };
    let (child, by_call) = by_child
        .iter()
        .max_by_key(|(_, by_call)| of_child(by_call))?;
    let (call, (count, in_call)) = by_call.iter().max_by_key(|(_, (_, ns))| *ns)?;
    Some(WaitingChild {
        child: child_name(*child).to_owned(),
        call: (*call).to_owned(),
        percent: 100.0 * by(of_child(by_call) as f64, slow.time_ns)?,
        us_per_call: by(*in_call as f64 / 1000.0, *count as f64)?,
        slow_polls: slow.polls,
        calls: *count,
    })
}
