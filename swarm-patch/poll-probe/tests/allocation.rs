//! The hot path allocates nothing. A test of its own, for it replaces the allocator.
#![allow(unsafe_code, reason = "an allocator that counts")]
#![allow(clippy::unwrap_used)]

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
    task::{Context, Waker},
};

use poll_probe::{Capacity, Invocation, Mode, Recorder, Site, Variant};

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

struct Counting;

// SAFETY: everything is the system allocator's.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
        // SAFETY: as the caller promised.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as the caller promised.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn allocations() -> u64 {
    ALLOCATIONS.with(Cell::get)
}

#[test]
fn an_invocation_allocates_nothing_whatever_is_recorded_and_even_with_full_buffers() {
    let cx = &mut Context::from_waker(Waker::noop());
    let recorder = Recorder::new(Capacity {
        records: 100,
        spans: 100,
    });
    for attached in [false, true] {
        if attached {
            recorder.attach();
        }
        for mode in [Mode::Off, Mode::Minimal, Mode::Children] {
            for budgets in [
                "none",
                "connection=2",
                "connection=1s",
                "connection=coop",
                "connection=2/deferred",
            ] {
                Variant {
                    budgets: budgets.parse().unwrap(),
                    mode,
                }
                .install();
                let before = allocations();
                for _ in 0..1_000 {
                    let mut probe = Invocation::enter(Site::Connection, &["a", "b"]);
                    for _ in 0..3 {
                        if probe.iterate(cx).is_pending() {
                            break;
                        }
                        probe.child(0);
                        probe.child(1);
                        probe.own();
                    }
                }
                assert_eq!(
                    allocations() - before,
                    0,
                    "{budgets}, {mode:?}, attached: {attached}"
                );
            }
        }
    }
    assert!(allocations() > 0, "the counter counts");
}
