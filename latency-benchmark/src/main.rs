//! The tool. It plans a sweep, and starts the nodes of each cell in a network of their own. The nodes are other programs, so
//! it links no network stack (see `run-format/src/protocol.rs`).
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))] // `println!` panics if the reader has gone.

mod args;
mod bundle;
mod cell;
mod cli;
mod conversation;
mod explain;

mod gate;
mod lab_verb;
mod manifest;
mod node_program;
mod programs;
mod progress;
mod progress_line;
mod results_folder;
mod rr;
mod search;
mod session;
mod soak;
mod stopped;
mod subject_builds;
mod sweep;
mod sweep_verb;
mod turn_order;

use std::process::ExitCode;

fn main() -> ExitCode {
    program::exit_main(cli::run())
}
