//! Where polls spend their time and where they allocate, by stacks that were sampled.

use std::ops::Range;

use anyhow::Result;
use run_format::Site;
use run_format::{
    config::SLOW_NS,
    evidence::{AllocationStackRow, StackRow},
    files::{ALLOCATION_STACKS, STACKS},
    manifest::NamedSite,
    table::TableWriters,
};
use thread_scope::Symbols;

use super::{
    moments::{Moments, summed},
    watch::Watch,
};
use crate::observe::whole_polls::WholePolls;

pub(super) struct StackEvidence {
    symbols: Symbols,
    sites: Vec<NamedSite>,
    connections: Site,
    /// How long it took, whether in the kernel, and the frames.
    samples: Moments<(u64, bool, Vec<usize>)>,
    /// Objects, bytes and the frames.
    allocations: Moments<(u64, u64, Vec<usize>)>,
}

impl StackEvidence {
    pub(super) fn new(sites: Vec<NamedSite>, connections: Site) -> StackEvidence {
        StackEvidence {
            symbols: Symbols::new(),
            sites,
            connections,
            samples: Vec::new(),
            allocations: Vec::new(),
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
    }

    /// Returns how many polls of connections were slow, without the time of samples, and how many samples were in these.
    pub(super) fn write(
        &mut self,
        tables: &mut TableWriters,
        slice: u32,
        window_ns: &Range<u64>,
        polls: &mut WholePolls,
    ) -> Result<[u64; 2]> {
        let mut slow = 0;
        for (at_ns, (took_ns, ..)) in &self.samples {
            polls.sampled(*at_ns, *took_ns);
        }
        let sums = summed(&mut self.samples, window_ns, polls, |place, what| {
            let (_, in_kernel, frames) = what;
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
        let of_connections = polls.of(self.connections).iter();
        let slow_polls = of_connections
            .filter(|poll| poll.own_ns() > SLOW_NS)
            .count();
        Ok([slow_polls as u64, slow])
    }

    pub(super) fn write_allocations(
        &mut self,
        tables: &mut TableWriters,
        slice: u32,
        window_ns: &Range<u64>,
        polls: &WholePolls,
    ) -> Result<()> {
        let sums = summed(&mut self.allocations, window_ns, polls, |place, what| {
            let (objects, bytes, frames) = what;
            let stack = self.symbols.stack(frames, true);
            let stack = line(&self.sites, stack, place.site);
            // Of whatever duration the poll was.
            ((place.site, place.child, stack), [1, *objects, *bytes])
        });
        let sums = sums.into_iter();
        let rows =
            sums.map(
                |((site, child, stack), [samples, objects, bytes])| AllocationStackRow {
                    slice,
                    site,
                    child: child.map(Into::into),
                    stack,
                    samples,
                    objects,
                    bytes,
                },
            );
        tables.rows(ALLOCATION_STACKS, rows)
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
