//! Upstream's own `tests/listener.rs`, against the grafted crate.
#![allow(warnings, clippy::all, clippy::pedantic)]

include!(concat!(env!("OUT_DIR"), "/tests/listener.rs"));

#[test]
fn passes_under_budgets() {
    quickcheck::passes_under_budgets(&[], &[]);
}
