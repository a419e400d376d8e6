//! The tool. It plans a sweep, and starts the nodes of each cell in a network of their own. The nodes are other programs, so
//! it links no network stack (see `run-format/src/protocol.rs`). These are its modules:
//!
//! ```text
//! cli, args                                the command line, and arguments that several verbs share
//! sweep_verb → sweep                       the verb `sweep`; plans launches and keeps their rows
//! gate, search, bundle                     options of `sweep` that do something else
//! explain, rr, soak, lab_verb              the other verbs
//! session → cell                           starts the process of a cell → is that process
//! conversation, turn_order, stopped        lines to and from children, their turns, and children that are stopped
//! node_program, programs, subject_builds   finds and builds the programs of nodes
//! manifest, results_folder                 the files of a run that no other module writes
//! progress, progress_line                  the terminal
//! ```
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
