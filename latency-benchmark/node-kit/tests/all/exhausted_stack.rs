//! Tests with threads whose stack is full or nearly full.
#![allow(unsafe_code, reason = "asks where the stack ends")]

use std::os::unix::process::ExitStatusExt as _;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use std::{env, hint, mem, ptr};

use node_kit::profiler::StackSampler;
use program::ChildLimits;

use crate::profiler::{INTERVAL, Worker, clock};

/// The lowest address of the calling thread's stack.
fn lowest() -> usize {
    // SAFETY: the calls fill the attributes of the calling thread.
    unsafe {
        let mut attributes: libc::pthread_attr_t = mem::zeroed();
        assert_eq!(
            libc::pthread_getattr_np(libc::pthread_self(), &raw mut attributes),
            0
        );
        let (mut low, mut size) = (ptr::null_mut(), 0);
        assert_eq!(
            libc::pthread_attr_getstack(&raw const attributes, &raw mut low, &raw mut size),
            0
        );
        libc::pthread_attr_destroy(&raw mut attributes);
        low.addr()
    }
}

#[inline(never)]
fn descend_to(lowest: usize, stop: &AtomicBool) {
    let here = hint::black_box(0_u8);
    if (&raw const here).addr() > lowest + 2000 {
        descend_to(lowest, stop);
    } else {
        while !stop.load(Ordering::Relaxed) {
            hint::spin_loop();
        }
    }
    hint::black_box(here);
}

/// The rest of the stack is smaller than the frame that the kernel writes for a signal.
#[test]
fn a_thread_at_the_end_of_its_stack_goes_on() {
    let mut worker = Worker::until(|stop| descend_to(lowest(), stop));
    let samples = worker.sample(100);
    assert!(
        samples
            .iter()
            .filter(|sample| sample.has("descend_to"))
            .count()
            > 90
    );
}

/// A busy machine takes its time.
const PATIENCE: ChildLimits = ChildLimits {
    time: Duration::from_secs(60),
    bytes: 1 << 20,
};

const OVERFLOW: &str = "THREAD_SCOPE_TEST_OVERFLOW";

#[inline(never)]
fn overflow(levels: u64) -> u64 {
    if levels == u64::MAX {
        return 0;
    }
    hint::black_box(levels) + overflow(hint::black_box(levels + 1))
}

/// The stack overflows in another process, since that ends it. Rust's message is the same with and without sampling.
#[test]
fn an_overflowing_stack_is_reported_as_without_sampling() {
    if env::var_os(OVERFLOW).is_some() {
        let sampler = StackSampler::start(INTERVAL / 10, clock()).unwrap();
        sampler.set_recording(true);
        overflow(0);
        return;
    }
    for _ in 0..10 {
        let mut overflowing = Command::new(env::current_exe().unwrap());
        overflowing.env(OVERFLOW, "1").args([
            "--exact",
            "exhausted_stack::an_overflowing_stack_is_reported_as_without_sampling",
            "--nocapture",
        ]);
        let output = PATIENCE.output(&mut overflowing).unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("has overflowed its stack"), "{said}");
        assert_eq!(output.status.signal(), Some(libc::SIGABRT));
    }
}
