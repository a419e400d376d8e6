//! Takes pristine sources of crates, such as libp2p-swarm and yamux, and grafts a poll probe with work budgets onto them. The
//! graft only inserts code and wraps expressions. Only [`package`] removes something: inner attributes, which `include!`
//! refuses.
//!
//! A source passes through these modules: [`pristine`] has cargo find it, [`stacks`] names the functions to instrument,
//! `locate` finds them in the syntax tree, `outer`, `inline` and `named_expressions` make the code, [`mod@graft`] inserts
//! the code, and [`package`] makes the result fit for `include!` and writes it to where this workspace's package of the same
//! name compiles it.

mod calls;
pub mod crate_dir;
mod early_return;
mod error;
pub mod graft;
mod idents;
mod inline;
mod inner;
pub mod insertion;
mod locate;
mod methods;
mod named_expressions;
mod outer;
pub mod package;
pub mod pristine;
pub mod remedies;
pub mod sites;
pub mod stacks;
pub mod sync;
mod text;

#[cfg(feature = "subjects")]
pub mod budget_patch;
#[cfg(feature = "subjects")]
pub mod cargo_run;
#[cfg(feature = "diff")]
pub mod diff;
#[cfg(feature = "subjects")]
pub mod edits;
#[cfg(feature = "subjects")]
pub mod layouts;
#[cfg(feature = "diff")]
pub mod node_build;
#[cfg(feature = "subjects")]
mod site_records;
#[cfg(feature = "subjects")]
pub mod source_tree;
#[cfg(feature = "subjects")]
pub mod subject;
#[cfg(feature = "subjects")]
pub mod tables;
#[cfg(feature = "subjects")]
pub mod vendor;
