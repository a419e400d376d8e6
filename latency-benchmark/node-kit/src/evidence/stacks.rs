//! Sums sampled stacks by their place in the polls. They tell where polls spend their time, and where they allocate.

use std::collections::BTreeMap;
use std::mem;

use crate::scope::Symbols;
use anyhow::Result;
use node_ab::slices::{PollPlace, WholePolls};
use run_format::{IN_KERNEL, NamedSite, SLOW_NS, Site, TableWriters, Text};

use super::watch::Watch;

struct Moment {
    at_ns: u64,
    /// How long the sample kept the thread from its work.
    took_ns: u64,
    frames: Vec<usize>,
    in_kernel: bool,
    count: u64,
    amount: Option<u64>,
}

/// The stacks since the last slice.
pub(super) struct Moments {
    symbols: Symbols,
    sites: Vec<NamedSite>,
    connections: Site,
    seen: Vec<Moment>,
}

impl Moments {
    pub(super) fn new(sites: Vec<NamedSite>, connections: Site) -> Moments {
        Moments {
            symbols: Symbols::default(),
            sites,
            connections,
            seen: Vec::new(),
        }
    }

    pub(super) fn collect(&mut self, watch: &mut Watch) {
        if let Some(stacks) = &mut watch.stacks {
            stacks.drain(|sample| {
                self.seen.push(Moment {
                    at_ns: sample.at,
                    took_ns: sample.took,
                    frames: sample.frames.to_vec(),
                    in_kernel: sample.in_kernel,
                    count: 1,
                    amount: None,
                });
            });
        }
        if let Some(stacks) = &mut watch.allocations {
            stacks.drain(|sample| {
                self.seen.push(Moment {
                    at_ns: sample.at,
                    took_ns: 0,
                    frames: sample.frames.to_vec(),
                    in_kernel: false,
                    count: sample.stands_for,
                    amount: Some(sample.size * sample.stands_for),
                });
            });
        }
    }

    /// Writes the stacks of the slice. Returns how many polls of connections were slow, without the time of samples, and how
    /// many samples were in these polls.
    pub(super) fn write(
        &mut self,
        (tables, table): (&mut TableWriters, &'static str),
        slice: u32,
        polls: &mut WholePolls,
    ) -> Result<[u64; 2]> {
        let mut seen = mem::take(&mut self.seen);
        for moment in seen.iter().filter(|moment| moment.took_ns > 0) {
            polls.sampled(moment.at_ns, moment.took_ns);
        }
        seen.retain(|moment| polls.window_ns.contains(&moment.at_ns));
        let (mut sums, mut slow) = (BTreeMap::new(), 0);
        for moment in seen {
            for place in polls.places(moment.at_ns) {
                let by = (place, self.name(&moment, place));
                let (count, amount) = sums.entry(by).or_insert((0, None));
                *count += moment.count;
                *amount = moment.amount.map(|more| amount.unwrap_or(0) + more);
                if place.site == Some(self.connections) && place.from_ns >= Some(SLOW_NS) {
                    slow += moment.count;
                }
            }
        }
        let row = |((place, what), (count, amount)): ((PollPlace, Text), (u64, Option<u64>))| {
            place.row(slice, what, count, amount)
        };
        tables.rows(table, sums.into_iter().map(row))?;
        let connections = polls.of_site(self.connections).iter();
        let slow_polls = connections.filter(|poll| poll.own_ns() > SLOW_NS).count();
        Ok([slow_polls as u64, slow])
    }

    fn name(&mut self, moment: &Moment, place: PollPlace) -> Text {
        let stack = self.symbols.stack(&moment.frames);
        let end = if moment.in_kernel { IN_KERNEL } else { "" };
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
