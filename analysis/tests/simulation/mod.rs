//! Checks the intervals on simulated sweeps whose true values are known. Small versions run with all tests. The
//! full ones print the tables of `METHODS.md`:
//!
//! ```text
//! cargo test --release -p analysis -- --ignored --nocapture simulation
//! ```

mod coverage;
mod discoveries;
mod draw;
mod eliminations;
mod rivals;
mod stopping;
mod verdicts;
mod world;
mod worlds;
