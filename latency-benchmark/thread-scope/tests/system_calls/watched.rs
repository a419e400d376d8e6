//! A thread that is watched and does as it is told, waiting without a system call of its own.
#![allow(dead_code, reason = "each test uses some of it")]

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    thread::{self, JoinHandle},
    time::Instant,
};

use thread_scope::{SystemCall, SystemCalls};

use crate::support::available;

type Task = Box<dyn FnOnce() + Send>;

/// What the thread waits for, in the order of the values.
const IDLE: usize = 0;
const TOLD: usize = 1;
const DONE: usize = 2;
const FAILED: usize = 3;

pub(crate) struct Watched {
    calls: SystemCalls,
    start: Instant,
    state: Arc<AtomicUsize>,
    tasks: Option<mpsc::Sender<Task>>,
    thread: Option<JoinHandle<()>>,
    /// For `pthread_kill`.
    pub(crate) id: libc::pthread_t,
}

pub(crate) fn watched(capacity: usize) -> Option<Watched> {
    let start = Instant::now();
    let state = Arc::new(AtomicUsize::new(IDLE));
    let (tasks, told) = mpsc::channel::<Task>();
    let (armed, arming) = mpsc::channel();
    let thread = thread::spawn({
        let state = Arc::clone(&state);
        move || {
            let calls = SystemCalls::arm_this_thread_with(capacity, move || {
                start.elapsed().as_nanos() as u64
            });
            // SAFETY: the call has no preconditions.
            let id = unsafe { libc::pthread_self() };
            armed.send((calls, id)).unwrap();
            // Only what is surely there is received, which takes no system call.
            while wait_for(&state, |state| state == TOLD || state == FAILED) == TOLD {
                let task = told.try_recv().unwrap();
                let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(task));
                state.store(
                    if outcome.is_ok() { DONE } else { FAILED },
                    Ordering::SeqCst,
                );
            }
        }
    });
    let (calls, id) = arming.recv().unwrap();
    Some(Watched {
        calls: available(calls)?,
        start,
        state,
        tasks: Some(tasks),
        thread: Some(thread),
        id,
    })
}

fn wait_for(state: &AtomicUsize, wanted: impl Fn(usize) -> bool) -> usize {
    loop {
        let state = state.load(Ordering::SeqCst);
        if wanted(state) {
            return state;
        }
        std::hint::spin_loop();
    }
}

impl Watched {
    pub(crate) fn start() -> Option<Watched> {
        watched(1 << 14)
    }

    pub(crate) fn now(&self) -> u64 {
        self.start.elapsed().as_nanos() as u64
    }

    pub(crate) fn clock(&self) -> impl Fn() -> u64 + Send + 'static {
        let start = self.start;
        move || start.elapsed().as_nanos() as u64
    }

    pub(crate) fn set_recording(&self, recording: bool) {
        self.calls.set_recording(recording);
    }

    /// Has the thread do this, recorded.
    pub(crate) fn recorded(&self, task: impl FnOnce() + Send + 'static) {
        self.calls.set_recording(true);
        self.unrecorded(task);
        self.calls.set_recording(false);
    }

    pub(crate) fn unrecorded(&self, task: impl FnOnce() + Send + 'static) {
        self.tell(Box::new(task));
        self.wait();
    }

    /// The same with what is on this thread's stack.
    pub(crate) fn recorded_scoped(&self, task: &(dyn Fn() + Sync)) {
        // SAFETY: the reference lives for as long as the task, for whose end `recorded` waits.
        let task: &'static (dyn Fn() + Sync) = unsafe { std::mem::transmute(task) };
        self.recorded(task);
    }

    pub(crate) fn tell(&self, task: Task) {
        self.tasks.as_ref().unwrap().send(task).unwrap();
        self.state.store(TOLD, Ordering::SeqCst);
    }

    /// Until the thread has done what it was told.
    pub(crate) fn wait(&self) {
        let state = wait_for(&self.state, |state| state == DONE || state == FAILED);
        assert_eq!(state, DONE, "the watched thread panicked");
        self.state.store(IDLE, Ordering::SeqCst);
    }

    pub(crate) fn drain(&mut self) -> Vec<SystemCall> {
        let mut calls = Vec::new();
        self.calls.drain(|call| calls.push(*call));
        calls
    }

    pub(crate) fn lost(&self) -> u64 {
        self.calls.lost()
    }

    pub(crate) fn unrecorded_calls(&self) -> u64 {
        self.calls.unrecorded()
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.calls.set_recording(false);
        self.state.store(FAILED, Ordering::SeqCst);
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

pub(crate) fn names(calls: &[SystemCall]) -> Vec<&'static str> {
    calls.iter().map(|call| call.name()).collect()
}

/// Makes a process that ends with this code, and waits for it.
pub(crate) fn exit_code_of_child(call: i64, code: i32) -> i32 {
    let mut status = 0;
    // SAFETY: the child does nothing but end.
    unsafe {
        let child = libc::syscall(call);
        if child == 0 {
            libc::_exit(code);
        }
        assert!(child > 0);
        assert_eq!(libc::waitpid(child as i32, &mut status, 0), child as i32);
    }
    assert!(libc::WIFEXITED(status));
    libc::WEXITSTATUS(status)
}
