//! Collects evidence of why polls are slow, on central's worker. Each kind of evidence has slices of its own, so that no
//! kind affects the figures of another.

mod activity;
mod instruments;
mod meter;
mod metered;
mod stacks;
mod strace;
mod timeline;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Result;
use node_ab::slices::{ObservedSlice, PollPlace, Sums};
use run_format::files::{
    ACTIVITY, ALLOCATION_STACKS, ALLOCATIONS, COUNTERS, EVIDENCE, STACKS, SYSTEM_CALLS, TIMELINE,
    write_json,
};
use run_format::{ENOUGH_SLOW_SAMPLES, NamedSite, Pass, Site, SliceRow, TableWriters};

pub(crate) use self::instruments::{Instruments, recorder};
use self::stacks::{SlowPolls, Stacks};
use self::strace::{CountedCall, Strace};
use self::timeline::Timeline;
use crate::observe::activity::{Activity, Snapshot};

/// All evidence of a cell, and the tables to which it is written.
pub(crate) struct Evidence {
    pub(crate) instruments: Instruments,
    activity: Activity,
    tables: TableWriters,
    stacks: Stacks,
    /// The slow polls of each variant in slices with samples of stacks.
    slow: BTreeMap<usize, SlowPolls>,
    timeline: Timeline,
    /// During a slice, the counts until it began. After it, the counts in the slice.
    snapshot: Snapshot,
    /// The same for the counters of the process. It is absent if the kernel does not answer.
    counted: Option<Vec<u64>>,
    dir: PathBuf,
}

impl Evidence {
    pub(crate) fn create(
        instruments: Instruments,
        activity: Activity,
        sites: Vec<NamedSite>,
        dir: &Path,
    ) -> Result<Evidence> {
        let connections = Site::of_connections(sites.iter().map(|named| named.site));
        let tables = [
            STACKS,
            ALLOCATION_STACKS,
            ALLOCATIONS,
            COUNTERS,
            SYSTEM_CALLS,
            TIMELINE,
            ACTIVITY,
        ];
        Ok(Evidence {
            tables: TableWriters::create(dir, &tables)?,
            stacks: Stacks::new(sites, connections),
            slow: BTreeMap::new(),
            timeline: Timeline::new(connections),
            snapshot: activity.snapshot(),
            counted: None,
            activity,
            instruments,
            dir: dir.to_owned(),
        })
    }

    pub(crate) fn slow_samples(&self, variant: usize) -> u64 {
        self.slow.get(&variant).map_or(0, |slow| slow.samples)
    }

    /// Whether the variant has slow polls, and too few samples in them.
    pub(crate) fn lacks_stacks(&self, variant: usize) -> bool {
        let lacks = |slow: &SlowPolls| slow.polls > 0 && slow.samples < ENOUGH_SLOW_SAMPLES;
        self.instruments.is_available(Pass::Stacks) && self.slow.get(&variant).is_none_or(lacks)
    }

    pub(crate) fn begin(&mut self, pass: Pass) {
        self.activity.count_self_wakes(pass == Pass::Activity);
        self.snapshot = self.activity.snapshot();
        self.counted = self.instruments.counted();
        self.instruments.switch(pass, true);
    }

    pub(crate) fn end(&mut self, pass: Pass) {
        self.instruments.switch(pass, false);
        self.collect();
        self.counted = self.instruments.counted().since(self.counted.take());
        self.snapshot = self.activity.snapshot().since(self.snapshot);
        self.activity.count_self_wakes(false);
    }

    /// Empties the buffers before they are full.
    pub(crate) fn collect(&mut self) {
        self.stacks.collect(&mut self.instruments);
    }

    /// Writes the evidence of a slice, all of whose polls are over.
    pub(crate) fn write(&mut self, row: &SliceRow, slice: &mut ObservedSlice) -> Result<()> {
        let number = row.slice;
        let Some(polls) = &mut slice.with_children else {
            return Ok(());
        };
        let (tables, stacks) = (&mut self.tables, &mut self.stacks);
        match row.pass {
            Pass::Stacks => {
                let found = stacks.write(tables, STACKS, number, polls)?;
                let slow = self.slow.entry(row.variant).or_default();
                slow.polls += found.polls;
                slow.samples += found.samples;
            }
            Pass::Allocations => {
                stacks.write(tables, ALLOCATION_STACKS, number, polls)?;
                metered::write_allocations(tables, number, polls)?;
            }
            Pass::Counters => {
                let counts = self.counted.take().unwrap_or_default();
                metered::write_counters(tables, number, polls, &self.instruments, counts)?;
            }
            Pass::SystemCalls => {
                let calls = self
                    .instruments
                    .strace
                    .as_mut()
                    .map(Strace::take)
                    .transpose()?;
                let nowhere = PollPlace::default();
                let row =
                    |call: CountedCall| nowhere.row(number, call.name, call.calls, Some(call.ns));
                let rows = calls.into_iter().flatten().map(row);
                tables.rows(SYSTEM_CALLS, rows)?;
            }
            Pass::Timeline => self.timeline.keep(row, polls),
            Pass::Compare | Pass::Children | Pass::Activity | Pass::Normal | Pass::Warm => {}
        }
        activity::write(tables, row, slice, &self.snapshot)?;
        tables.flush()
    }

    /// Writes the evidence that is about all slices together.
    pub(crate) fn finish(mut self) -> Result<()> {
        self.timeline.write(&mut self.tables)?;
        self.tables.finish()?;
        write_json(&self.dir.join(EVIDENCE), &self.instruments.describe())
    }
}
