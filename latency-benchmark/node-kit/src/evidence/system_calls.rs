//! Which system calls polls make, and how long they are in the kernel.

use std::ops::Range;

use anyhow::Result;
use run_format::{evidence::SystemCallRow, files::SYSTEM_CALLS, table::TableWriters};
use thread_scope::SystemCall;

use super::{
    moments::{Moments, summed},
    watch::Watch,
};
use crate::observe::whole_polls::WholePolls;

#[derive(Default)]
pub(super) struct SystemCallEvidence {
    seen: Moments<SystemCall>,
}

impl SystemCallEvidence {
    pub(super) fn collect(&mut self, watch: &mut Watch) {
        if let Ok(calls) = &mut watch.system_calls {
            calls.drain(|call| self.seen.push((call.at, *call)));
        }
    }

    pub(super) fn write(
        &mut self,
        tables: &mut TableWriters,
        slice: u32,
        window_ns: &Range<u64>,
        polls: &WholePolls,
    ) -> Result<()> {
        let sums = summed(&mut self.seen, window_ns, polls, |place, call| {
            ((place, call.name()), [1, call.ns])
        });
        let rows = sums
            .into_iter()
            .map(|((place, call), [calls, ns])| SystemCallRow {
                slice,
                site: place.site,
                child: place.child.map(Into::into),
                from_ns: place.from_ns,
                call: call.into(),
                calls,
                ns,
            });
        tables.rows(SYSTEM_CALLS, rows)
    }
}
