//! Upstream's own `tests/connection_close.rs`, against the grafted crate.
#![allow(warnings, clippy::all, clippy::pedantic)]

include!(concat!(env!("OUT_DIR"), "/tests/connection_close.rs"));

#[test]
fn passes_under_budgets() {
    quickcheck::passes_under_budgets(&[], &[]);
}
