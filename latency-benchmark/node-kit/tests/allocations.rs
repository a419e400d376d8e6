//! Tests with threads that allocate a known number of objects.
#![allow(clippy::unwrap_used)]

use std::sync::Mutex;
use std::{hint, thread};

use node_kit::profiler::allocations::{self, AllocationTotals};
use node_kit::profiler::{CountingAllocator, SampledObject, StackReader, Symbols};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// Counting is on or off for the whole process, so these tests run one after the other.
static TURN: Mutex<()> = Mutex::new(());

/// Runs `work` on a new thread, since a thread can be watched only once.
fn on_a_thread<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    let _turn = TURN.lock().unwrap();
    thread::scope(|scope| scope.spawn(work).join().unwrap())
}

fn counted(work: impl FnOnce()) -> AllocationTotals {
    let before = allocations::thread_totals();
    allocations::set_counting(true);
    work();
    allocations::set_counting(false);
    let after = allocations::thread_totals();
    AllocationTotals {
        objects: after.objects - before.objects,
        bytes: after.bytes - before.bytes,
    }
}

fn objects(stacks: &mut StackReader) -> impl Iterator<Item = SampledObject> {
    stacks.take().filter_map(|stack| stack.moment.object)
}

fn boxes(objects: u64) {
    for _ in 0..objects {
        drop(hint::black_box(Box::new([0_u8; 24])));
    }
}

#[test]
fn every_object_of_the_watched_thread_is_counted() {
    on_a_thread(|| {
        let _stacks = allocations::watch_this_thread(1000, || 0).unwrap();
        let expected = AllocationTotals {
            objects: 10_000,
            bytes: 240_000,
        };
        assert_eq!(counted(|| boxes(10_000)), expected);
        assert_eq!(counted(|| {}), AllocationTotals::default());
    });
}

#[test]
fn growing_counts_as_the_new_size_and_shrinking_does_not() {
    on_a_thread(|| {
        let _stacks = allocations::watch_this_thread(1000, || 0).unwrap();
        let mut bytes: Vec<u8> = Vec::new();
        let first = counted(|| bytes.reserve_exact(100));
        assert_eq!((first.objects, first.bytes), (1, 100));
        bytes.push(0);
        let grown = counted(|| bytes.reserve_exact(299));
        assert_eq!((grown.objects, grown.bytes), (1, 300));
        let shrunk = counted(|| bytes.shrink_to_fit());
        assert_eq!(shrunk, AllocationTotals::default());
        let zeroed = counted(|| drop(hint::black_box(vec![0_u8; 5000])));
        assert_eq!((zeroed.objects, zeroed.bytes), (1, 5000));
    });
}

#[test]
fn nothing_of_other_threads_and_nothing_while_off_is_counted() {
    on_a_thread(|| {
        let mut stacks = allocations::watch_this_thread(1, || 0).unwrap();
        let before = allocations::thread_totals();
        boxes(100);
        assert_eq!(allocations::thread_totals(), before);

        let (go, gone) = std::sync::mpsc::channel::<()>();
        let (done, is_done) = std::sync::mpsc::channel();
        let other = thread::spawn(move || {
            gone.recv().unwrap();
            boxes(100_000);
            let counted = allocations::thread_totals();
            allocations::set_counting(false);
            done.send(counted).unwrap();
        });
        allocations::set_counting(true);
        go.send(()).unwrap();
        let other_thread = is_done.recv().unwrap();
        let after = allocations::thread_totals();
        other.join().unwrap();
        assert_eq!(other_thread, AllocationTotals::default());
        // Sending allocates on this thread.
        assert!(after.objects - before.objects < 100);
        assert!(objects(&mut stacks).all(|object| object.size != 24));
    });
}

#[inline(never)]
fn allocates_much() {
    for _ in 0..100 {
        drop(hint::black_box(Box::new([0_u8; 300])));
    }
}

#[inline(never)]
fn allocates_by_growing() {
    let mut bytes: Vec<u8> = Vec::new();
    for byte in 0..=u8::MAX {
        bytes.push(byte);
    }
    hint::black_box(bytes);
}

#[test]
fn stacks_contain_the_allocating_functions() {
    let stacks = on_a_thread(|| {
        let mut now = 0;
        let clock = {
            let ticks = std::sync::atomic::AtomicU64::new(0);
            move || ticks.fetch_add(1, std::sync::atomic::Ordering::Relaxed)
        };
        let stacks = allocations::watch_this_thread(1, clock).unwrap();
        let counted = counted(|| {
            allocates_much();
            allocates_by_growing();
            now += 1;
        });
        assert_eq!(now, 1);
        assert!(counted.objects > 100);
        (stacks, counted)
    });
    // Read by another thread, after the watched thread has ended.
    let (mut stacks, counted) = stacks;
    let mut symbols = Symbols::default();
    let (mut objects, mut bytes, mut much, mut growing, mut last) = (0, 0, 0, 0, 0);
    for stack in stacks.take() {
        let object = stack.moment.object.unwrap();
        objects += object.stands_for;
        bytes += object.size;
        let names = symbols.stack(&stack.frames);
        let innermost = names.last().unwrap();
        assert!(!innermost.contains("node_kit::profiler"), "{names:#?}");
        let has = |wanted: &str| names.iter().any(|name| name.ends_with(wanted));
        assert!(
            has("stacks_contain_the_allocating_functions::{closure}"),
            "{names:#?}"
        );
        much += u64::from(has("::allocates_much"));
        growing += u64::from(has("::allocates_by_growing"));
        assert!(stack.moment.at > last, "times go on");
        last = stack.moment.at;
    }
    assert_eq!(much, 100);
    assert!(growing > 1);
    assert_eq!((objects, bytes), (counted.objects, counted.bytes));
    assert_eq!(stacks.lost(), 0);
}

#[test]
fn the_numbers_of_represented_objects_are_right_on_average() {
    const EVERY: u64 = 50;
    const OBJECTS: u64 = 200_000;
    on_a_thread(|| {
        let mut stacks = allocations::watch_this_thread(EVERY, || 0).unwrap();
        // Alternating sizes: with regular distances, only one of them would be sampled.
        let counted = counted(|| {
            for _ in 0..OBJECTS / 2 {
                drop(hint::black_box(Box::new([0_u8; 16])));
                drop(hint::black_box(Box::new([0_u8; 48])));
            }
        });
        assert_eq!(counted.objects, OBJECTS);
        let mut by_size = [0_u64; 2];
        for object in objects(&mut stacks) {
            assert_eq!(object.stands_for, EVERY);
            by_size[usize::from(object.size == 48)] += object.stands_for;
        }
        assert_eq!(stacks.lost(), 0);
        // Each object has the same chance, so the number of samples has a binomial distribution.
        let chance = 1.0 / EVERY as f64;
        let expected = (OBJECTS / 2) as f64;
        let deviation = (expected * chance * (1.0 - chance)).sqrt() * EVERY as f64;
        for estimate in by_size {
            let off = (estimate as f64 - expected).abs();
            assert!(off < 6.0 * deviation, "{estimate}, ± {deviation}");
        }
    });
}
