//! A run in memory.

use run_format::{
    run_row::RunRow,
    tables::{BandRow, BlockRow, BoundRow, ChildRow, WorkerRow},
};

use super::{blocks::Disturbances, slice::LoadedSlice};
use crate::machine;

pub(crate) struct LoadedRun {
    pub(crate) subject: usize,
    pub(crate) number: u32,
    pub(crate) row: Option<RunRow>,
    /// In the order of time.
    pub(crate) slices: Vec<LoadedSlice>,
    /// The complete blocks: in each the slices of every variant, by variant.
    pub(crate) blocks: Vec<Vec<usize>>,
    /// What the machine did in complete blocks.
    pub(crate) machine: Vec<BlockRow>,
    /// With those that were disturbed, if that is more.
    pub(crate) all_blocks: Option<Vec<Vec<usize>>>,
    /// Complete blocks that are not in `blocks` because they were disturbed, and those that nevertheless are.
    pub(crate) set_aside: Disturbances,
    pub(crate) kept: Disturbances,
    /// Of the slices above, as are the children.
    pub(crate) bands: Vec<BandRow>,
    pub(crate) children: Vec<ChildRow>,
    /// Of slices in `blocks` and sites of which nothing was lost.
    pub(crate) bounds: Vec<BoundRow>,
    /// Where central has several.
    pub(crate) workers: Vec<WorkerRow>,
}

impl LoadedRun {
    /// The machine, if it is not said for the whole sweep.
    pub(crate) fn host(&self) -> Option<String> {
        self.row.as_ref()?.machine.as_ref().map(machine::name)
    }

    pub(crate) fn slice(&self, number: u32) -> Option<&LoadedSlice> {
        let found = self.slices.binary_search_by_key(&number, |it| it.row.slice);
        found.ok().map(|at| &self.slices[at])
    }
}
