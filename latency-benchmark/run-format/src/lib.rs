//! The files that a run writes, defined once: the programs that measure write them with these types, and
//! `analysis` reads them with the same. [`RESULTS.md`](../RESULTS.md) and [`EXPLAIN.md`](../EXPLAIN.md)
//! describe every file, column and field.
#![allow(missing_docs)] // Those two documents describe each field, and the names are theirs.

pub mod application;
mod budgets;
pub mod checksums;
pub mod churn;
pub mod config;
pub mod crowd;
pub mod evidence;
pub mod files;
pub mod gate;
pub mod grid;
pub mod histogram_tag;
pub mod jobs;
pub mod manifest;
pub mod payload;
pub mod precision;
pub mod protocol;
mod ranges;
pub mod run_row;
pub mod runtime;
pub mod search;
pub mod shard;
mod site;
pub mod soak;
pub mod subject;
pub mod table;
pub mod tables;
pub mod variant;

#[cfg(test)]
#[path = "../tests/document/mod.rs"]
mod document;

/// The network between the nodes.
pub use lab_types::{self as network, serde_as_text};
pub use poll_probe::{Budget, Limit, Wake, number};

pub use crate::budgets::{BUDGET_FORMS, Budgets};
pub use crate::site::Site;
