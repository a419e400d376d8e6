//! What the measuring loop takes turns with.

use std::time::{Duration, Instant};

use anyhow::Result;
use run_format::{protocol::NodeMessage, run_row::Stop};

use super::sample::Clocks;

/// What is measured in turns.
pub(super) trait Source {
    /// Whose turn it is, and for what.
    type Turn: Copy;
    /// Everything seen in a slice.
    type Seen;

    /// How long all peers may be silent before that is an error. Turns four times as long extend it.
    const PATIENCE: Duration = Duration::from_secs(10);

    /// The turns that get everything going, each until every peer has answered.
    fn warm_up(&self) -> Vec<Self::Turn>;

    /// What has a slice in a block.
    fn block(&self, block: u32) -> Vec<Self::Turn>;

    /// How many turns such a slice has.
    fn turns(&self, _: Self::Turn) -> u32 {
        1
    }

    /// Ends the turn before and begins `turn`; after the last one there is none.
    fn switch(&mut self, turn: Option<Self::Turn>) -> Result<()>;

    /// What the next slice needs from its start is arranged while the turn settles.
    fn prepare(&mut self, _: Self::Turn) {}

    /// Begins the first turn of a slice.
    fn open(&mut self, turn: Self::Turn) -> Self::Seen;

    /// Begins another turn of it.
    fn reopen(&mut self, _: &mut Self::Seen) {
        unreachable!("a slice of this source has one turn");
    }

    /// Empties the buffers into the slices that what is there belongs to.
    fn collect(&mut self, into: &mut [&mut Self::Seen]);

    /// Whether a slice gets polls that began in a turn until the next turn is over. Without that, long ones would be
    /// missing more often than short ones.
    fn waits_for_late_polls(&self) -> bool {
        false
    }

    /// Ends a turn. Polls that it began may still be collected.
    fn close(&mut self, turn: Self::Turn, seen: &mut Self::Seen);

    /// Answered requests of each peer.
    fn answers(seen: &Self::Seen) -> Vec<u64>;

    /// Takes a slice whose polls are all over. Returns what to report of it.
    fn keep(&mut self, slice: FinishedSlice<Self>) -> Result<Option<NodeMessage>>
    where
        Self: Sized;

    /// Takes what a slice used, as soon as its last turn is over.
    fn is_over(&mut self, _: Self::Turn, _: &Self::Seen, _: &Clocks) {}

    /// Ends a block, which the machine may have disturbed.
    fn end_block(&mut self, _is_disturbed: bool) {}

    /// What to report after a block.
    fn report(&self, _block: u32) -> Option<NodeMessage> {
        None
    }

    /// Why it is enough after that number of blocks. None leaves it to the time.
    fn is_enough(&self, _blocks: u32) -> Option<Stop> {
        None
    }

    /// Whether, after that number of blocks, none begins that would end after the planned time.
    fn has_time_limit(&self, _blocks: u32) -> bool {
        true
    }

    /// When the slice of that block ends, if that is not a slice's length after its beginning.
    fn fixed_end(&self, _started: Instant, _block: u32) -> Option<Instant> {
        None
    }

    /// Whether a request to stop ends the slice at once, without keeping it.
    fn stops_within_slices(&self) -> bool {
        false
    }
}

/// A slice that is over.
pub(super) struct FinishedSlice<S: Source> {
    /// From 1.
    pub(super) number: u32,
    pub(super) block: u32,
    pub(super) turn: S::Turn,
    pub(super) seen: S::Seen,
    /// Over all its turns.
    pub(super) used: Clocks,
}
