//! All integration tests of this package in one program, which links once.
#![allow(clippy::unwrap_used)]

mod counters;
mod exhausted_stack;
mod scope;
mod spinner;
mod stacks;
mod support;
mod symbols;
mod system_calls;
mod system_calls_signals;
mod watched;
mod without_allocator;
