//! Says what a sweep measures when: its cells, its launches, and the slices of a block. The tool, the node programs and the
//! analysis use the same plan.

pub mod block;
pub mod cells;
pub mod run;
pub mod sums;
