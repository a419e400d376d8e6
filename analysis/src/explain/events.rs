//! What happens in polls, and how often: allocations, system calls and counted events.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use run_format::{BASELINE, EvidenceRow, OBJECTS, POLLS, Pass, Site};

use super::sums::{PassSums, apart, counted_once, is_slow};
use super::thresholds::{FEWEST_SLOW_POLLS, FEWEST_WAITS};
use crate::load::CellEvidence;
use crate::load::explain::SlowPolls;
use crate::measure::OWN;
use crate::stats::{CellEstimate, Share, quotient};
use crate::text::{number, quoted};

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

/// Objects and bytes.
fn allocated(row: &EvidenceRow) -> [u64; 2] {
    match row.what == OBJECTS {
        true => [row.count, row.amount.unwrap_or(0)],
        false => [0, 0],
    }
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

impl CellEvidence {
    /// By site and child: the polls of the child (for the site's own code, of the site), and the objects with their bytes.
    pub(crate) fn allocation_rates(
        &self,
        variant: usize,
    ) -> BTreeMap<(Site, String), (u64, EventRates)> {
        let sums = PassSums::of(self, Pass::Allocations, variant);
        let totals = sums.by(&self.allocations, |row| {
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

    /// Objects and bytes by function in sampled stacks of the baseline, of the site and the swarm's; most objects first.
    pub(crate) fn allocating_functions(&self) -> Vec<(String, [u64; 2])> {
        let sums = PassSums::of(self, Pass::Allocations, 0);
        let by_function = sums.by(&self.allocation_stacks, |row| {
            let function = allocating_frame(&row.what).to_owned();
            let is_one = apart(self.polls.site).contains(&row.site?);
            is_one.then_some((function, [row.count, row.amount?]))
        });
        let mut functions = Vec::from_iter(by_function);
        functions.sort_by_key(|(_, [objects, _])| Reverse(*objects));
        functions
    }

    /// What a reading of the counters and a mean poll take, in µs, if counts by poll say nothing because of readings.
    pub(crate) fn disturbing_reading(&self) -> Option<[f64; 2]> {
        const LEAST_PARTS: f64 = 100.0;
        let reading_ns = self.seen.counter_reading_ns? as f64;
        let [polls, ns] = PassSums::of(self, Pass::Normal, BASELINE).polls(self.polls.site, 0);
        let poll_ns = quotient(ns as f64, polls as f64)?;
        (reading_ns * LEAST_PARTS > poll_ns).then_some([reading_ns / 1e3, poll_ns / 1e3])
    }

    pub(crate) fn counter_rates(&self, variant: usize) -> BTreeMap<String, CounterRates> {
        let sums = PassSums::of(self, Pass::Counters, variant);
        let SlowPolls { site, from_ns } = self.polls;
        let counted = |is_one: &dyn Fn(&EvidenceRow) -> bool| {
            sums.by(&self.counters, |row| {
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

    /// How often each is called, with its microseconds. The call with the most time comes first.
    pub(crate) fn call_rates(&self, variant: usize) -> Vec<(String, EventRates)> {
        let sums = PassSums::of(self, Pass::SystemCalls, variant);
        let site = self.polls.site;
        let sites = sums.by(&self.system_calls, |row| Some((row.site, [])));
        let is_counted = counted_once(sites.into_keys());
        let totals = sums.by(&self.system_calls, |row| {
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
        &self,
        variant: usize,
        calls: &[&str],
    ) -> Vec<(String, Option<CellEstimate>)> {
        let of = |pass| PassSums::of(self, pass, variant);
        let (of_allocations, of_calls) = (of(Pass::Allocations), of(Pass::SystemCalls));
        let rows = &self.allocations;
        let [objects, bytes] =
            [0, 1].map(|at| of_allocations.per_request(rows, |row| (row.site, allocated(row)[at])));
        let called = |name: Option<&str>| {
            of_calls.per_request(&self.system_calls, |row| {
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

    /// The child in which slow polls of a site wait, for how many percent of their time, and most of it in which call. None of
    /// too few polls or calls.
    pub(crate) fn waiting(&self, site: Site) -> Option<(&str, f64, String)> {
        let from_ns = self.polls.from_ns;
        let sums = PassSums::of(self, Pass::SystemCalls, 0);
        // By child and call: how many, and their time.
        let mut slow = sums.by(&self.system_calls, |row| {
            let is_one = row.site == Some(site) && is_slow(row.from_ns, from_ns);
            is_one.then_some(((row.child.as_deref(), &*row.what), [row.count, row.amount?]))
        });
        let [slow_polls, slow_ns] = sums.polls(site, from_ns);
        let calls: u64 = slow.values().map(|[calls, _]| calls).sum();
        let overhead_ns = calls * self.seen.system_call_overhead_ns.unwrap_or(0);
        let own_ns = slow_ns.saturating_sub(overhead_ns);
        slow.retain(|(_, call), _| WAITING.contains(call));
        let mut by_child: BTreeMap<Option<&str>, u64> = BTreeMap::new();
        for ((child, _), [_, ns]) in &slow {
            *by_child.entry(*child).or_default() += ns;
        }
        let (child, waited_ns) = by_child.into_iter().max_by_key(|(_, ns)| *ns)?;
        let calls = slow.iter().filter(|((of, _), _)| *of == child);
        let ((_, call), [count, in_call]) = calls.max_by_key(|(_, [_, ns])| *ns)?;
        if slow_polls < FEWEST_SLOW_POLLS || *count < FEWEST_WAITS {
            return None;
        }
        let percent = Share::part(waited_ns as f64, own_ns as f64)?.percent();
        let us = number(quotient(*in_call as f64 / 1000.0, *count as f64)?);
        let call = format!("`{call}` ({us} µs per call)");
        Some((child.unwrap_or(OWN), percent, call))
    }
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
