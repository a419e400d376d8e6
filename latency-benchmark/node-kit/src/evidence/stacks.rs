//! Where polls spend their time and where they allocate, by stacks that were sampled.

use std::{collections::BTreeMap, ops::Range, path::Path};

use anyhow::Result;
use poll_probe::Site;
use run_format::{
    config::SLOW_NS,
    evidence::{AllocationStackRow, StackRow},
    files::{ALLOCATION_STACKS, STACKS},
    manifest::NamedSite,
    table::TableWriter,
};
use thread_scope::Symbols;

use super::watch::Watch;
use crate::observe::whole_polls::{PollPlace, WholePolls};

pub(super) struct StackEvidence {
    stacks: TableWriter,
    allocation_stacks: TableWriter,
    sites: Vec<NamedSite>,
    /// Those of the slice so far.
    samples: Vec<StackMoment>,
    allocations: Vec<AllocationMoment>,
}

struct StackMoment {
    at_ns: u64,
    in_kernel: bool,
    frames: Vec<usize>,
}

struct AllocationMoment {
    at_ns: u64,
    bytes: u64,
    objects: u64,
    frames: Vec<usize>,
}

#[derive(Default)]
struct AllocatedSum {
    samples: u64,
    objects: u64,
    bytes: u64,
}

impl StackEvidence {
    pub(super) fn create(dir: &Path, sites: Vec<NamedSite>) -> Result<StackEvidence> {
        Ok(StackEvidence {
            stacks: TableWriter::create(&dir.join(STACKS))?,
            allocation_stacks: TableWriter::create(&dir.join(ALLOCATION_STACKS))?,
            sites,
            samples: Vec::new(),
            allocations: Vec::new(),
        })
    }

    pub(super) fn collect(&mut self, watch: &mut Watch) {
        if let Ok(stacks) = &mut watch.stacks {
            stacks.drain(|sample| {
                self.samples.push(StackMoment {
                    at_ns: sample.at,
                    in_kernel: sample.in_kernel,
                    frames: sample.frames.to_vec(),
                });
            });
        }
        if let Ok(stacks) = &mut watch.allocations {
            stacks.drain(|stack| {
                self.allocations.push(AllocationMoment {
                    at_ns: stack.at,
                    bytes: stack.size * stack.stands_for,
                    objects: stack.stands_for,
                    frames: stack.frames.to_vec(),
                });
            });
        }
    }

    /// Returns how many samples were in slow polls of the connection.
    pub(super) fn write(
        &mut self,
        slice: u32,
        window_ns: &Range<u64>,
        polls: &WholePolls,
        symbols: &mut Symbols,
    ) -> Result<u64> {
        let mut slow = 0;
        let mut sums: BTreeMap<(PollPlace, bool, String), u64> = BTreeMap::new();
        let samples = self.samples.drain(..);
        for sample in samples.filter(|sample| window_ns.contains(&sample.at_ns)) {
            for place in polls.places(sample.at_ns) {
                let stack = symbols.stack(&sample.frames, false);
                let stack = line(&self.sites, stack, place.site);
                *sums.entry((place, sample.in_kernel, stack)).or_default() += 1;
            }
        }
        for ((place, in_kernel, stack), samples) in sums {
            if place.site == self.sites.first().map(|it| it.site) && place.from_ns >= Some(SLOW_NS)
            {
                slow += samples;
            }
            self.stacks.row(&StackRow {
                slice,
                site: place.site,
                child: place.child.map(Into::into),
                from_ns: place.from_ns,
                in_kernel,
                stack,
                samples,
            })?;
        }
        self.stacks.flush()?;
        Ok(slow)
    }

    pub(super) fn write_allocations(
        &mut self,
        slice: u32,
        window_ns: &Range<u64>,
        polls: &WholePolls,
        symbols: &mut Symbols,
    ) -> Result<()> {
        let mut sums: BTreeMap<(PollPlace, String), AllocatedSum> = BTreeMap::new();
        let allocations = self.allocations.drain(..);
        for allocation in allocations.filter(|it| window_ns.contains(&it.at_ns)) {
            for place in polls.places(allocation.at_ns) {
                let stack = symbols.stack(&allocation.frames, true);
                let stack = line(&self.sites, stack, place.site);
                // Of whatever duration the poll was.
                let place = PollPlace {
                    from_ns: None,
                    ..place
                };
                let sum = sums.entry((place, stack)).or_default();
                sum.samples += 1;
                sum.objects += allocation.objects;
                sum.bytes += allocation.bytes;
            }
        }
        for ((place, stack), sum) in sums {
            self.allocation_stacks.row(&AllocationStackRow {
                slice,
                site: place.site,
                child: place.child.map(Into::into),
                stack,
                samples: sum.samples,
                objects: sum.objects,
                bytes: sum.bytes,
            })?;
        }
        self.allocation_stacks.flush()
    }

    pub(super) fn finish(self) -> Result<()> {
        self.stacks.finish()?;
        self.allocation_stacks.finish()
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
