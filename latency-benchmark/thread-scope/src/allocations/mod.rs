//! What a thread allocates, in programs that have the [`CountingAllocator`]:
//!
//! ```
//! use thread_scope::{CountingAllocator, allocations};
//!
//! #[global_allocator]
//! static ALLOCATOR: CountingAllocator = CountingAllocator;
//!
//! let mut stacks = allocations::watch_this_thread(1, || 0)?;
//! let before = allocations::of_this_thread();
//! allocations::set_counting(true);
//! let boxed = Box::new([0_u8; 100]);
//! allocations::set_counting(false);
//! let after = allocations::of_this_thread();
//!
//! assert_eq!(after.objects - before.objects, 1);
//! assert_eq!(after.bytes - before.bytes, 100);
//! stacks.drain(|stack| assert_eq!(stack.size, 100));
//! # drop(boxed);
//! # Ok::<(), thread_scope::Unavailable>(())
//! ```

mod allocator;
mod watched;

use std::{hint, sync::OnceLock};

pub use self::allocator::CountingAllocator;
use self::{
    allocator::Switch,
    watched::{Counts, Watched},
};
use crate::{
    Unavailable,
    memory::Memory,
    record::{self, Reader},
};

/// What a thread has allocated. What it has freed is not taken off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Allocated {
    /// Calls of the allocator. Growing a block (`realloc`) is one, and shrinking it is none.
    pub objects: u64,
    /// As many as were asked for; when a block grew, its new size, for it may have been copied.
    pub bytes: u64,
}

/// Where a thread was when it allocated an object.
#[derive(Clone, Copy, Debug)]
pub struct AllocationStack<'a> {
    /// When, on the clock of the watched thread's.
    pub at: u64,
    /// Bytes that were asked for.
    pub size: u64,
    /// How many objects it stands for: each was as likely as any other to be the one in so many whose
    /// stack is taken, so that sums of these are right on average.
    pub stands_for: u64,
    /// To where the allocator and the functions around return, innermost first.
    pub frames: &'a [usize],
}

/// The stacks of the allocations of a thread.
pub struct AllocationStacks {
    stacks: Reader<3>,
}

impl AllocationStacks {
    /// Hands over the stacks since the last time, in their order.
    pub fn drain(&mut self, mut each: impl FnMut(&AllocationStack<'_>)) {
        while let Some(([at, size, stands_for], frames)) = self.stacks.read() {
            each(&AllocationStack {
                at,
                size,
                stands_for,
                frames,
            });
        }
    }

    /// Stacks for which there was no room, because nobody drained.
    pub fn lost(&self) -> u64 {
        self.stacks.lost()
    }
}

/// Counts what the calling thread allocates while counting is on, and takes the stack of one in
/// `sample_every` of the objects, chosen by chance. The stacks may be drained by another thread.
///
/// `clock` is called by the allocator, so it may not allocate. What watching a thread takes is kept
/// until the process ends, and a thread is watched once.
pub fn watch_this_thread(
    sample_every: u64,
    clock: impl Fn() -> u64 + Send + Sync + 'static,
) -> Result<AllocationStacks, Unavailable> {
    let unavailable = |why: &str| Err(Unavailable::new("allocations", why));
    if sample_every == 0 {
        return unavailable("the stack of one in 0 objects was asked for");
    }
    if !is_installed() {
        return unavailable("this program has another allocator");
    }
    if Counts::is_watched() {
        return unavailable("this thread is watched already");
    }
    let memory = match Memory::read() {
        Ok(memory) => memory,
        Err(error) => return unavailable(&format!("/proc/self/maps cannot be read: {error}")),
    };
    let (writer, stacks) = record::records();
    Counts::watch(Watched::new(sample_every, Box::new(clock), memory, writer));
    Ok(AllocationStacks { stacks })
}

/// Whether the allocations of all watched threads are counted from now on.
pub fn set_counting(counting: bool) {
    Switch::Counting.set(counting);
}

/// What the calling thread has allocated since it is watched, while counting was on. Cheap enough to
/// be called around everything.
#[inline]
pub fn of_this_thread() -> Allocated {
    Counts::of_this_thread()
}

/// Whether this program has the [`CountingAllocator`].
pub fn is_installed() -> bool {
    static IS_INSTALLED: OnceLock<bool> = OnceLock::new();
    *IS_INSTALLED.get_or_init(|| {
        Switch::Looking.set(true);
        drop(hint::black_box(Box::new(0_u8)));
        Switch::Looking.set(false);
        allocator::was_seen()
    })
}
