//! Why polls are slow: what else happened on central's worker, laid beside the polls by its time. One
//! kind of evidence is switched on at a time, for a slice of its own, so that none is part of what
//! another sees.

mod activity;
mod meter;
mod metered;
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
    config::{ENOUGH_SLOW_SAMPLES, SLOW_NS},
    evidence::EvidenceFile,
    files::{EVIDENCE, write_json},
    manifest::NamedSite,
    tables::{Pass, SliceRow},
};
use thread_scope::Symbols;

pub(crate) use self::watch::{Watch, recorder};
use self::{
    activity::ActivityEvidence, metered::Metered, stacks::StackEvidence,
    system_calls::SystemCallEvidence, timeline::Timeline,
};
use crate::observe::{activity::Activity, slice::ObservedSlice};

/// Everything that a cell is explained by, and where it is written.
pub(crate) struct Evidence {
    watch: Watch,
    symbols: Symbols,
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
        let connections = sites[0].site;
        Ok(Evidence {
            symbols: Symbols::new(),
            stacks: StackEvidence::create(dir, sites)?,
            slow: BTreeMap::new(),
            metered: Metered::create(
                dir,
                watch.counter_names().to_vec(),
                watch.process_counters(),
            )?,
            system_calls: SystemCallEvidence::create(dir)?,
            timeline: Timeline::create(dir, connections)?,
            activity: ActivityEvidence::create(dir, activity)?,
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

    /// Stack samples in slow polls so far.
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
    pub(crate) fn write(&mut self, row: &SliceRow, slice: &ObservedSlice) -> Result<()> {
        let Some(whole) = &slice.whole else {
            return Ok(());
        };
        let polls = &whole.polls;
        let (number, window) = (row.slice, slice.window_ns());
        match row.pass {
            Pass::Stacks => {
                let slow = self.slow.entry(row.variant).or_default();
                slow.polls += slice.site(slice.connections).slower_than(SLOW_NS);
                slow.samples += self
                    .stacks
                    .write(number, &window, polls, &mut self.symbols)?;
            }
            Pass::Allocations => {
                self.metered.write_allocations(number, polls)?;
                self.stacks
                    .write_allocations(number, &window, polls, &mut self.symbols)?;
            }
            Pass::Counters => self.metered.write_counters(number, polls)?,
            Pass::SystemCalls => self.system_calls.write(number, &window, polls)?,
            Pass::Timeline => self.timeline.keep(row, polls),
            Pass::Compare | Pass::Children | Pass::Activity | Pass::Normal | Pass::Warm => {}
        }
        self.activity.write(row, slice)
    }

    /// Writes what is told of all slices together.
    pub(crate) fn finish(mut self) -> Result<()> {
        self.watch.describe(&mut self.about);
        self.stacks.finish()?;
        self.metered.finish()?;
        self.system_calls.finish()?;
        self.timeline.finish()?;
        self.activity.finish()?;
        write_json(&self.dir.join(EVIDENCE), &self.about)
    }
}
