// The crate is upstream's, with code inserted: `cargo run -p swarm-patch -- diff --stack iroh` shows it.
// We do not fix its warnings.
#![allow(warnings, clippy::all, clippy::pedantic)]

// Upstream's tests need a relay, and its crates.
#[cfg(not(test))]
include!(concat!(env!("OUT_DIR"), "/src/lib.rs"));
