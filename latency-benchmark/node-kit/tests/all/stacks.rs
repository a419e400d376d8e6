//! Tests of the samples of threads whose functions are known.

use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};
use std::{hint, thread};

use node_kit::profiler::{StackSampler, Symbols};

use crate::profiler::{self, INTERVAL, Worker, clock, drain, wait_for};

const MANY: usize = 200;

/// A signal may arrive in another function, but most signals must arrive in the expected one.
#[track_caller]
fn assert_most(holds: usize, of: usize) {
    assert!(holds * 10 >= of * 9, "{holds} of {of}");
}

#[inline(never)]
fn outer(stop: &AtomicBool) {
    middle(stop);
    hint::black_box(());
}

#[inline(never)]
fn middle(stop: &AtomicBool) {
    inner(stop);
    hint::black_box(());
}

#[inline(never)]
fn inner(stop: &AtomicBool) {
    while !stop.load(Ordering::Relaxed) {
        hint::spin_loop();
    }
}

#[test]
fn a_sample_contains_the_whole_chain_of_callers() {
    let mut worker = Worker::until(outer);
    let samples = worker.sample(MANY);
    let is_on_its_way = |sample: &&profiler::Named| !sample.has("stacks::inner");
    let samples: Vec<_> = samples.iter().skip_while(is_on_its_way).collect();
    assert!(samples.len() > MANY / 2, "{} of {MANY}", samples.len());
    let chain = ["stacks::outer", "stacks::middle", "stacks::inner"];
    for sample in samples {
        assert!(sample.has_chain(&chain), "{sample:#?}");
        // Up to the start of the thread.
        assert!(sample.has("std::sys::thread"), "{sample:#?}");
        assert!(!sample.in_kernel, "{sample:#?}");
    }
}

/// This function is so short that most samples are taken while it creates or removes its frame.
#[inline(never)]
fn short(value: u64) -> u64 {
    hint::black_box(value) + 1
}

#[inline(never)]
fn calls_short_ones() {
    for value in 0..1000 {
        short(hint::black_box(value));
    }
}

#[test]
fn the_caller_of_a_short_function_is_never_missing() {
    let mut worker = Worker::new(calls_short_ones);
    let samples = worker.sample(MANY);
    let in_short: Vec<_> = samples
        .iter()
        .filter(|sample| sample.has("stacks::short"))
        .collect();
    assert!(!in_short.is_empty());
    let chain = ["stacks::calls_short_ones", "stacks::short"];
    for sample in in_short {
        assert!(sample.has_chain(&chain), "{sample:#?}");
    }
}

#[inline(never)]
fn sleeps() {
    thread::sleep(Duration::from_millis(20));
    hint::black_box(());
}

#[test]
fn a_thread_that_sleeps_is_in_the_kernel() {
    let mut worker = Worker::new(sleeps);
    let samples = worker.sample(MANY);
    let seen = |sample: &&profiler::Named| sample.in_kernel && sample.has("stacks::sleeps");
    let sleeping = samples.iter().filter(seen).count();
    assert_most(sleeping, samples.len());
    assert!(samples.iter().any(|sample| sample.has("nanosleep")));
}

#[inline(never)]
fn sends(socket: &UdpSocket, payload: &[u8]) {
    socket.send(payload).unwrap();
}

#[test]
fn a_thread_that_sends_is_in_the_kernel() {
    let receiver = UdpSocket::bind("127.0.0.1:0").unwrap();
    let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
    sender.connect(receiver.local_addr().unwrap()).unwrap();
    let payload = vec![0; 8 << 10];
    let mut worker = Worker::new(move || sends(&sender, &payload));
    let samples = worker.sample(MANY);
    let seen = |sample: &&profiler::Named| sample.in_kernel && sample.has("stacks::sends");
    assert!(samples.iter().filter(seen).count() * 2 > samples.len());
    assert!(samples.iter().any(|sample| sample.has("send")));
}

#[inline(never)]
fn allocates() {
    let mut blocks = Vec::new();
    for size in 1..200 {
        blocks.push(hint::black_box(vec![0_u8; size * 17]));
    }
}

/// Libc has no frame pointers, and its allocator uses their register for other purposes.
#[test]
fn the_callers_of_libc_are_found() {
    let mut worker = Worker::new(allocates);
    let samples = worker.sample(MANY);
    let seen = |sample: &&profiler::Named| sample.has("stacks::allocates");
    assert_most(samples.iter().filter(seen).count(), samples.len());
    let in_libc = |sample: &&profiler::Named| {
        sample.has("malloc") || sample.has("calloc") || sample.has("free")
    };
    assert!(samples.iter().any(|sample| in_libc(&sample)));
    for sample in samples.iter().filter(in_libc) {
        assert!(sample.has("stacks::allocates"), "{sample:#?}");
    }
}

#[test]
fn samples_carry_the_times_of_the_run() {
    let clock = clock();
    let mut worker = Worker::sampled(INTERVAL, clock, inner);
    let before = clock();
    let samples = worker.sample(MANY);
    let after = clock();
    assert!(
        samples
            .iter()
            .all(|sample| sample.at >= before && sample.at <= after)
    );
    // Each sample starts the timer for the next one.
    let least = u64::try_from(INTERVAL.as_nanos()).unwrap() / 2;
    for pair in samples.windows(2) {
        assert!(pair[1].at - pair[0].at >= least, "{pair:?}");
    }
    assert_eq!(worker.sampler.lost(), 0);
}

#[test]
fn a_sample_takes_the_time_of_the_signal_too() {
    let mut sampler = StackSampler::start(INTERVAL, clock()).unwrap();
    let mut shortest = || {
        let (start, mut took) = (Instant::now(), Vec::new());
        sampler.set_recording(true);
        while took.len() < MANY {
            assert!(start.elapsed() < Duration::from_secs(60));
            took.extend(sampler.take().map(|sample| sample.moment.took));
        }
        sampler.set_recording(false);
        sampler.time_signals();
        took.into_iter().min()
    };
    let in_handler = shortest();
    assert!(shortest() > in_handler);
}

#[test]
fn nothing_is_recorded_while_recording_is_off() {
    let mut worker = Worker::until(inner);
    let sampler = &mut worker.sampler;
    let mut symbols = Symbols::default();
    thread::sleep(Duration::from_millis(50));
    assert!(drain(sampler, &mut symbols).is_empty());

    for _ in 0..3 {
        sampler.set_recording(true);
        wait_for(sampler, 20);
        sampler.set_recording(false);
        thread::sleep(Duration::from_millis(20));
        drain(sampler, &mut symbols);
        thread::sleep(Duration::from_millis(50));
        assert!(drain(sampler, &mut symbols).is_empty());
    }
}

#[test]
fn samples_without_room_are_counted_as_lost() {
    let mut worker = deep_down(300, Duration::from_micros(20));
    let sampler = &mut worker.sampler;
    sampler.set_recording(true);
    let start = Instant::now();
    while sampler.lost() == 0 {
        assert!(start.elapsed() < Duration::from_secs(60));
        thread::sleep(Duration::from_millis(5));
    }
    sampler.set_recording(false);
    let mut kept = 0;
    for sample in sampler.take() {
        kept += 1;
        assert_eq!(sample.frames.len(), 256);
    }
    assert!(kept > 1000, "{kept}");
}

/// A thread in a recursion of that depth.
fn deep_down(levels: usize, interval: Duration) -> Worker {
    let (arrived, arrival) = mpsc::channel();
    let worker = Worker::sampled(interval, clock(), move |stop| {
        descend(levels, &|| {
            arrived.send(()).unwrap();
            inner(stop);
        });
    });
    arrival.recv().unwrap();
    worker
}

#[inline(never)]
fn descend(levels: usize, at_the_bottom: &dyn Fn()) {
    if levels == 0 {
        at_the_bottom();
    } else {
        descend(levels - 1, at_the_bottom);
    }
    hint::black_box(());
}

#[test]
fn of_a_deep_recursion_the_innermost_frames_are_kept() {
    let mut worker = deep_down(5000, INTERVAL);
    let samples = worker.sample(50);
    for sample in &samples {
        assert_eq!(sample.frames, 256);
    }
    let seen =
        |sample: &&profiler::Named| sample.has_chain(&["stacks::descend", "stacks::descend"]);
    assert_most(samples.iter().filter(seen).count(), samples.len());
}

#[test]
fn each_sampler_samples_only_its_thread() {
    let sleepers: Vec<_> = (0..8).map(|_| Worker::new(sleeps)).collect();
    let spinners: Vec<_> = (0..4).map(|_| Worker::until(inner)).collect();
    for worker in sleepers.iter().chain(&spinners) {
        worker.sampler.set_recording(true);
    }
    for mut worker in spinners {
        let samples = wait_for(&mut worker.sampler, 50);
        assert!(samples.iter().all(|sample| !sample.has("stacks::sleeps")));
    }
    for mut worker in sleepers {
        let samples = wait_for(&mut worker.sampler, 50);
        assert!(samples.iter().all(|sample| !sample.has("stacks::inner")));
    }
}

#[test]
fn samplers_come_and_go_while_their_threads_run_and_after() {
    let (ended, end) = mpsc::channel();
    let thread = thread::spawn(move || {
        for _ in 0..20 {
            // Longer than a sample takes, or the thread does nothing but take samples.
            let sampler = StackSampler::start(Duration::from_millis(1), clock()).unwrap();
            sampler.set_recording(true);
            thread::sleep(Duration::from_millis(3));
        }
        let mut sampler = StackSampler::start(INTERVAL, clock()).unwrap();
        sampler.set_recording(true);
        wait_for(&mut sampler, 20);
        ended.send(sampler).unwrap();
    });
    let mut sampler = end.recv().unwrap();
    thread.join().unwrap();
    sampler.set_recording(false);
    sampler.set_recording(true);
    drain(&mut sampler, &mut Symbols::default());
    thread::sleep(Duration::from_millis(20));
    assert!(drain(&mut sampler, &mut Symbols::default()).is_empty());
}
