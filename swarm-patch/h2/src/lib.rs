// The crate is upstream's, with code inserted: `cargo run -p swarm-patch -- diff --stack h2` shows it.
// We do not fix its warnings.
#![allow(warnings, clippy::all, clippy::pedantic)]

include!(concat!(env!("OUT_DIR"), "/src/lib.rs"));

/// Runs upstream's own unit tests, which come with its sources, once more under budgets.
#[cfg(test)]
mod under_budgets {
    #[test]
    fn passes_under_budgets() {
        quickcheck::passes_under_budgets(&[], &[]);
    }
}
