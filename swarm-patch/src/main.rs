//! The command `swarm-patch` shows and applies the graft.
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

mod cli;

use std::{
    io::{self, Write},
    process::ExitCode,
};

fn main() -> ExitCode {
    match cli::run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            // There is nowhere to say that nobody reads.
            let _ = writeln!(io::stderr(), "error: {:#}", failure.error);
            ExitCode::from(failure.code)
        }
    }
}
