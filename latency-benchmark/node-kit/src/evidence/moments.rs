//! What was seen at moments, summed by its place in the polls: stacks, which tell where polls spend their time and where
//! they allocate, and system calls.

use std::collections::BTreeMap;

use anyhow::Result;
use run_format::files::{ALLOCATION_STACKS, STACKS, SYSTEM_CALLS};
use run_format::{
    AllocationStackRow, NamedSite, SLOW_NS, Site, StackRow, SystemCallRow, TableWriters,
};
use slices::{PollPlace, WholePolls};
use thread_scope::{Symbols, SystemCall};

use super::watch::Watch;

/// When, and what.
type Seen<T> = Vec<(u64, T)>;

/// What was seen since the last slice.
pub(super) struct Moments {
    symbols: Symbols,
    sites: Vec<NamedSite>,
    connections: Site,
    /// How long it took, whether in the kernel, and the frames.
    samples: Seen<(u64, bool, Vec<usize>)>,
    /// Objects, bytes and the frames.
    allocations: Seen<(u64, u64, Vec<usize>)>,
    calls: Seen<SystemCall>,
}

impl Moments {
    pub(super) fn new(sites: Vec<NamedSite>, connections: Site) -> Moments {
        Moments {
            symbols: Symbols::new(),
            sites,
            connections,
            samples: Vec::new(),
            allocations: Vec::new(),
            calls: Vec::new(),
        }
    }

    pub(super) fn collect(&mut self, watch: &mut Watch) {
        if let Ok(stacks) = &mut watch.stacks {
            stacks.drain(|sample| {
                let what = (sample.took, sample.in_kernel, sample.frames.to_vec());
                self.samples.push((sample.at, what));
            });
        }
        if let Ok(stacks) = &mut watch.allocations {
            stacks.drain(|stack| {
                let bytes = stack.size * stack.stands_for;
                let what = (stack.stands_for, bytes, stack.frames.to_vec());
                self.allocations.push((stack.at, what));
            });
        }
        if let Ok(calls) = &mut watch.system_calls {
            calls.drain(|call| self.calls.push((call.at, *call)));
        }
    }

    /// Returns how many polls of connections were slow, without the time of samples, and how many samples were in these.
    pub(super) fn write_samples(
        &mut self,
        tables: &mut TableWriters,
        slice: u32,
        polls: &mut WholePolls,
    ) -> Result<[u64; 2]> {
        let mut slow = 0;
        for (at_ns, (took_ns, ..)) in &self.samples {
            polls.sampled(*at_ns, *took_ns);
        }
        let sums = summed(&mut self.samples, polls, |place, (_, in_kernel, frames)| {
            let stack = self.symbols.stack(frames, false);
            let stack = line(&self.sites, stack, place.site);
            ((place, *in_kernel, stack), [1])
        });
        for ((place, in_kernel, stack), [samples]) in sums {
            if place.site == Some(self.connections) && place.from_ns >= Some(SLOW_NS) {
                slow += samples;
            }
            let row = StackRow {
                slice,
                site: place.site,
                child: place.child.map(Into::into),
                from_ns: place.from_ns,
                in_kernel,
                stack,
                samples,
            };
            tables.row(STACKS, &row)?;
        }
        let connections = polls.of(self.connections).iter();
        let slow_polls = connections.filter(|poll| poll.own_ns() > SLOW_NS).count();
        Ok([slow_polls as u64, slow])
    }

    pub(super) fn write_allocations(
        &mut self,
        tables: &mut TableWriters,
        slice: u32,
        polls: &WholePolls,
    ) -> Result<()> {
        let sums = summed(&mut self.allocations, polls, |place, what| {
            let (objects, bytes, frames) = what;
            let stack = self.symbols.stack(frames, true);
            let stack = line(&self.sites, stack, place.site);
            // Of whatever duration the poll was.
            ((place.site, place.child, stack), [1, *objects, *bytes])
        });
        for ((site, child, stack), [samples, objects, bytes]) in sums {
            let row = AllocationStackRow {
                slice,
                site,
                child: child.map(Into::into),
                stack,
                samples,
                objects,
                bytes,
            };
            tables.row(ALLOCATION_STACKS, &row)?;
        }
        Ok(())
    }

    pub(super) fn write_calls(
        &mut self,
        tables: &mut TableWriters,
        slice: u32,
        polls: &WholePolls,
    ) -> Result<()> {
        let sums = summed(&mut self.calls, polls, |place, call| {
            ((place, call.name()), [1, call.ns])
        });
        for ((place, call), [calls, ns]) in sums {
            let row = SystemCallRow {
                slice,
                site: place.site,
                child: place.child.map(Into::into),
                from_ns: place.from_ns,
                call: call.into(),
                calls,
                ns,
            };
            tables.row(SYSTEM_CALLS, &row)?;
        }
        Ok(())
    }
}

/// Sums what is from the slice. `counted` tells by what, and how much it is at a place in the polls.
fn summed<T, K: Ord, const N: usize>(
    seen: &mut Seen<T>,
    polls: &WholePolls,
    mut counted: impl FnMut(PollPlace, &T) -> (K, [u64; N]),
) -> BTreeMap<K, [u64; N]> {
    let mut sums = BTreeMap::new();
    let of_slice = |(at_ns, _): &(u64, T)| polls.window_ns.contains(at_ns);
    for (at_ns, what) in seen.drain(..).filter(of_slice) {
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

/// From the site's poll function inwards. All of the stack if it is in no poll, or if the function does
/// not show: what was inlined may have no name.
fn line(sites: &[NamedSite], stack: Vec<String>, site: Option<Site>) -> String {
    let stack = without_graft(sites, stack);
    let named = sites.iter().find(|it| Some(it.site) == site);
    let is_site = |name: &String| named.is_some_and(|it| name.ends_with(&it.symbol));
    stack[stack.iter().rposition(is_site).unwrap_or(0)..].join(";")
}

/// The graft makes a closure of the body of a poll function. Here both are the function.
fn without_graft(sites: &[NamedSite], mut stack: Vec<String>) -> Vec<String> {
    let is_site = |name: &str| sites.iter().any(|it| name.ends_with(&it.symbol));
    for name in &mut stack {
        if let Some(function) = name.strip_suffix("::{closure}")
            && is_site(function)
        {
            name.truncate(function.len());
        }
    }
    stack.dedup_by(|inner, outer| inner == outer && is_site(inner));
    stack
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_closure_around_the_body_of_a_site_is_the_site() {
        let poll = "libp2p_swarm::connection::Connection::poll";
        let stack = [
            "main",
            poll,
            &format!("{poll}::{{closure}}"),
            &format!("{poll}::{{closure}}::{{closure}}"),
            "other::poll::{closure}",
        ];
        let expected = [stack[0], stack[1], stack[3], stack[4]];
        let site = NamedSite {
            site: Site::Connection,
            function: "Connection::poll".to_owned(),
            symbol: "connection::Connection::poll".to_owned(),
        };
        let stack = stack.map(str::to_owned).to_vec();
        assert_eq!(without_graft(&[site], stack), expected);
    }
}
