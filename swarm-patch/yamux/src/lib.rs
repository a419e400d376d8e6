// The crate is upstream's, with lines inserted: `cargo run -p swarm-patch -- diff` shows them.
// Its warnings are not ours to heed.
#![allow(warnings, clippy::all, clippy::pedantic)]
// As upstream's root says. An included file cannot.
#![forbid(unsafe_code)]

include!(concat!(env!("OUT_DIR"), "/src/lib.rs"));

/// Upstream's own unit tests, which come along with its sources, once more under budgets.
#[cfg(test)]
mod under_budgets {
    #[test]
    fn passes_under_budgets() {
        quickcheck::passes_under_budgets(&[]);
    }
}
