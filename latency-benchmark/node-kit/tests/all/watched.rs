//! A recorded thread that runs tasks. It waits for them without making system calls.
#![allow(unsafe_code, reason = "forks, and lends a task to another thread")]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use node_kit::scope::{SystemCall, SystemCallRecorder};

use crate::support::available;

type WorkerTask = Box<dyn FnOnce() + Send>;

/// The states of the thread: it waits, has a task, has run it, or has failed.
const IDLE: usize = 0;
const BEGUN: usize = 1;
const DONE: usize = 2;
const FAILED: usize = 3;

/// While one thread is recorded, no other may install a handler that blocks SIGSYS, and one of these tests does.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) struct WatchedWorker {
    calls: SystemCallRecorder,
    start: Instant,
    state: Arc<AtomicUsize>,
    tasks: Option<mpsc::Sender<WorkerTask>>,
    thread: Option<JoinHandle<()>>,
    /// For `pthread_kill`.
    pub(crate) id: libc::pthread_t,
    _alone: MutexGuard<'static, ()>,
}

pub(crate) fn watched(capacity: usize) -> Option<WatchedWorker> {
    let alone = alone();
    let start = Instant::now();
    let state = Arc::new(AtomicUsize::new(IDLE));
    let (tasks, incoming) = mpsc::channel::<WorkerTask>();
    let (armed, arming) = mpsc::channel();
    let thread = thread::spawn({
        let state = Arc::clone(&state);
        move || {
            let calls = SystemCallRecorder::arm_this_thread(capacity, move || {
                start.elapsed().as_nanos() as u64
            });
            // SAFETY: the call has no preconditions.
            let id = unsafe { libc::pthread_self() };
            armed.send((calls, id)).unwrap();
            // The task is in the channel already, so receiving it takes no system call.
            while wait_for(&state, |state| state == BEGUN || state == FAILED) == BEGUN {
                let task = incoming.try_recv().unwrap();
                let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(task));
                state.store(
                    if outcome.is_ok() { DONE } else { FAILED },
                    Ordering::SeqCst,
                );
            }
        }
    });
    let (calls, id) = arming.recv().unwrap();
    Some(WatchedWorker {
        calls: available(calls)?,
        start,
        state,
        tasks: Some(tasks),
        thread: Some(thread),
        id,
        _alone: alone,
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

impl WatchedWorker {
    pub(crate) fn start() -> Option<WatchedWorker> {
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

    /// Runs a task on the thread and records its calls.
    pub(crate) fn recorded(&self, task: impl FnOnce() + Send + 'static) {
        self.calls.set_recording(true);
        self.unrecorded(task);
        self.calls.set_recording(false);
    }

    pub(crate) fn unrecorded(&self, task: impl FnOnce() + Send + 'static) {
        self.begin(Box::new(task));
        self.wait();
    }

    /// The same for a task that borrows from this thread's stack.
    pub(crate) fn recorded_scoped(&self, task: &(dyn Fn() + Sync)) {
        // SAFETY: the reference lives for as long as the task, for whose end `recorded` waits.
        let task: &'static (dyn Fn() + Sync) = unsafe { std::mem::transmute(task) };
        self.recorded(task);
    }

    pub(crate) fn begin(&self, task: WorkerTask) {
        self.tasks.as_ref().unwrap().send(task).unwrap();
        self.state.store(BEGUN, Ordering::SeqCst);
    }

    /// Waits until the thread has run its task.
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
}

impl Drop for WatchedWorker {
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

/// Creates a process that ends with this code, and waits for it.
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
