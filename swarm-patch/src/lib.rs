//! Takes pristine sources of libp2p-swarm and yamux and grafts a poll probe with work budgets onto
//! them, by inserting lines. No line of the original is changed, moved or removed.
//!
//! The way of a source through this crate: [`pristine`] has cargo find it, [`sites`] says which
//! functions are of interest, [`locate`] finds them in the syntax tree, [`poll_site`] and
//! [`task_site`] decide on the lines, [`graft`] inserts them, and [`package`] writes the result
//! where the packages `libp2p-swarm` and `yamux` of this workspace compile it from.

mod calls;
mod context_uses;
pub mod crate_source;
pub mod error;
pub mod graft;
pub mod insertion;
pub mod locate;
pub mod package;
mod plain;
pub mod poll_site;
pub mod pristine;
mod racing_test;
pub mod sites;
pub mod task_site;
mod text;
mod ways_out;

#[cfg(feature = "cli")]
pub mod budget_patch;
#[cfg(feature = "subjects")]
pub mod checkout;
#[cfg(feature = "diff")]
pub mod diff;
#[cfg(feature = "subjects")]
pub mod subject;

pub use racing_test::RacingTest;
