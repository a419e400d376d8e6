//! What a sweep measures when: its cells and launches, and the slices of a block. The
//! tool plans sweeps with it, node programs cut their blocks by it, and the analysis finds the cells of a shard.

pub mod block;
pub mod cells;
pub mod run;
pub mod sums;
