//! The program that counts for `--gate`. Its allocator can count, and chance and time are the same in every run.

mod fixed;

use std::env;
use std::process::ExitCode;

use anyhow::Context;
use program::{Failure, bad_input, print};
use run_format::GateTask;
use thread_scope::CountingAllocator;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

fn main() -> ExitCode {
    program::end(run())
}

fn run() -> Result<ExitCode, Failure> {
    let task = env::args().nth(1).unwrap_or_default();
    let task: Result<GateTask, _> = serde_json::from_str(&task);
    let task = task.context(
        "the argument is not the task of a cell; this program is started by latency-benchmark",
    );
    let counts = libp2p_node::gate::run(&task.map_err(bad_input)?, fixed::hold_time)?;
    print(serde_json::to_string(&counts)?);
    Ok(ExitCode::SUCCESS)
}
