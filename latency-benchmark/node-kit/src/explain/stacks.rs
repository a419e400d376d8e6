//! Sums sampled stacks by their place in the polls. They tell where polls spend their time, and where they allocate.

use std::collections::BTreeMap;
use std::mem;

use anyhow::Result;
use node_ab::slices::{PollPlace, PollsWithChildren};
use run_format::{IN_KERNEL, NamedSite, SLOW_NS, Site, TableWriters, Text};

use super::instruments::Instruments;
use crate::profiler::{StackSample, Symbols};

/// Slow polls of connections, and the samples that were taken in them. The time of samples does not make a poll slow.
#[derive(Clone, Copy, Default)]
pub(super) struct SlowPolls {
    pub(super) polls: u64,
    pub(super) samples: u64,
}

/// The stacks since the last slice.
pub(super) struct Stacks {
    symbols: Symbols,
    sites: Vec<NamedSite>,
    connection_site: Site,
    seen: Vec<StackSample>,
}

impl Stacks {
    pub(super) fn new(sites: Vec<NamedSite>, connection_site: Site) -> Stacks {
        Stacks {
            symbols: Symbols::default(),
            sites,
            connection_site,
            seen: Vec::new(),
        }
    }

    pub(super) fn collect(&mut self, instruments: &mut Instruments) {
        if let Some(stacks) = &mut instruments.stacks {
            self.seen.extend(stacks.take());
        }
        if let Some(stacks) = &mut instruments.allocations {
            self.seen.extend(stacks.take());
        }
    }

    /// Writes the stacks of the slice to `table`.
    pub(super) fn write(
        &mut self,
        tables: &mut TableWriters,
        table: &'static str,
        slice: u32,
        polls: &mut PollsWithChildren,
    ) -> Result<SlowPolls> {
        let mut seen = mem::take(&mut self.seen);
        for StackSample { moment, .. } in &seen {
            if moment.took > 0 {
                polls.sampled(moment.at, moment.took);
            }
        }
        seen.retain(|sample| polls.window_ns.contains(&sample.moment.at));
        let (mut sums, mut samples) = (BTreeMap::new(), 0);
        for sample in seen {
            let object = sample.moment.object;
            let stands_for = object.map_or(1, |object| object.stands_for);
            for place in polls.places(sample.moment.at) {
                let by = (place, self.name(&sample, place));
                let (count, amount) = sums.entry(by).or_insert((0, None));
                *count += stands_for;
                *amount = object.map(|object| amount.unwrap_or(0) + object.size * stands_for);
                if place.site == Some(self.connection_site) && place.from_ns >= Some(SLOW_NS) {
                    samples += stands_for;
                }
            }
        }
        let row = |((place, what), (count, amount)): ((PollPlace, Text), (u64, Option<u64>))| {
            place.row(slice, what, count, amount)
        };
        tables.rows(table, sums.into_iter().map(row))?;
        let connections = polls.at_site(self.connection_site).iter();
        let slow = connections.filter(|poll| poll.own_ns() > SLOW_NS);
        Ok(SlowPolls {
            polls: slow.count() as u64,
            samples,
        })
    }

    fn name(&mut self, sample: &StackSample, place: PollPlace) -> Text {
        let stack = self.symbols.stack(&sample.frames);
        let end = if sample.moment.in_kernel {
            IN_KERNEL
        } else {
            ""
        };
        (line(&self.sites, stack, place.site) + end).into()
    }
}

/// The stack from the site's poll function inwards. It is the whole stack if the sample is in no poll, or if the function
/// was inlined and has no name.
fn line(sites: &[NamedSite], stack: Vec<String>, site: Option<Site>) -> String {
    let stack = without_graft(sites, stack);
    let named = sites.iter().find(|named| Some(named.site) == site);
    let is_site = |name: &String| named.is_some_and(|named| name.ends_with(&named.symbol));
    stack[stack.iter().rposition(is_site).unwrap_or(0)..].join(";")
}

/// The graft makes a closure of the body of a poll function. Both get the name of the function.
fn without_graft(sites: &[NamedSite], mut stack: Vec<String>) -> Vec<String> {
    let is_site = |name: &str| sites.iter().any(|named| name.ends_with(&named.symbol));
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
        let short = without_graft(&[site], stack.map(str::to_owned).to_vec());
        assert_eq!(short, expected);
    }
}
