//! Counts the allocations of a thread, in programs whose allocator is the [`CountingAllocator`], as in `tests/allocations.rs`.

mod allocator;
mod watched;

use std::hint;
use std::sync::atomic::Ordering;

pub use self::allocator::CountingAllocator;
pub use self::watched::{AllocationTotals, thread_totals};
use crate::profiler::Unobservable;
use crate::profiler::stack_writer::StackReader;

/// Counts the allocations of the calling thread while counting is on, and takes the stack of one in `sample_every` objects,
/// chosen at random. Another thread may take the samples.
///
/// The allocator calls `clock`, so `clock` must not allocate. The memory for watching a thread is kept until the process ends,
/// so a thread should be watched only once.
pub fn watch_this_thread(
    sample_every: u64,
    clock: impl Fn() -> u64 + Send + Sync + 'static,
) -> Result<StackReader, Unobservable> {
    if !is_installed() {
        let why = "this node program was built without the allocator that counts them \
             (to build the one with it: cargo build --profile explain -p libp2p-node --bin libp2p-node-counting --features symbols)";
        return Err(Unobservable::new("allocations", why));
    }
    watched::watch(sample_every, Box::new(clock))
}

/// Switches counting on or off for all watched threads.
pub fn set_counting(counting: bool) {
    allocator::COUNTING.store(counting, Ordering::Relaxed);
}

/// Whether the allocator of this program is the [`CountingAllocator`].
fn is_installed() -> bool {
    let counting = allocator::COUNTING.swap(true, Ordering::Relaxed);
    drop(hint::black_box(Box::new(0_u8)));
    set_counting(counting);
    allocator::WAS_CALLED.load(Ordering::Relaxed)
}
