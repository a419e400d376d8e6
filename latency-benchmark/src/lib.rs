//! Measures the polls of a libp2p-style swarm over peers × round-trip time × payload.

mod args;
mod cell;
mod cell_process;
mod cli;
mod company;
mod config;
mod duration;
mod evidence;
mod explain;
mod failure;
mod grid;
mod node;
mod observe;
mod payload;
#[cfg(feature = "planted")]
mod plant;
mod signals;
mod slices;
mod soak;
mod store;
mod sweep;
mod verbs;

use std::process::ExitCode;

/// The program. To be called first of all: whatever a verb needs to do before any thread exists, it
/// still can.
pub fn main() -> ExitCode {
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
