//! Traffic over the grafted crates. This is a program of its own because the tests of shapes and of patches build it
//! again with changed sources.
#![allow(clippy::unwrap_used)]

mod in_force;
mod no_lost_byte;
mod swarm;
mod task_monitor;
