//! The command `swarm-patch` shows and applies the graft.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    program::end(cli::run())
}
