//! What a watched thread and who watches it share.
#![allow(
    unsafe_code,
    reason = "a signal handler fills the ring, for which there is no lock"
)]

use std::{
    cell::UnsafeCell,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering},
    },
};

use rtrb::{Consumer, Producer, RingBuffer};

use super::SystemCall;

/// Values of the byte that the kernel reads at each of the thread's system calls.
const ALLOW: u8 = 0;
const BLOCK: u8 = 1;

pub(super) struct Slot {
    selector: AtomicU8,
    /// What is wanted, which the selector follows.
    recording: AtomicBool,
    /// Whether the thread is making a call in its handler. What comes meanwhile is made by a signal
    /// handler that interrupted it, or by the clock.
    inside: AtomicBool,
    ring: UnsafeCell<Producer<SystemCall>>,
    pub(super) clock: Box<dyn Fn() -> u64 + Send + Sync>,
    pub(super) lost: AtomicU64,
    pub(super) unrecorded: AtomicU64,
    /// The kernel's number of the thread, until it ends.
    thread: Mutex<Option<libc::pid_t>>,
}

// SAFETY: all is shareable but the ring, which the watched thread alone uses, and of its handlers only
// the one that found `inside` false.
unsafe impl Sync for Slot {}

impl Slot {
    pub(super) fn new(
        capacity: usize,
        clock: Box<dyn Fn() -> u64 + Send + Sync>,
    ) -> (Slot, Consumer<SystemCall>) {
        let (ring, emptying) = resident(capacity);
        let slot = Slot {
            selector: AtomicU8::new(ALLOW),
            recording: AtomicBool::new(false),
            inside: AtomicBool::new(false),
            ring: UnsafeCell::new(ring),
            clock,
            lost: AtomicU64::new(0),
            unrecorded: AtomicU64::new(0),
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

    /// Says what is wanted. It stops at once. It starts when the thread calls [`Slot::follow`].
    pub(super) fn want(&self, recording: bool) {
        self.recording.store(recording, Ordering::SeqCst);
        if !recording {
            self.selector.store(ALLOW, Ordering::SeqCst);
        }
    }

    /// On the watched thread, while it does not block the signal: has the kernel do what is wanted.
    /// Should `want` come between, the next call is one too many and comes here, too.
    pub(super) fn follow(&self) {
        let selector = if self.is_recording() { BLOCK } else { ALLOW };
        self.selector.store(selector, Ordering::SeqCst);
    }

    /// On the watched thread: whether this is the call to record, in which case `leave` must follow.
    pub(super) fn enter(&self) -> bool {
        self.is_recording() && !self.inside.swap(true, Ordering::Acquire)
    }

    /// On the watched thread: records the call that was entered for.
    ///
    /// # Safety
    ///
    /// `enter` said so, and this is the first `leave` since.
    pub(super) unsafe fn leave(&self, call: SystemCall) {
        // SAFETY: `inside` keeps out every other handler of this thread, and no other thread comes.
        let ring = unsafe { &mut *self.ring.get() };
        if ring.push(call).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
        self.inside.store(false, Ordering::Release);
    }
}

/// A ring whose every page was written once, so that no call pays for a page fault.
fn resident(capacity: usize) -> (Producer<SystemCall>, Consumer<SystemCall>) {
    let blank = SystemCall {
        at: 0,
        ns: 0,
        number: 0,
        second: 0,
        result: 0,
    };
    let (mut filling, mut emptying) = RingBuffer::new(capacity);
    while filling.push(blank).is_ok() {}
    while emptying.pop().is_ok() {}
    (filling, emptying)
}
