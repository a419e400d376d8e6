//! The recorder of a thread's system calls.
#![allow(unsafe_code, reason = "sends a signal to a thread")]

use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{SigSet, Signal};
use rtrb::Consumer;

use super::slot::Slot;
use super::{SystemCall, WHAT, handler};
use crate::scope::Unobservable;

/// Records the system calls of one thread. The thread itself has to create it.
///
/// While it exists, the process must leave SIGSYS to it:
///
/// * no code may install another handler for SIGSYS;
/// * while recording is on, no other thread may install a handler that blocks SIGSYS;
/// * a signal handler that leaves a recorded call with `siglongjmp` ends the recording.
pub struct SystemCallRecorder {
    slot: &'static Slot,
    emptying: Consumer<SystemCall>,
    overhead_ns: u64,
}

impl SystemCallRecorder {
    /// Prepares recording the system calls of the current thread, with room for `capacity` calls between two drains,
    /// 40 bytes each. This memory is kept until the process ends.
    ///
    /// A signal handler calls `clock`, so `clock` must neither lock nor allocate. Its unit should be nanoseconds.
    pub fn arm_this_thread(
        capacity: usize,
        clock: impl Fn() -> u64 + Send + Sync + 'static,
    ) -> Result<SystemCallRecorder, Unobservable> {
        if handler::is_taken() {
            let why = "those of this thread are recorded already";
            return Err(Unobservable::new(WHAT, why));
        }
        handler::install()?;
        let unblocked = SigSet::from(Signal::SIGSYS).thread_unblock();
        unblocked.map_err(|errno| Unobservable::new(WHAT, errno.desc()))?;
        handler::take_out_of_actions();
        let (slot, emptying) = Slot::new(capacity, Box::new(clock));
        let free_ns = cheap_call_ns();
        handler::arm(slot)?;
        slot.want(true);
        slot.follow();
        let recorded_ns = cheap_call_ns();
        slot.want(false);
        slot.lost.store(0, Ordering::Relaxed);
        let mut calls = SystemCallRecorder {
            slot,
            emptying,
            overhead_ns: recorded_ns.saturating_sub(free_ns),
        };
        calls.drain(|_| {});
        Ok(calls)
    }

    /// Switches the recording on or off.
    ///
    /// Switching off takes effect for every call from now on. Switching on takes effect when the thread handles a signal
    /// that this method sends, because only then the thread certainly does not block that signal. The signal interrupts a
    /// system call, as any signal does. The method waits for the thread, but not for long.
    pub fn set_recording(&self, recording: bool) {
        const PATIENCE: Duration = Duration::from_millis(20);
        self.slot.want(recording);
        if recording {
            self.ask_to_follow();
            let asked = Instant::now();
            while !self.slot.is_blocking() && asked.elapsed() < PATIENCE {
                thread::yield_now();
            }
        }
    }

    fn ask_to_follow(&self) {
        handler::take_out_of_actions();
        let thread = self.slot.thread;
        // SAFETY: the call has no preconditions. If the thread has ended, and another one has its id, the handler does nothing.
        unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), thread, libc::SIGSYS) };
    }

    /// Passes the calls that have returned since the last call to `each`, in the order of their return. A call
    /// that had not returned when recording ended appears in a later drain. Resumes a recording that paused for
    /// a call that only the thread itself can make.
    pub fn drain(&mut self, mut each: impl FnMut(&SystemCall)) {
        // Limited to the calls that are there now, so that a busy thread cannot keep this loop running.
        for _ in 0..self.emptying.slots() {
            let Ok(call) = self.emptying.pop() else { break };
            each(&call);
        }
        if self.slot.is_paused() {
            self.ask_to_follow();
        }
    }

    /// The number of calls that were lost because the buffer was full.
    pub fn lost(&self) -> u64 {
        self.slot.lost.load(Ordering::Relaxed)
    }

    /// The time that recording adds to a call: the difference between the median times of `getppid` with and
    /// without recording, measured on this thread at the start. Most of it is outside of [`SystemCall::ns`].
    pub fn overhead_ns(&self) -> u64 {
        self.overhead_ns
    }
}

impl Drop for SystemCallRecorder {
    fn drop(&mut self) {
        self.slot.want(false);
        self.slot.has_recorder.store(false, Ordering::SeqCst);
    }
}

/// The time of one call of `getppid`, a cheap system call: the median of many batches of a few calls.
fn cheap_call_ns() -> u64 {
    const BATCHES: usize = 101;
    const CALLS: u32 = 10;
    let mut batches_ns: Vec<u64> = (0..BATCHES)
        .map(|_| {
            let start = Instant::now();
            for _ in 0..CALLS {
                // SAFETY: the call has no preconditions.
                unsafe { libc::getppid() };
            }
            (start.elapsed() / CALLS).as_nanos() as u64
        })
        .collect();
    batches_ns.sort_unstable();
    batches_ns[BATCHES / 2]
}
