//! Cuts the slices of a run. Threads of the measured program note what they see, with its time, in buffers of their own. The
//! measuring thread empties the buffers, cuts slices out of their entries, and writes them. `node-ab` uses this to measure an
//! application, and `node-kit` to measure central.
#![allow(
    missing_docs,
    reason = "fields have the names of the columns that they fill"
)]

pub mod cotenant;
mod durations;
mod log;
mod observers;
mod order;
mod replay;
mod run_writer;
mod slice;
mod sums;
mod whole_polls;

pub use self::{
    durations::*, log::*, observers::*, order::*, replay::*, run_writer::*, slice::*, sums::*,
    whole_polls::*,
};
