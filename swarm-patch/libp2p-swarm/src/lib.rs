// The crate is upstream's, with lines inserted: `cargo run -p swarm-patch -- diff` shows them.
// Its warnings are not ours to heed.
#![allow(warnings, clippy::all, clippy::pedantic)]

include!(concat!(env!("OUT_DIR"), "/src/lib.rs"));
