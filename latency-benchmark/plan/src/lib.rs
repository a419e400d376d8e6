//! What a sweep measures when: its cells and launches, the slices of a block, and when a run knows enough to stop. The
//! tool plans sweeps with it, node programs cut their blocks by it, and the analysis finds the cells of a shard.
#![allow(missing_docs)] // As in `run-format`: the names of figures are those of its tables.

pub mod block;
pub mod cells;
pub mod changes;
pub mod jobs;
pub mod run;
pub mod sums;
