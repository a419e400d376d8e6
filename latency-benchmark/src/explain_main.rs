//! The program that `latency-benchmark explain` has run the cells.

use std::process::ExitCode;

use thread_scope::CountingAllocator;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

fn main() -> ExitCode {
    latency_benchmark::main()
}
