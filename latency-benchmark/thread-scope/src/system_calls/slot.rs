//! The data that a recorded thread shares with its recorder.
#![allow(
    unsafe_code,
    reason = "a signal handler fills the ring, and handlers cannot use locks"
)]

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rtrb::{Consumer, Producer, RingBuffer};

use super::call::SystemCall;
use crate::stack_writer::Clock;

/// The values of the byte that the kernel reads at each of the thread's system calls.
const ALLOW: u8 = 0;
const BLOCK: u8 = 1;

pub(super) struct Slot {
    selector: AtomicU8,
    /// The requested state. `follow` copies it to the selector.
    recording: AtomicBool,
    /// Whether the thread is making a call in its handler. Other calls at that time come from a signal handler
    /// that interrupted it, or from the clock.
    inside: AtomicBool,
    ring: UnsafeCell<Producer<SystemCall>>,
    pub(super) clock: Clock,
    pub(super) lost: AtomicU64,
    /// The kernel's id of the thread. `None` after its end.
    thread: Mutex<Option<libc::pid_t>>,
}

// SAFETY: every field except the ring is `Sync`. Only the recorded thread uses the ring, and only in the
// handler that found `inside` false.
unsafe impl Sync for Slot {}

impl Slot {
    pub(super) fn new(capacity: usize, clock: Clock) -> (Slot, Consumer<SystemCall>) {
        let (ring, emptying) = resident(capacity);
        let slot = Slot {
            selector: AtomicU8::new(ALLOW),
            recording: AtomicBool::new(false),
            inside: AtomicBool::new(false),
            ring: UnsafeCell::new(ring),
            clock,
            lost: AtomicU64::new(0),
            // SAFETY: the call has no preconditions.
            thread: Mutex::new(Some(unsafe { libc::gettid() })),
        };
        (slot, emptying)
    }

    pub(super) fn selector(&self) -> *const u8 {
        self.selector.as_ptr()
    }

    pub(super) fn thread(&self) -> MutexGuard<'_, Option<libc::pid_t>> {
        self.thread.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn is_recording(&self) -> bool {
        self.recording.load(Ordering::SeqCst)
    }

    pub(super) fn is_blocking(&self) -> bool {
        self.selector.load(Ordering::SeqCst) == BLOCK
    }

    /// Lets the thread make its calls itself until the next [`Slot::follow`].
    pub(super) fn pause(&self) {
        self.selector.store(ALLOW, Ordering::SeqCst);
    }

    /// Requests a state. Recording stops at once. It starts when the thread calls [`Slot::follow`].
    pub(super) fn want(&self, recording: bool) {
        self.recording.store(recording, Ordering::SeqCst);
        if !recording {
            self.pause();
        }
    }

    /// Called on the recorded thread while it does not block the signal: puts the requested state into effect.
    /// If another thread calls `want` at the same time, the kernel returns one call too many, and the handler
    /// of that call calls this again.
    pub(super) fn follow(&self) {
        let selector = if self.is_recording() { BLOCK } else { ALLOW };
        self.selector.store(selector, Ordering::SeqCst);
    }

    /// Called on the recorded thread: whether to record this call. If so, `leave` must follow.
    pub(super) fn enter(&self) -> bool {
        self.is_recording() && !self.inside.swap(true, Ordering::Acquire)
    }

    /// Called on the recorded thread: records the call.
    ///
    /// # Safety
    ///
    /// `enter` returned true, and this is the first `leave` after it.
    pub(super) unsafe fn leave(&self, call: SystemCall) {
        // SAFETY: `inside` keeps out every other handler of this thread, and no other thread calls this.
        let ring = unsafe { &mut *self.ring.get() };
        if ring.push(call).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
        self.inside.store(false, Ordering::Release);
    }
}

/// Creates a ring and writes to each of its pages, so that recording a call causes no page fault.
fn resident(capacity: usize) -> (Producer<SystemCall>, Consumer<SystemCall>) {
    let (mut filling, mut emptying) = RingBuffer::new(capacity);
    while filling.push(SystemCall::default()).is_ok() {}
    while emptying.pop().is_ok() {}
    (filling, emptying)
}
