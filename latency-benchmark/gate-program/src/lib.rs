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

/// Runs a cell: the task, and what makes time stand still.
pub type Run = fn(&GateTask, fn()) -> Result<GateCounts>;

/// Runs the cell of the program's argument and prints its counts.
pub fn main(run: Run) -> ExitCode {
    program::end(run_task(run))
}

fn run_task(run: Run) -> Result<ExitCode, Failure> {
    let task = env::args().nth(1).unwrap_or_default();
    let task: Result<GateTask, _> = serde_json::from_str(&task);
    let task = task.context(
        "the argument is not the task of a cell; this program is started by latency-benchmark",
    );
    let counts = run(&task.map_err(bad_input)?, fixed::hold_time)?;
    print(serde_json::to_string(&counts)?);
    Ok(ExitCode::SUCCESS)
}
