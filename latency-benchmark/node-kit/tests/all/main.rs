//! All integration tests of this package in one program, which links once.
#![allow(clippy::unwrap_used)]

mod counters;
mod exhausted_stack;
mod profiler;
mod stacks;
mod symbols;
mod without_allocator;
