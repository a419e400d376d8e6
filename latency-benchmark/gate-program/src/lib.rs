//! The program that counts for `--gate`, whatever its network stack. Who links this has an allocator that can count, and
//! chance and time that are the same in every run. So no other program links it.

mod fixed;

use std::env;
use std::process::ExitCode;

use anyhow::{Context, Result};
use program::{Failure, bad_input, print};
use run_format::{GateCounts, GateTask};
use thread_scope::CountingAllocator;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// Prints the counts of the cell that is the program's argument. `run` gets the cell, and a function that makes time stand
/// still.
pub fn main(run: fn(&GateTask, fn()) -> Result<GateCounts>) -> ExitCode {
    program::end(print_counts(run))
}

fn print_counts(run: fn(&GateTask, fn()) -> Result<GateCounts>) -> Result<ExitCode, Failure> {
    let task = env::args().nth(1).unwrap_or_default();
    let task: Result<GateTask, _> = serde_json::from_str(&task);
    let task = task.context(
        "the argument is not the task of a cell; this program is started by latency-benchmark",
    );
    let counts = run(&task.map_err(bad_input)?, fixed::hold_time)?;
    print(serde_json::to_string(&counts)?);
    Ok(ExitCode::SUCCESS)
}
