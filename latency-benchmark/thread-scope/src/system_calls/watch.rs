//! The recorder of a thread's system calls.
#![allow(
    unsafe_code,
    reason = "sends a signal to a thread, and changes masks of signals"
)]

use std::{
    sync::{Arc, atomic::Ordering},
    thread,
    time::{Duration, Instant},
};

use rtrb::Consumer;

use super::{
    call::{SystemCall, WHAT},
    handler, overhead,
    perform::SIGNAL,
    raw::Action,
    slot::Slot,
};
use crate::Unobservable;

/// Records the system calls of one thread. The thread itself has to create it.
///
/// While it exists, the process must leave SIGSYS to it:
///
/// * no code may install another handler for SIGSYS;
/// * while recording is on, no other thread may install a handler that blocks SIGSYS;
/// * a signal handler that leaves a recorded call with `siglongjmp` ends the recording.
pub struct SystemCallRecorder {
    slot: Arc<Slot>,
    emptying: Consumer<SystemCall>,
    overhead_ns: u64,
}

impl SystemCallRecorder {
    /// Room for this number of calls between two drains, in 10 MiB.
    const CAPACITY: usize = 1 << 18;

    /// Prepares recording the system calls of the current thread.
    ///
    /// A signal handler calls `clock`, so `clock` must neither lock nor allocate. Its unit should be
    /// nanoseconds.
    pub fn arm_this_thread(
        clock: impl Fn() -> u64 + Send + Sync + 'static,
    ) -> Result<SystemCallRecorder, Unobservable> {
        Self::arm_this_thread_with(Self::CAPACITY, clock)
    }

    /// The same, with room for `capacity` calls between two drains, 40 bytes each.
    pub fn arm_this_thread_with(
        capacity: usize,
        clock: impl Fn() -> u64 + Send + Sync + 'static,
    ) -> Result<SystemCallRecorder, Unobservable> {
        if handler::is_taken() {
            let why = "those of this thread are recorded already";
            return Err(Unobservable::new(WHAT, why));
        }
        handler::install()?;
        take_out_of_mask();
        take_out_of_actions();
        let (slot, emptying) = Slot::new(capacity, Box::new(clock));
        let slot = Arc::new(slot);
        let free_ns = overhead::cheap_call_ns();
        handler::arm(Arc::clone(&slot))?;
        slot.want(true);
        slot.follow();
        let recorded_ns = overhead::cheap_call_ns();
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
    /// Switching off takes effect for every call from now on. Switching on takes effect when the thread
    /// handles a signal that this method sends, because only then the thread certainly does not block that
    /// signal. The signal interrupts a system call, as any signal does. The method waits for the thread, but
    /// not for long.
    pub fn set_recording(&self, recording: bool) {
        const PATIENCE: Duration = Duration::from_millis(20);
        if recording {
            take_out_of_actions();
        }
        self.slot.want(recording);
        if !recording {
            return;
        }
        {
            let thread = self.slot.thread();
            let Some(id) = *thread else { return };
            // SAFETY: the thread lives and has a handler for this signal.
            unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), id, libc::SIGSYS) };
        }
        let sent = Instant::now();
        while !self.slot.is_blocking() && sent.elapsed() < PATIENCE {
            thread::yield_now();
        }
    }

    /// Passes the calls that have returned since the last call to `each`, in the order of their return. A call
    /// that had not returned when recording ended appears in a later drain.
    pub fn drain(&mut self, mut each: impl FnMut(&SystemCall)) {
        // Limited to the calls that are there now, so that a busy thread cannot keep this loop running.
        for _ in 0..self.emptying.slots() {
            let Ok(call) = self.emptying.pop() else { break };
            each(&call);
        }
    }

    /// The number of calls that were lost because the buffer was full.
    pub fn lost(&self) -> u64 {
        self.slot.lost.load(Ordering::Relaxed)
    }

    /// The number of calls that were made while recording was on but could not be recorded: the returns of
    /// signal handlers, and the calls of handlers that interrupted another call.
    pub fn unrecorded(&self) -> u64 {
        self.slot.unrecorded.load(Ordering::Relaxed)
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
    }
}

/// Unblocks SIGSYS on this thread.
fn take_out_of_mask() {
    // SAFETY: the set is initialised before it is used.
    unsafe {
        let mut set = std::mem::zeroed();
        libc::sigemptyset(&mut set);
        libc::sigaddset(&mut set, libc::SIGSYS);
        libc::pthread_sigmask(libc::SIG_UNBLOCK, &set, std::ptr::null_mut());
    }
}

/// Unblocks SIGSYS in every signal handler: if a handler blocked it, the kernel could not return the handler's
/// calls and would end the process.
fn take_out_of_actions() {
    for signal in 1..=libc::SIGRTMAX() {
        let Some(mut action) = Action::of(signal) else {
            continue;
        };
        let has_handler = action.handler != libc::SIG_DFL && action.handler != libc::SIG_IGN;
        if has_handler && action.mask & SIGNAL != 0 {
            action.mask &= !SIGNAL;
            // SAFETY: the handler was installed before.
            unsafe { action.install(signal) };
        }
    }
}
