//! What was seen at moments, summed by its place in the polls: stacks, which tell where polls spend their time and where
//! they allocate, and system calls.

use std::collections::BTreeMap;
use std::mem;

use crate::scope::Symbols;
use anyhow::Result;
use node_ab::slices::{PollPlace, WholePolls};
use run_format::{IN_KERNEL, NamedSite, SLOW_NS, Site, TableWriters, Text};

use super::watch::Watch;

struct Moment {
    at_ns: u64,
    /// How long the thread was kept from its work for it.
    took_ns: u64,
    what: Seen,
    count: u64,
    amount: Option<u64>,
}

enum Seen {
    Stack { frames: Vec<usize>, in_kernel: bool },
    Call(&'static str),
}

/// What was seen since the last slice.
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
        let stack = |frames: &[usize], in_kernel| Seen::Stack {
            frames: frames.to_vec(),
            in_kernel,
        };
        let mut see = |at_ns, took_ns, what, count, amount| {
            self.seen.push(Moment {
                at_ns,
                took_ns,
                what,
                count,
                amount,
            });
        };
        if let Some(stacks) = &mut watch.stacks {
            stacks.drain(|it| see(it.at, it.took, stack(it.frames, it.in_kernel), 1, None));
        }
        if let Some(stacks) = &mut watch.allocations {
            stacks.drain(|it| {
                let (count, bytes) = (it.stands_for, it.size * it.stands_for);
                see(it.at, 0, stack(it.frames, false), count, Some(bytes));
            });
        }
        if let Some(calls) = &mut watch.system_calls {
            calls.drain(|it| see(it.at, 0, Seen::Call(it.name()), 1, Some(it.ns)));
        }
    }

    /// Writes what was seen in the slice. Returns how many polls of connections were slow, without the time of samples, and
    /// how much was in these.
    pub(super) fn write(
        &mut self,
        (tables, table): (&mut TableWriters, &'static str),
        slice: u32,
        polls: &mut WholePolls,
    ) -> Result<[u64; 2]> {
        let mut seen = mem::take(&mut self.seen);
        for it in seen.iter().filter(|it| it.took_ns > 0) {
            polls.sampled(it.at_ns, it.took_ns);
        }
        seen.retain(|it| polls.window_ns.contains(&it.at_ns));
        let (mut sums, mut slow) = (BTreeMap::new(), 0);
        for it in seen {
            for place in polls.places(it.at_ns) {
                let by = (place, self.name(&it.what, place));
                let (count, amount) = sums.entry(by).or_insert((0, None));
                *count += it.count;
                *amount = it.amount.map(|more| amount.unwrap_or(0) + more);
                if place.site == Some(self.connections) && place.from_ns >= Some(SLOW_NS) {
                    slow += it.count;
                }
            }
        }
        let sums = sums.into_iter();
        let rows =
            sums.map(|((place, what), (count, amount))| place.row(slice, what, count, amount));
        tables.rows(table, rows)?;
        let connections = polls.of(self.connections).iter();
        let slow_polls = connections.filter(|poll| poll.own_ns() > SLOW_NS).count();
        Ok([slow_polls as u64, slow])
    }

    fn name(&mut self, what: &Seen, place: PollPlace) -> Text {
        let (frames, in_kernel) = match what {
            Seen::Stack { frames, in_kernel } => (frames, *in_kernel),
            Seen::Call(name) => return (*name).into(),
        };
        let stack = self.symbols.stack(frames);
        let end = if in_kernel { IN_KERNEL } else { "" };
        (line(&self.sites, stack, place.site) + end).into()
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
