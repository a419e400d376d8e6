//! Programs built against other people's versions of a stack: a checkout, a revision of one, another release.
//!
//! [`spec`] parses the name of a subject. [`checkout`] determines the state of a checkout and copies it.
//! [`crates`] finds its crates. [`builder`] builds our benchmark with them and keeps the program. `run_format::subject`
//! describes a subject in files. The user's checkout is only read.

mod build;
pub mod builder;
pub mod checkout;
pub(crate) mod compiler;
pub mod crates;
mod git;
mod lock_file;
pub(crate) mod ours;
pub mod spec;

pub use self::crates::{StackSource, Subject};
