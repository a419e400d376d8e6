//! Which system calls polls make, and how long they are in the kernel.

use std::{collections::BTreeMap, ops::Range, path::Path};

use anyhow::Result;

use super::{
    tables::{SYSTEM_CALLS, SystemCallRow},
    watch::Watch,
};
use crate::{
    observe::whole_polls::{Place, WholePolls},
    store::table::Table,
};

pub(super) struct SystemCallEvidence {
    table: Table,
    /// Those of the slice so far.
    seen: Vec<Seen>,
}

struct Seen {
    at_ns: u64,
    ns: u64,
    name: &'static str,
}

#[derive(Default)]
struct Sum {
    calls: u64,
    ns: u64,
}

impl SystemCallEvidence {
    pub(super) fn create(dir: &Path) -> Result<SystemCallEvidence> {
        Ok(SystemCallEvidence {
            table: Table::create(&dir.join(SYSTEM_CALLS))?,
            seen: Vec::new(),
        })
    }

    pub(super) fn collect(&mut self, watch: &mut Watch) {
        watch.drain_system_calls(|call| {
            self.seen.push(Seen {
                at_ns: call.at,
                ns: call.ns,
                name: call.name(),
            });
        });
    }

    pub(super) fn write(
        &mut self,
        slice: u32,
        window_ns: &Range<u64>,
        polls: &WholePolls,
    ) -> Result<()> {
        let mut sums: BTreeMap<(Place, &str), Sum> = BTreeMap::new();
        let seen = self.seen.drain(..);
        for call in seen.filter(|call| window_ns.contains(&call.at_ns)) {
            for place in polls.places(call.at_ns) {
                let sum = sums.entry((place, call.name)).or_default();
                sum.calls += 1;
                sum.ns += call.ns;
            }
        }
        for ((place, call), sum) in sums {
            self.table.row(&SystemCallRow {
                slice,
                site: place.site_name(),
                child: place.child,
                from_ns: place.from_ns,
                call,
                calls: sum.calls,
                ns: sum.ns,
            })?;
        }
        self.table.flush()
    }

    pub(super) fn finish(self) -> Result<()> {
        self.table.finish()
    }
}
