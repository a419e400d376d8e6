// The crate is upstream's, with lines inserted: `cargo run -p swarm-patch -- diff` shows them. We do not fix its warnings.
#![allow(warnings, clippy::all, clippy::pedantic)]
// Upstream's crate root has this attribute, which an included file cannot have.
#![forbid(unsafe_code)]

include!(concat!(env!("OUT_DIR"), "/src/lib.rs"));

/// Runs upstream's own unit tests, which come with its sources, once more under budgets.
#[cfg(test)]
mod under_budgets {
    // Cargo.toml renames it, because upstream's tests expect that name.
    use quickcheck as upstream_test_support;

    #[test]
    fn passes_under_budgets() {
        upstream_test_support::passes_under_budgets(&[], &[]);
    }
}
