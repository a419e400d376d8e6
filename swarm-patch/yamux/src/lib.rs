// The crate is upstream's, with lines inserted: `cargo run -p swarm-patch -- diff` shows them. We do not fix its warnings.
#![allow(warnings, clippy::all, clippy::pedantic)]
// Upstream's crate root has this attribute, which an included file cannot have.
#![forbid(unsafe_code)]

include!(concat!(env!("OUT_DIR"), "/src/lib.rs"));

/// Runs upstream's own unit tests, which come with its sources, once more under budgets.
#[cfg(test)]
mod under_budgets {
    #[test]
    fn passes_under_budgets() {
        quickcheck::passes_under_budgets(&[], &[]);
    }
}
