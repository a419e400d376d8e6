//! Measures the polls of a libp2p-style swarm over peers × round-trip time × payload.

mod args;
mod cell;
mod cli;
mod config;
mod failure;
mod grid;
mod node;
mod observe;
mod payload;
mod signals;
mod slices;
mod store;
mod sweep;
mod verbs;

use std::process::ExitCode;

fn main() -> ExitCode {
    // Whatever a verb needs to do before any thread exists, it still can.
    match cli::run() {
        Ok(code) => code,
        Err(failure) => {
            eprintln!(
                "error: {}",
                failure::one_line(&format!("{:#}", failure.error))
            );
            ExitCode::from(failure.code)
        }
    }
}
