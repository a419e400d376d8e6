//! All integration tests of this package in one program, which links once.
#![allow(missing_docs, clippy::unwrap_used)]

mod bench;
mod bounds;
mod browser;
mod cores;
mod damaged;
mod explain;
mod explain_subjects;
mod export;
mod findings;
mod floor;
mod foreign;
mod fuzz;
mod golden;
mod in_grid;
mod machine;
mod margins;
mod merge;
mod outside;
mod packed;
mod page;
mod published;
mod readers;
mod refusals;
mod rr;
mod soak;
