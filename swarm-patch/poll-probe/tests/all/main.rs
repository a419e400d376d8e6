//! All integration tests of this package in one program, which links once.
#![allow(clippy::unwrap_used)]

mod buffers;
mod common;
mod delegated_bounds;
mod futures;
mod invocations;
mod iteration_ends;
mod metered;
mod muxers;
mod own_time;
mod quic;
mod wakes;
