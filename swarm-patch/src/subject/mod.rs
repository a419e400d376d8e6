//! Subjects: programs built against other people's versions of a stack, such as a checkout, a revision of a checkout, or
//! another release.
//!
//! [`spec`] and [`source_spec`] parse the name of a subject. [`checkout`] determines the state of a checkout and copies it.
//! [`crates`] finds the crates of the subject, some of which come from elsewhere. [`builder`] builds our benchmark with these
//! crates and keeps the program. `run-format/src/subject.rs` describes a subject in files. The user's checkout is only read.

mod build;
pub mod builder;
pub mod checkout;
pub(crate) mod compiler;
pub mod crates;
mod git;
mod lock_file;
pub(crate) mod ours;
pub(crate) mod source;
pub mod source_spec;
pub mod spec;
mod virtual_timer;

pub use self::crates::Subject;
pub use self::source::ResolvedSource;
