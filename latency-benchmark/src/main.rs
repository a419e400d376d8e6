//! The program that measures.

use std::process::ExitCode;

fn main() -> ExitCode {
    latency_benchmark::main()
}
