//! All integration tests of this package in one program, which links once.
#![allow(clippy::unwrap_used)]

mod action;
mod architecture;
mod arguments;
mod bench;
mod both_ends;
mod bundle;
mod cores;
mod damaged;
mod deaths;
mod disturbed;
mod explain;
mod explain_subjects;
mod failure_lines;
mod faults;
mod figures;
mod fixture;
mod folder;
mod gate;
mod hosts;
mod injector;
mod lab_death;
mod lab_verb;
mod loads;
mod netem;
mod quic;
mod readers;
mod rr;
mod search;
mod shards;
mod soak;
mod stacks;
mod subjects;
mod sweep;
mod sweep_process;
mod turns;
