//! A slice while its turns go on.

use plan::block::PlannedSlice;

use super::sample::Clocks;
use crate::observe::slice::ObservedSlice;

/// A slice that has begun, and may have turns to come.
pub(super) struct OpenSlice {
    pub(super) block: u32,
    /// Among the slices of its block.
    pub(super) index: usize,
    pub(super) planned: PlannedSlice,
    pub(super) turns_left: u32,
    pub(super) seen: ObservedSlice,
    /// Over all its turns.
    pub(super) used: Clocks,
}
