//! Everything that the programs here exchange, defined once: the files of a run, the protocol between tool and node
//! (`protocol.rs`), the text forms that users type (`budgets.rs`, `quantities.rs`, `lab/rtt.rs`), and the plan of a sweep
//! (`plan/`), which the tool, the nodes and `analysis` compute alike. [`RESULTS.md`](../RESULTS.md) and
//! [`EXPLAIN.md`](../EXPLAIN.md) describe every file, column and field.
#![allow(missing_docs)] // Those two documents describe each field, and the names are theirs.

mod application;
mod budgets;
pub mod checksums;
mod config;
#[cfg(feature = "counts")]
pub mod counts;
mod evidence;
pub mod files;
mod gate;
mod grid;
mod histogram_tag;
mod lab;
mod load;
mod manifest;
pub mod plan;
mod plausible;
mod protocol;
mod quantities;
mod remedy;
mod run_row;
mod runtime;
pub mod search;
mod site;
mod soak;
mod subject;
mod table;
mod tables;
mod text_form;

#[cfg(test)]
#[path = "../tests/document/mod.rs"]
mod document;

pub use poll_probe::{Budget, Limit, Wake};

pub use self::{
    application::*,
    budgets::*,
    config::*,
    evidence::*,
    gate::*,
    grid::*,
    histogram_tag::*,
    lab::*,
    load::*,
    manifest::*,
    plausible::{MeasuredSpan, Plausible},
    protocol::*,
    quantities::*,
    remedy::*,
    run_row::*,
    runtime::*,
    site::*,
    soak::*,
    subject::*,
    table::*,
    tables::*,
};
