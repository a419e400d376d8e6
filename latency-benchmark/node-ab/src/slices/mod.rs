//! What is seen in a program while it works. Whoever sees something notes it with its time in a buffer of its own; the
//! slices are cut out of the buffers afterwards, on another thread, and written as a run. Measuring an
//! application and the measuring loop of central, which is in `node-kit`, are made of this.
#![allow(missing_docs)] // Names are those of the columns that they fill.

pub mod cotenant;
mod log;
mod observers;
mod order;
mod replay;
mod run_writer;
mod slice;
mod sums;
mod whole_polls;

pub use self::{
    log::*, observers::*, order::*, replay::*, run_writer::*, slice::*, sums::*, whole_polls::*,
};
