//! The data that a recorded thread shares with its recorder. It is never freed, since the kernel reads it until the thread
//! has ended.
#![allow(
    unsafe_code,
    reason = "a signal handler makes calls and fills the ring, and handlers cannot use locks"
)]
#![cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};

use nix::errno::Errno;
use rtrb::{Consumer, Producer, RingBuffer};

use super::SystemCall;
use crate::scope::stack_writer::Clock;

/// The values of the byte that the kernel reads at each of the thread's system calls.
const ALLOW: u8 = 0;
const BLOCK: u8 = 1;

pub(super) struct Slot {
    selector: AtomicU8,
    /// The requested state. `follow` copies it to the selector.
    recording: AtomicBool,
    pub(super) has_recorder: AtomicBool,
    /// Whether the thread is making a call in its handler.
    inside: AtomicBool,
    /// Whether the thread makes its calls itself until the next `follow`.
    paused: AtomicBool,
    ring: UnsafeCell<Producer<SystemCall>>,
    clock: Clock,
    pub(super) lost: AtomicU64,
    /// The kernel's id of the thread.
    pub(super) thread: libc::pid_t,
}

// SAFETY: every field except the ring is `Sync`. Only the recorded thread uses the ring, and only in the
// handler that set `inside`.
unsafe impl Sync for Slot {}

impl Slot {
    pub(super) fn new(capacity: usize, clock: Clock) -> (&'static Slot, Consumer<SystemCall>) {
        let (ring, emptying) = resident(capacity);
        let slot = Slot {
            selector: AtomicU8::new(ALLOW),
            recording: AtomicBool::new(false),
            has_recorder: AtomicBool::new(true),
            inside: AtomicBool::new(false),
            paused: AtomicBool::new(false),
            ring: UnsafeCell::new(ring),
            clock,
            lost: AtomicU64::new(0),
            // SAFETY: the call has no preconditions.
            thread: unsafe { libc::gettid() },
        };
        (Box::leak(Box::new(slot)), emptying)
    }

    pub(super) fn selector(&self) -> *const u8 {
        self.selector.as_ptr()
    }

    pub(super) fn is_blocking(&self) -> bool {
        self.selector.load(Ordering::SeqCst) == BLOCK
    }

    /// Whether a recording is to be resumed.
    pub(super) fn is_paused(&self) -> bool {
        self.recording.load(Ordering::SeqCst) && self.paused.load(Ordering::SeqCst)
    }

    /// Lets the thread make its calls itself until the next [`Slot::follow`].
    pub(super) fn pause(&self) {
        self.paused.store(true, Ordering::SeqCst);
        self.selector.store(ALLOW, Ordering::SeqCst);
    }

    /// Requests a state. Recording stops at once. It starts when the thread calls [`Slot::follow`].
    pub(super) fn want(&self, recording: bool) {
        self.recording.store(recording, Ordering::SeqCst);
        if !recording {
            self.selector.store(ALLOW, Ordering::SeqCst);
        }
    }

    /// Called on the recorded thread while it does not block the signal: puts the requested state into effect, after the
    /// call that it is making. If another thread calls `want` at the same time, the kernel returns one call too many, and
    /// the handler of that call calls this again.
    pub(super) fn follow(&self) {
        self.paused.store(false, Ordering::SeqCst);
        if !self.inside.load(Ordering::SeqCst) {
            let recording = self.recording.load(Ordering::SeqCst);
            let selector = if recording { BLOCK } else { ALLOW };
            self.selector.store(selector, Ordering::SeqCst);
        }
    }

    /// Called on the recorded thread in its handler: makes a call, which is its number and its arguments, and records it
    /// unless it comes from a handler that interrupted another call. Returns the result.
    pub(super) fn record(&self, call: [i64; 7]) -> i64 {
        let is_inside_another = self.inside.swap(true, Ordering::SeqCst);
        // From here to `follow` the kernel returns no call.
        self.selector.store(ALLOW, Ordering::SeqCst);
        if is_inside_another {
            return perform(call);
        }
        let is_recorded = self.recording.load(Ordering::SeqCst);
        let at = (self.clock)();
        let result = perform(call);
        let call = SystemCall {
            at,
            ns: (self.clock)().saturating_sub(at),
            number: call[0],
            second: call[2].cast_unsigned(),
            result,
        };
        // SAFETY: `inside` keeps out every other handler of this thread, and no other thread uses the ring.
        if is_recorded && unsafe { &mut *self.ring.get() }.push(call).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
        self.inside.store(false, Ordering::SeqCst);
        self.follow();
        result
    }
}

/// The kernel's result. The thread that is interrupted does not see `errno` change.
fn perform([number, a, b, c, d, e, f]: [i64; 7]) -> i64 {
    let errno = Errno::last_raw();
    // SAFETY: the thread made this call with these arguments. If they point to invalid memory, the kernel says so.
    let result = unsafe { libc::syscall(number, a, b, c, d, e, f) };
    let result = match result {
        -1 => -i64::from(Errno::last_raw()),
        result => result,
    };
    Errno::set_raw(errno);
    result
}

/// Creates a ring and writes to each of its pages, so that recording a call causes no page fault.
fn resident(capacity: usize) -> (Producer<SystemCall>, Consumer<SystemCall>) {
    let (mut filling, mut emptying) = RingBuffer::new(capacity);
    while filling.push(SystemCall::default()).is_ok() {}
    while emptying.pop().is_ok() {}
    (filling, emptying)
}
