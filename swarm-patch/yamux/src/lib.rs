// The crate is upstream's, with lines inserted: `cargo run -p swarm-patch -- diff` shows them. We do not fix its warnings.
#![allow(warnings, clippy::all, clippy::pedantic)]
// As in upstream's crate root. An included file cannot have this attribute.
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
