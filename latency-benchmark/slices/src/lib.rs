//! What is seen in a program while it works. Whoever sees something notes it with its time in a buffer of its own; the
//! slices are cut out of the buffers afterwards, on another thread, and written as a run. Central's measuring loop and
//! `node-ab`, which measures an application, are made of this.
#![allow(missing_docs)] // Names are those of the columns that they fill.

pub mod cotenant;
pub mod idle_polls;
pub mod log;
pub mod observers;
pub mod order;
pub mod replay;
pub mod requests;
pub mod run_writer;
pub mod slice;
pub mod sums;
pub mod whole_polls;
