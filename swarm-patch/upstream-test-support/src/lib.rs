//! Lets upstream's own tests run here as they are.
//!
//! Upstream's tests use `quickcheck` through a crate of their repository that was never published
//! and adds ranges to it. This is a crate of the same use, to be renamed to `quickcheck` by those who
//! depend on it.

mod env;
mod ranges;
mod suite;

pub use quickcheck::*;
pub use ranges::GenRange;
pub use suite::{Excluded, passes_under_budgets};
