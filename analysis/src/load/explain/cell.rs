//! The evidence from one cell's launch.

use std::{collections::BTreeSet, path::Path};

use anyhow::{Context, Result, bail};
use run_format::{
    evidence::{
        ActivityRow, AllocationRow, AllocationStackRow, CounterRow, EvidenceFile, StackRow,
        SystemCallRow, TimelineRow,
    },
    files,
    grid::Cell,
    run_row::RunRow,
    table::read_table,
    tables::{BandRow, ChildRow, Pass, SiteRow, SliceRow},
    variant::BASELINE,
};
use serde::de::DeserializeOwned;

use crate::load::{outside, rows};

pub(crate) struct CellEvidence {
    pub(crate) cell: Cell,
    pub(crate) seen: EvidenceFile,
    /// In the order of time.
    pub(crate) slices: Vec<SliceRow>,
    pub(crate) sites: Vec<SiteRow>,
    pub(crate) bands: Vec<BandRow>,
    pub(crate) children: Vec<ChildRow>,
    pub(crate) stacks: Vec<StackRow>,
    pub(crate) allocations: Vec<AllocationRow>,
    pub(crate) allocation_stacks: Vec<AllocationStackRow>,
    pub(crate) counters: Vec<CounterRow>,
    pub(crate) system_calls: Vec<SystemCallRow>,
    pub(crate) timeline: Vec<TimelineRow>,
    pub(crate) activity: Vec<ActivityRow>,
}

impl CellEvidence {
    pub(crate) fn has(&self, pass: Pass) -> bool {
        let is_there = |slice: &SliceRow| slice.variant == BASELINE && slice.pass == pass;
        let rows = match pass {
            Pass::Stacks => self.stacks.len(),
            Pass::Allocations => self.allocations.len(),
            Pass::Counters => self.counters.len(),
            Pass::SystemCalls => self.system_calls.len(),
            Pass::Timeline => self.timeline.len(),
            Pass::Activity => self.activity.len(),
            Pass::Normal | Pass::Warm => self.bands.len(),
            Pass::Compare | Pass::Children => 0,
        };
        rows > 0 && self.slices.iter().any(is_there)
    }

    /// Everything that the launch left. `variants` are those that it may be about.
    pub(super) fn read(dir: &Path, row: RunRow, variants: &[usize]) -> Result<CellEvidence> {
        let seen: EvidenceFile = outside::read_json(&dir.join(files::EVIDENCE))?;
        let path = dir.join(files::SLICES);
        let slices: Vec<SliceRow> = read_table(&path, false)?;
        check(&slices, variants).with_context(|| path.display().to_string())?;
        let tables = EvidenceTables {
            dir,
            seen: &seen,
            slices: slices.iter().map(|slice| slice.slice).collect(),
        };
        Ok(CellEvidence {
            cell: row.config.cell,
            sites: rows::read(&dir.join(files::SITES), false)?,
            bands: read_table(&dir.join(files::BANDS), false)?,
            children: rows::read(&dir.join(files::CHILDREN), false)?,
            stacks: tables.read(Pass::Stacks, files::STACKS)?,
            allocations: tables.read(Pass::Allocations, files::ALLOCATIONS)?,
            allocation_stacks: tables.read(Pass::Allocations, files::ALLOCATION_STACKS)?,
            counters: tables.read(Pass::Counters, files::COUNTERS)?,
            system_calls: tables.read(Pass::SystemCalls, files::SYSTEM_CALLS)?,
            timeline: tables.read(Pass::Timeline, files::TIMELINE)?,
            activity: tables.read(Pass::Activity, files::ACTIVITY)?,
            slices,
            seen,
        })
    }
}

/// A row with evidence from a slice.
trait OfSlice {
    fn slice(&self) -> u32;
}

macro_rules! of_slice {
    ($($row:ident)*) => {$(
        impl OfSlice for $row {
            fn slice(&self) -> u32 {
                self.slice
            }
        }
    )*};
}
of_slice!(StackRow AllocationRow AllocationStackRow CounterRow SystemCallRow TimelineRow ActivityRow);

struct EvidenceTables<'a> {
    dir: &'a Path,
    seen: &'a EvidenceFile,
    slices: BTreeSet<u32>,
}

impl EvidenceTables<'_> {
    /// A table of evidence that was unavailable need not be there.
    fn read<T: DeserializeOwned + OfSlice>(&self, pass: Pass, name: &str) -> Result<Vec<T>> {
        let path = self.dir.join(name);
        let mut unavailable = self.seen.unavailable.iter();
        if !path.exists() && unavailable.any(|it| it.pass == pass) {
            return Ok(Vec::new());
        }
        let rows: Vec<T> = read_table(&path, false)?;
        let is_unknown = |row: &T| !self.slices.contains(&row.slice());
        match rows.iter().position(is_unknown) {
            None => Ok(rows),
            Some(at) => bail!(
                "{}: line {}: slice {} is not in slices.csv",
                path.display(),
                at + 2,
                rows[at].slice()
            ),
        }
    }
}

fn check(slices: &[SliceRow], variants: &[usize]) -> Result<()> {
    let mut known = BTreeSet::new();
    for (at, slice) in slices.iter().enumerate() {
        let line = at + 2;
        if !variants.contains(&slice.variant) {
            bail!(
                "line {line}: variant {} is not one of explain.json's",
                slice.variant
            );
        }
        if !known.insert(slice.slice) {
            bail!("line {line}: slice {} is there twice", slice.slice);
        }
        if matches!(slice.pass, Pass::Compare | Pass::Children) {
            bail!("line {line}: `explain` has no pass \"{}\"", slice.pass);
        }
    }
    Ok(())
}
