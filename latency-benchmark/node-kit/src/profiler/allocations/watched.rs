//! The counts of a thread. Only the thread itself changes them.
#![allow(unsafe_code, reason = "each thread accesses only its own data")]

use std::cell::{Cell, UnsafeCell};
use std::ptr;

use crate::profiler::Unobservable;
use crate::profiler::registers::Registers;
use crate::profiler::stack_writer::{Clock, Moment, SampledObject, StackReader, StackWriter};

/// The allocations of a thread. Freed memory is not subtracted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AllocationTotals {
    /// Calls of the allocator. Growing a block (`realloc`) counts, shrinking it does not.
    pub objects: u64,
    /// The requested bytes. A block that grows counts with its new size, because it may have been copied.
    pub bytes: u64,
}

/// Its initialisation runs no code and it has no destructor, so using it never allocates.
struct AllocationCounts {
    objects: Cell<u64>,
    bytes: Cell<u64>,
    /// The number of objects until the next sample, including the sampled one.
    distance: Cell<u64>,
    /// Null if the thread is not watched.
    watched: Cell<*const WatchedThread>,
}

thread_local! {
    static COUNTS: AllocationCounts = const {
        AllocationCounts {
            objects: Cell::new(0),
            bytes: Cell::new(0),
            distance: Cell::new(0),
            watched: Cell::new(ptr::null()),
        }
    };
}

/// Watches the calling thread as long as it lives. The memory for that is never freed, since the thread may allocate
/// until its very end.
pub(super) fn watch(sample_every: u64, clock: Clock) -> Result<StackReader, Unobservable> {
    let (writer, reader) = StackWriter::new("allocations", clock())?;
    let watched: &'static WatchedThread = Box::leak(Box::new(WatchedThread {
        sample_every,
        clock,
        stacks: UnsafeCell::new(writer),
    }));
    COUNTS.with(|counts| {
        counts.distance.set(watched.next_distance());
        counts.watched.set(watched);
    });
    Ok(reader)
}

/// The allocations of the calling thread since it is watched, while counting was on. This is cheap enough to be called around
/// every operation.
#[inline]
pub fn thread_totals() -> AllocationTotals {
    COUNTS.with(|counts| AllocationTotals {
        objects: counts.objects.get(),
        bytes: counts.bytes.get(),
    })
}

/// Counts one object of the calling thread. Returns the thread if the object is to be sampled.
pub(super) fn add(size: u64) -> Option<&'static WatchedThread> {
    COUNTS.with(|counts| {
        // SAFETY: null, or leaked by `watch`.
        let watched = unsafe { counts.watched.get().as_ref() }?;
        counts.objects.set(counts.objects.get() + 1);
        counts.bytes.set(counts.bytes.get() + size);
        let distance = counts.distance.get() - 1;
        let is_sampled = distance == 0;
        let next = if is_sampled {
            watched.next_distance()
        } else {
            distance
        };
        counts.distance.set(next);
        is_sampled.then_some(watched)
    })
}

pub(super) struct WatchedThread {
    sample_every: u64,
    clock: Clock,
    /// Only the watched thread uses it, and no use is nested in another one.
    stacks: UnsafeCell<StackWriter>,
}

impl WatchedThread {
    /// Takes the stack of the function whose registers these are.
    pub(super) fn take_stack(&self, size: u64, registers: Registers) {
        let moment = Moment {
            at: (self.clock)(),
            object: Some(SampledObject {
                size,
                stands_for: self.sample_every,
            }),
            ..Moment::default()
        };
        // SAFETY: this is the watched thread, and nothing in here allocates.
        unsafe { &mut *self.stacks.get() }.write(|| moment, registers);
    }

    /// A random distance. Every object has the same chance to be sampled, independently of all others, so periodic code
    /// cannot coincide with the sampling.
    fn next_distance(&self) -> u64 {
        // SAFETY: as above.
        let random = unsafe { &mut *self.stacks.get() }.random();
        let chance = (self.sample_every as f64).recip();
        // The distribution is geometric. If the chance is 1, this divides by infinity.
        1 + ((1.0 - random).ln() / (-chance).ln_1p()) as u64
    }
}
