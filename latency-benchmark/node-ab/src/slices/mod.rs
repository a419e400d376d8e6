//! Cuts the slices of a run. Threads of the measured program note what they see, with its time, in buffers of their own. The
//! measuring thread empties the buffers, cuts slices out of their entries, and writes them. `node-ab` uses this to measure an
//! application, and `node-kit` to measure central.
#![allow(
    missing_docs,
    reason = "fields have the names of the columns that they fill"
)]

pub mod cotenant;
mod durations;
mod idle_polls;
mod log;
mod observers;
mod order;
mod polls_with_children;
mod replay;
mod run_writer;
mod slice;
mod sums;

pub use self::{
    durations::*, idle_polls::*, log::*, observers::*, order::*, polls_with_children::*, replay::*,
    run_writer::*, slice::*, sums::*,
};
