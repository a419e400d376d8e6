//! Why polls are slow: what else happened on central's worker, laid beside the polls by its time. One
//! kind of evidence is switched on at a time, for a slice of its own, so that none is part of what
//! another sees.

mod activity;
mod meter;
mod metered;
mod moments;
mod stacks;
mod system_calls;
mod timeline;
mod watch;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use anyhow::Result;
use run_format::{
    Site,
    config::ENOUGH_SLOW_SAMPLES,
    evidence::EvidenceFile,
    files::{
        ACTIVITY, ALLOCATION_STACKS, ALLOCATIONS, COUNTERS, EVIDENCE, STACKS, SYSTEM_CALLS,
        TIMELINE, write_json,
    },
    manifest::NamedSite,
    table::TableWriters,
    tables::{Pass, SliceRow},
};

pub(crate) use self::watch::{Watch, recorder};
use self::{
    activity::ActivityEvidence, metered::Metered, stacks::StackEvidence,
    system_calls::SystemCallEvidence, timeline::Timeline,
};
use crate::observe::{activity::Activity, slice::ObservedSlice};

/// Everything that a cell is explained by, and where it is written.
pub(crate) struct Evidence {
    watch: Watch,
    tables: TableWriters,
    stacks: StackEvidence,
    /// By variant, of the slices that are written.
    slow: BTreeMap<usize, SampledSlowPolls>,
    metered: Metered,
    system_calls: SystemCallEvidence,
    timeline: Timeline,
    activity: ActivityEvidence,
    about: EvidenceFile,
    dir: PathBuf,
}

/// Slow polls of the connection while stacks were sampled.
#[derive(Default)]
struct SampledSlowPolls {
    polls: u64,
    samples: u64,
}

impl Evidence {
    /// Begins the tables in `dir`.
    pub(crate) fn create(
        mut watch: Watch,
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
            stacks: StackEvidence::new(sites, connections),
            slow: BTreeMap::new(),
            metered: Metered::new(watch.counter_names.clone(), watch.process_counters.take()),
            system_calls: SystemCallEvidence::default(),
            timeline: Timeline::new(connections),
            activity: ActivityEvidence::new(activity),
            about: EvidenceFile {
                unavailable: watch.missing(),
                ..EvidenceFile::default()
            },
            watch,
            dir: dir.to_owned(),
        })
    }

    pub(crate) fn is_available(&self, pass: Pass) -> bool {
        self.watch.is_available(pass)
    }

    pub(crate) fn slow_samples(&self, variant: usize) -> u64 {
        self.slow.get(&variant).map_or(0, |it| it.samples)
    }

    /// Whether more samples would tell more about its slow polls. Without any slow poll they would not.
    pub(crate) fn lacks_stacks(&self, variant: usize) -> bool {
        let lacks = |it: &SampledSlowPolls| it.polls > 0 && it.samples < ENOUGH_SLOW_SAMPLES;
        self.is_available(Pass::Stacks) && self.slow.get(&variant).is_none_or(lacks)
    }

    /// Some time before the slice, whatever has to be so from the beginning of its first poll, to the end
    /// of its last.
    pub(crate) fn prepare(&mut self, pass: Pass) {
        self.watch.prepare(pass);
    }

    pub(crate) fn begin(&mut self, pass: Pass) {
        self.activity.begin(pass);
        self.metered.begin();
        self.watch.switch(pass, true);
    }

    pub(crate) fn end(&mut self, pass: Pass) {
        self.watch.switch(pass, false);
        self.collect();
        self.metered.end();
        self.activity.end();
    }

    /// Empties the buffers before they are full.
    pub(crate) fn collect(&mut self) {
        self.stacks.collect(&mut self.watch);
        self.system_calls.collect(&mut self.watch);
    }

    /// Writes what was seen in a slice, all of whose polls are over.
    pub(crate) fn write(&mut self, row: &SliceRow, slice: &mut ObservedSlice) -> Result<()> {
        let (number, window) = (row.slice, slice.window_ns());
        let Some(whole) = &mut slice.whole else {
            return Ok(());
        };
        let polls = &mut whole.polls;
        let tables = &mut self.tables;
        match row.pass {
            Pass::Stacks => {
                let [polls, samples] = self.stacks.write(tables, number, &window, polls)?;
                let slow = self.slow.entry(row.variant).or_default();
                slow.polls += polls;
                slow.samples += samples;
            }
            Pass::Allocations => {
                metered::write_allocations(tables, number, polls)?;
                self.stacks
                    .write_allocations(tables, number, &window, polls)?;
            }
            Pass::Counters => self.metered.write_counters(tables, number, polls)?,
            Pass::SystemCalls => self.system_calls.write(tables, number, &window, polls)?,
            Pass::Timeline => self.timeline.keep(row, polls),
            Pass::Compare | Pass::Children | Pass::Activity | Pass::Normal | Pass::Warm => {}
        }
        self.activity.write(tables, row, slice)?;
        tables.flush()
    }

    /// Writes what is told of all slices together.
    pub(crate) fn finish(mut self) -> Result<()> {
        self.watch.describe(&mut self.about);
        self.timeline.write(&mut self.tables)?;
        self.tables.finish()?;
        write_json(&self.dir.join(EVIDENCE), &self.about)
    }
}
