//! The program that explains: the same, but its allocator can count.

use node_kit::scope::CountingAllocator;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

fn main() -> std::process::ExitCode {
    iroh_node::main()
}
