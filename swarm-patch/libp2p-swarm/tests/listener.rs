//! Upstream's own `tests/listener.rs`, against the grafted crate.
#![allow(warnings, clippy::all, clippy::pedantic)]

include!(concat!(env!("OUT_DIR"), "/tests/listener.rs"));

#[test]
fn passes_under_budgets() {
    // Cargo.toml renames upstream-test-support, because upstream's tests expect that name.
    quickcheck::passes_under_budgets(&[], &[]);
}
