//! Lets upstream's own tests run here unchanged.
//!
//! Upstream's tests use `quickcheck` through a crate of their repository that was never published and adds
//! ranges to it. This crate replaces it, and its dependents rename it to `quickcheck`.

mod env;
mod ranges;
mod suite;

pub use quickcheck::*;
pub use ranges::GenRange;
pub use suite::{Excluded, passes_under_budgets};
