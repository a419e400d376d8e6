//! Intervals are promises about repetition, so they are held to them on simulated sweeps whose truth
//! is known. Small versions run with all tests; the full ones print the tables of `METHODS.md`:
//!
//! ```text
//! cargo test --release -p analysis -- --ignored --nocapture simulation
//! ```

mod coverage;
mod discoveries;
mod draw;
mod rivals;
mod stopping;
mod world;
mod worlds;
