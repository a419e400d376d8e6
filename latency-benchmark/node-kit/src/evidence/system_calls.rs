//! Which system calls polls make, and how long they are in the kernel.

use std::{collections::BTreeMap, ops::Range, path::Path};

use anyhow::Result;
use run_format::{evidence::SystemCallRow, files::SYSTEM_CALLS, table::TableWriter};

use super::watch::Watch;
use crate::observe::whole_polls::{PollPlace, WholePolls};

pub(super) struct SystemCallEvidence {
    table: TableWriter,
    /// Those of the slice so far.
    seen: Vec<CallMoment>,
}

struct CallMoment {
    at_ns: u64,
    ns: u64,
    name: &'static str,
}

#[derive(Default)]
struct CallSum {
    calls: u64,
    ns: u64,
}

impl SystemCallEvidence {
    pub(super) fn create(dir: &Path) -> Result<SystemCallEvidence> {
        Ok(SystemCallEvidence {
            table: TableWriter::create(&dir.join(SYSTEM_CALLS))?,
            seen: Vec::new(),
        })
    }

    pub(super) fn collect(&mut self, watch: &mut Watch) {
        let Ok(calls) = &mut watch.system_calls else {
            return;
        };
        calls.drain(|call| {
            self.seen.push(CallMoment {
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
        let mut sums: BTreeMap<(PollPlace, &'static str), CallSum> = BTreeMap::new();
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
                site: place.site,
                child: place.child.map(Into::into),
                from_ns: place.from_ns,
                call: call.into(),
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
