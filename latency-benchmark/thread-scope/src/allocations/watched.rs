//! What is counted of a thread, by the thread.
#![allow(unsafe_code, reason = "a thread works with what it alone has")]

use std::{
    cell::{Cell, UnsafeCell},
    ptr,
};

use rand::{RngExt as _, SeedableRng as _, rngs::SmallRng};

use super::Allocated;
use crate::{
    Clock,
    code::Code,
    memory::Memory,
    record::Writer,
    registers::Registers,
    walk::{self, Cache, FRAMES},
};

/// Initialised without code and without a destructor, so that using it never allocates.
pub(super) struct Counts {
    objects: Cell<u64>,
    bytes: Cell<u64>,
    /// Objects until one whose stack is taken, that one included.
    distance: Cell<u64>,
    /// None where the thread is not watched.
    watched: Cell<*const Watched>,
}

thread_local! {
    static COUNTS: Counts = const {
        Counts {
            objects: Cell::new(0),
            bytes: Cell::new(0),
            distance: Cell::new(0),
            watched: Cell::new(ptr::null()),
        }
    };
}

impl Counts {
    pub(super) fn is_watched() -> bool {
        COUNTS.with(|counts| !counts.watched.get().is_null())
    }

    /// From now on, for as long as the thread lives: it may allocate until its very end.
    pub(super) fn watch(watched: Watched) {
        let watched: &'static Watched = Box::leak(Box::new(watched));
        COUNTS.with(|counts| {
            counts.distance.set(watched.next_distance());
            counts.watched.set(watched);
        });
    }

    #[inline]
    pub(super) fn of_this_thread() -> Allocated {
        COUNTS.with(|counts| Allocated {
            objects: counts.objects.get(),
            bytes: counts.bytes.get(),
        })
    }

    /// One object of the calling thread, which is `at` the function that calls this.
    pub(super) fn add(size: u64, at: Registers) {
        COUNTS.with(|counts| {
            // SAFETY: null, or leaked by `watch`.
            let Some(watched) = (unsafe { counts.watched.get().as_ref() }) else {
                return;
            };
            counts.objects.set(counts.objects.get() + 1);
            counts.bytes.set(counts.bytes.get() + size);
            let distance = counts.distance.get() - 1;
            if distance > 0 {
                counts.distance.set(distance);
            } else {
                watched.take_stack(size, at);
                counts.distance.set(watched.next_distance());
            }
        });
    }
}

pub(super) struct Watched {
    sample_every: u64,
    clock: Clock,
    code: Code,
    memory: Memory,
    /// Only the watched thread uses it, and never inside itself.
    work: UnsafeCell<Work>,
}

struct Work {
    random: SmallRng,
    cache: Cache,
    frames: [usize; FRAMES],
    writer: Writer<3>,
}

impl Watched {
    pub(super) fn new(
        sample_every: u64,
        clock: Clock,
        memory: Memory,
        writer: Writer<3>,
    ) -> Watched {
        let seed = clock() ^ (&raw const writer).addr() as u64;
        Watched {
            sample_every,
            clock,
            code: Code::read(),
            memory,
            work: UnsafeCell::new(Work {
                random: SmallRng::seed_from_u64(seed),
                cache: Cache::new_in(),
                frames: [0; FRAMES],
                writer,
            }),
        }
    }

    fn take_stack(&self, size: u64, registers: Registers) {
        let at = (self.clock)();
        // SAFETY: on the watched thread, and nothing in here allocates.
        let work = unsafe { &mut *self.work.get() };
        let found = match self.memory.stack_of_this_thread(registers.sp) {
            Some(stack) => {
                let (cache, frames) = (&mut work.cache, &mut work.frames);
                walk::walk(registers, &stack, &self.code, cache, frames)
            }
            None => 0,
        };
        let head = [at, size, self.sample_every];
        // Without the allocator itself, so that all of them are return addresses.
        let frames = work.frames[..found].get(1..).unwrap_or_default();
        work.writer.write(head, frames);
    }

    /// Such that every object is as likely as any other to be the one, whatever came before: periodic
    /// code cannot keep step with that.
    fn next_distance(&self) -> u64 {
        // SAFETY: as above.
        let work = unsafe { &mut *self.work.get() };
        let chance = (self.sample_every as f64).recip();
        let uniform = 1.0 - work.random.random::<f64>();
        // Geometric. Where the chance is 1, it divides by infinity.
        1 + (uniform.ln() / (-chance).ln_1p()) as u64
    }
}
