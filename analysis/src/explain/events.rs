//! Counts allocations, events that the processor and the kernel count, and system calls.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use run_format::{BASELINE, EvidenceRow, OBJECTS, POLLS, Pass, Site};

use super::sums::{PassSums, disjoint_sites, is_slow};
use crate::load::CellEvidence;
use crate::load::explain::SlowPolls;
use crate::metrics::OWN;
use crate::stats::{CellEstimate, quotient};
use crate::text::quoted;

/// A number of events per poll or per request, and their amount: the bytes of objects, or the µs of system calls.
#[derive(Clone, Copy)]
pub(crate) struct Rate {
    pub(crate) count: f64,
    pub(crate) amount: f64,
}

impl Rate {
    /// Divides by the number of polls or requests. None if that is zero.
    fn per(whole: f64, count: u64, amount: f64) -> Option<Rate> {
        Some(Rate {
            count: quotient(count as f64, whole)?,
            amount: quotient(amount, whole)?,
        })
    }
}

/// The polls of a child, and the objects that it allocates in them.
pub(crate) struct AllocationRates {
    pub(crate) polls: u64,
    pub(crate) per_poll: Rate,
    pub(crate) per_request: Option<Rate>,
}

/// The objects and bytes of a row. Both are zero if the row counts polls instead.
fn allocated(row: &EvidenceRow) -> [u64; 2] {
    match row.what == OBJECTS {
        true => [row.count, row.amount.unwrap_or(0)],
        false => [0, 0],
    }
}

/// The innermost function outside the standard library: the code that decides to allocate.
fn allocating_frame(frames: &str) -> &str {
    const STANDARD_LIBRARY: [&str; 5] = ["alloc::", "core::", "std::", "hashbrown::", "__"];
    let is_own = |frame: &&str| {
        let bare = frame.trim_start_matches(['<', '&']);
        !frame.is_empty()
            && !matches!(bare, "malloc" | "calloc" | "realloc")
            && !STANDARD_LIBRARY
                .iter()
                .any(|prefix| bare.starts_with(prefix))
    };
    let mut frames_outwards = frames.rsplit(';');
    let innermost = frames_outwards.clone().find(|frame| !frame.is_empty());
    let own = frames_outwards.find(is_own);
    own.or(innermost).unwrap_or("unknown")
}

/// One counter for one variant. A value that was not counted, or that would divide by zero, is absent.
pub(crate) struct CounterRates {
    pub(crate) per_poll: Option<f64>,
    pub(crate) per_slow_poll: Option<f64>,
    pub(crate) process_per_s: Option<f64>,
}

/// A system call of central's worker, as strace counted it.
pub(crate) struct CallRates {
    pub(crate) name: String,
    pub(crate) calls: u64,
    pub(crate) us: f64,
    pub(crate) per_request: Option<Rate>,
}

impl CellEvidence {
    /// The rates by site and child. The site's own code has the polls of the site.
    pub(crate) fn allocation_rates(
        &self,
        variant: usize,
    ) -> BTreeMap<(Site, String), AllocationRates> {
        let sums = PassSums::new(self, Pass::Allocations, variant);
        let totals = sums.by(&self.allocations, |row| {
            let child = row.child.as_deref().unwrap_or(OWN).to_owned();
            let [objects, bytes] = allocated(row);
            let polls = if row.what == POLLS { row.count } else { 0 };
            Some(((row.site?, child), [polls, objects, bytes]))
        });
        let averages = |(key, [polls, objects, bytes]): (_, [u64; 3])| {
            let rates = AllocationRates {
                polls,
                per_poll: Rate::per(polls as f64, objects, bytes as f64)?,
                per_request: Rate::per(sums.requests(), objects, bytes as f64),
            };
            Some((key, rates))
        };
        totals.into_iter().filter_map(averages).collect()
    }

    /// Objects and bytes by function, from sampled stacks of the baseline in polls of the site and of the swarm. The function
    /// with the most objects comes first.
    pub(crate) fn allocating_functions(&self) -> Vec<(String, [u64; 2])> {
        let sums = PassSums::new(self, Pass::Allocations, BASELINE);
        let by_function = sums.by(&self.allocation_stacks, |row| {
            let function = allocating_frame(&row.what).to_owned();
            let is_counted = disjoint_sites(self.polls.site).contains(&row.site?);
            is_counted.then_some((function, [row.count, row.amount?]))
        });
        let mut functions = Vec::from_iter(by_function);
        functions.sort_by_key(|(_, [objects, _])| Reverse(*objects));
        functions
    }

    /// The time of a reading of the counters and that of a mean poll, in µs, if readings take so long that counts by poll say
    /// nothing.
    pub(crate) fn disturbing_reading(&self) -> Option<[f64; 2]> {
        const LEAST_PARTS: f64 = 100.0;
        let reading_ns = self.seen.counter_reading_ns? as f64;
        let polls = PassSums::new(self, Pass::Normal, BASELINE).polls(self.polls.site, 0);
        let poll_ns = quotient(polls.ns as f64, polls.count as f64)?;
        (reading_ns * LEAST_PARTS > poll_ns).then_some([reading_ns / 1e3, poll_ns / 1e3])
    }

    pub(crate) fn counter_rates(&self, variant: usize) -> BTreeMap<String, CounterRates> {
        let sums = PassSums::new(self, Pass::Counters, variant);
        let SlowPolls { site, from_ns } = self.polls;
        let counted = |is_counted: &dyn Fn(&EvidenceRow) -> bool| {
            sums.by(&self.counters, |row| {
                is_counted(row).then_some((&*row.what, [row.count]))
            })
        };
        let in_polls = counted(&|row| row.site == Some(site));
        let in_slow = counted(&|row| row.site == Some(site) && is_slow(row.from_ns, from_ns));
        let in_process = counted(&|row| row.site.is_none());
        let polls = |from_ns| sums.polls(site, from_ns).count as f64;
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

    /// The rates of every system call. The call with the most time comes first.
    pub(crate) fn call_rates(&self, variant: usize) -> Vec<CallRates> {
        let sums = PassSums::new(self, Pass::SystemCalls, variant);
        let totals = sums.by(&self.system_calls, |row| {
            Some((&*row.what, [row.count, row.amount?]))
        });
        let mut sorted = Vec::from_iter(totals);
        sorted.sort_by_key(|(_, [_, ns])| Reverse(*ns));
        let called = |(name, [calls, ns]): (&str, [u64; 2])| {
            let us = ns as f64 / 1000.0;
            CallRates {
                name: name.to_owned(),
                calls,
                us,
                per_request: Rate::per(sums.requests(), calls, us),
            }
        };
        sorted.into_iter().map(called).collect()
    }

    /// The requests per second under strace, and those in the slices that collect nothing.
    pub(crate) fn throughput_under_strace(&self) -> Option<[f64; 2]> {
        let per_s = |pass| {
            let sums = PassSums::new(self, pass, BASELINE);
            quotient(sums.requests(), sums.seconds())
        };
        Some([per_s(Pass::SystemCalls)?, per_s(Pass::Normal)?])
    }

    /// The numbers of objects and bytes that polls allocate for a request, of all its system calls, and of each of `calls`.
    pub(crate) fn by_request(
        &self,
        variant: usize,
        calls: &[&str],
    ) -> Vec<(String, Option<CellEstimate>)> {
        let [allocation_sums, call_sums] =
            [Pass::Allocations, Pass::SystemCalls].map(|pass| PassSums::new(self, pass, variant));
        let rows = &self.allocations;
        let [objects, bytes] = [0, 1].map(|column| {
            allocation_sums.per_request(rows, |row| (row.site, allocated(row)[column]))
        });
        let called = |name: Option<&str>| {
            call_sums.per_request(&self.system_calls, |row| {
                let is_counted = name.is_none_or(|name| row.what == name);
                (row.site, if is_counted { row.count } else { 0 })
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
