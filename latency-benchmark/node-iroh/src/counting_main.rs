//! The program for `explain`. It is the same as the other, but its allocator can count.

use node_kit::scope::CountingAllocator;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

fn main() -> std::process::ExitCode {
    iroh_node::main()
}
