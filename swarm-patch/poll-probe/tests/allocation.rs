//! The hot path allocates only the buffers of a thread, once. This is a separate test binary, since it
//! replaces the allocator.
#![allow(unsafe_code, reason = "an allocator that counts")]
#![allow(clippy::unwrap_used)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Waker};
use std::thread;

use poll_probe::{Capacity, Invocation, Mode, ProcessBudgets, Recorder, SiteId, Variant};

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

/// Bytes that the process has allocated and not freed.
static IN_USE: AtomicUsize = AtomicUsize::new(0);

const CONNECTION: SiteId = SiteId::new(0);

fn budgets(budget: Option<&str>) -> ProcessBudgets {
    let with = |budget: &str| ProcessBudgets::NONE.with(CONNECTION, budget.parse().unwrap());
    budget.map_or(ProcessBudgets::NONE, with)
}

/// The variant in force and the bytes in use belong to the whole process, so these tests take turns.
static TURN: Mutex<()> = Mutex::new(());

struct Counting;

// SAFETY: everything is the system allocator's.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
        IN_USE.fetch_add(layout.size(), Ordering::Relaxed);
        // SAFETY: as the caller promised.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        IN_USE.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as the caller promised.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn allocations() -> u64 {
    ALLOCATIONS.with(Cell::get)
}

fn invocation(cx: &mut Context<'_>) {
    let mut probe = Invocation::enter(CONNECTION, &["a", "b"]);
    for _ in 0..3 {
        if probe.iterate(cx).is_pending() {
            break;
        }
        probe.child(0);
        probe.child(1);
        probe.child_ended();
    }
}

#[test]
fn an_invocation_allocates_nothing_whatever_is_recorded_and_even_with_full_buffers() {
    let _alone = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let cx = &mut Context::from_waker(Waker::noop());
    let recorder = Recorder::new(Capacity {
        records: 100,
        marks: 100,
    });
    for attached in [false, true] {
        if attached {
            attach_and_make_buffers(&recorder, cx);
        }
        for mode in [Mode::Off, Mode::Minimal, Mode::Children] {
            for budget in [
                None,
                Some("2"),
                Some("1s"),
                Some("coop"),
                Some("2/deferred"),
            ] {
                Variant {
                    budgets: budgets(budget),
                    mode,
                }
                .install();
                let before = allocations();
                for _ in 0..1_000 {
                    invocation(cx);
                }
                assert_eq!(
                    allocations() - before,
                    0,
                    "{budget:?}, {mode:?}, attached: {attached}"
                );
            }
        }
    }
}

/// Only the first recorded invocation of a thread allocates. Attaching does not, nor does an invocation
/// without a record, with or without a bound.
fn attach_and_make_buffers(recorder: &Recorder, cx: &mut Context<'_>) {
    for budget in [None, Some("1s")] {
        let off = Variant {
            budgets: budgets(budget),
            mode: Mode::Off,
        };
        off.install();
        let before = allocations();
        recorder.attach();
        for _ in 0..1_000 {
            invocation(cx);
        }
        assert_eq!(allocations() - before, 0, "{off:?}");
    }
    let recording = Variant {
        budgets: ProcessBudgets::NONE,
        mode: Mode::Minimal,
    };
    recording.install();
    let before = allocations();
    invocation(cx);
    assert!(allocations() - before > 0, "the counter counts");
}

#[test]
fn the_buffers_of_threads_that_ended_go_in_the_next_drain() {
    const THREADS: usize = 10;
    let _alone = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let recorder = Arc::new(Recorder::new(Capacity {
        records: 1 << 14,
        marks: 1 << 14,
    }));
    let recording = Variant {
        budgets: ProcessBudgets::NONE,
        mode: Mode::Minimal,
    };
    recording.install();
    let before = IN_USE.load(Ordering::Relaxed);
    for _ in 0..THREADS {
        let recorder = Arc::clone(&recorder);
        let polling = thread::spawn(move || {
            recorder.attach();
            invocation(&mut Context::from_waker(Waker::noop()));
        });
        polling.join().unwrap();
    }
    let a_buffer = 32 << 14;
    let held = IN_USE.load(Ordering::Relaxed) - before;
    assert!(held > THREADS * a_buffer, "{held} bytes");
    assert_eq!(recorder.drain(|_| {}).records, THREADS as u64);
    let held = IN_USE.load(Ordering::Relaxed).saturating_sub(before);
    assert!(held < a_buffer, "{held} bytes");
}
