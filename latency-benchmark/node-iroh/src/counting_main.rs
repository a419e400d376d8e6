//! The program that explains: the same, but its allocator can count.

use std::process::ExitCode;

use thread_scope::CountingAllocator;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

fn main() -> ExitCode {
    node_kit::main::<iroh_node::IrohNode>()
}
