//! Who watches a thread's system calls.
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

use super::{SystemCall, WHAT, handler, overhead, perform::SIGNAL, raw::Action, slot::Slot};
use crate::Unavailable;

/// The system calls of one thread, which it has to ask for itself.
///
/// SIGSYS belongs to this while a thread is watched: nobody may give it another handler, nor, on other
/// threads and while recording is on, install a handler of any signal during which SIGSYS is blocked.
/// A signal handler that does not return (`siglongjmp`) out of a call that is being recorded ends the
/// recording.
pub struct SystemCalls {
    slot: Arc<Slot>,
    emptying: Consumer<SystemCall>,
    overhead_ns: u64,
    idle_overhead_ns: u64,
}

impl SystemCalls {
    /// Calls between two drains that there is room for, in 8 MiB.
    const CAPACITY: usize = 1 << 18;

    /// Has the kernel hand back the system calls of the current thread, once recording is on.
    ///
    /// `clock` is called in a signal handler: it must not lock or allocate. Its time should be in
    /// nanoseconds.
    pub fn arm_this_thread(
        clock: impl Fn() -> u64 + Send + Sync + 'static,
    ) -> Result<SystemCalls, Unavailable> {
        Self::arm_this_thread_with(Self::CAPACITY, clock)
    }

    /// The same, with room for so many calls between two drains, 32 bytes each.
    pub fn arm_this_thread_with(
        capacity: usize,
        clock: impl Fn() -> u64 + Send + Sync + 'static,
    ) -> Result<SystemCalls, Unavailable> {
        if handler::is_taken() {
            return Err(Unavailable::new(
                WHAT,
                "this thread's are being watched already",
            ));
        }
        handler::install()?;
        take_out_of_mask();
        take_out_of_actions();
        let (slot, emptying) = Slot::new(capacity, Box::new(clock));
        let slot = Arc::new(slot);
        let free_ns = overhead::cheap_call_ns();
        handler::arm(Arc::clone(&slot))?;
        let idle_ns = overhead::cheap_call_ns();
        slot.want(true);
        slot.follow();
        let recorded_ns = overhead::cheap_call_ns();
        slot.want(false);
        slot.lost.store(0, Ordering::Relaxed);
        let mut calls = SystemCalls {
            slot,
            emptying,
            overhead_ns: recorded_ns.saturating_sub(free_ns),
            idle_overhead_ns: idle_ns.saturating_sub(free_ns),
        };
        calls.drain(|_| {});
        Ok(calls)
    }

    /// Switches the recording on or off.
    ///
    /// Off holds for every call made from now on. On holds as soon as the thread takes a signal, which
    /// is sent to it because only then it is sure not to block that signal: a thread that is inside a
    /// system call is interrupted, once, as by any signal. This waits for that, but not for long.
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
            // SAFETY: the thread lives, and has a handler for this.
            unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), id, libc::SIGSYS) };
        }
        let sent = Instant::now();
        while !self.slot.is_blocking() && sent.elapsed() < PATIENCE {
            thread::yield_now();
        }
    }

    /// Hands out the calls that returned since the last time, in the order in which they did, and
    /// forgets them. A call that was under way when recording ended is among those of a later drain.
    pub fn drain(&mut self, mut each: impl FnMut(&SystemCall)) {
        // Only what is there now, so that a busy thread cannot hold the drain forever.
        for _ in 0..self.emptying.slots() {
            let Ok(call) = self.emptying.pop() else { break };
            each(&call);
        }
    }

    /// Calls, since the thread was armed, that there was no room for.
    pub fn lost(&self) -> u64 {
        self.slot.lost.load(Ordering::Relaxed)
    }

    /// Calls, since the thread was armed, that were made while recording was on and are not recorded:
    /// the returns of signal handlers, and calls of handlers that interrupted another call.
    pub fn unrecorded(&self) -> u64 {
        self.slot.unrecorded.load(Ordering::Relaxed)
    }

    /// What recording adds to one call, on the whole: how much longer `getppid` took on this thread
    /// when it was recorded, by medians at the arming. Most of it is outside of [`SystemCall::ns`].
    pub fn overhead_ns(&self) -> u64 {
        self.overhead_ns
    }

    /// What being armed adds to one call while recording is off: the kernel reads a byte. Measured in
    /// the same way.
    pub fn idle_overhead_ns(&self) -> u64 {
        self.idle_overhead_ns
    }

    /// The name of a call; `unknown` for one that is newer than what we know.
    pub fn name(number: i64) -> &'static str {
        usize::try_from(number)
            .ok()
            .and_then(syscalls::Sysno::new)
            .map_or("unknown", |call| call.name())
    }
}

impl Drop for SystemCalls {
    fn drop(&mut self) {
        self.slot.want(false);
    }
}

/// This thread takes the signal from now on.
fn take_out_of_mask() {
    // SAFETY: the set is made before it is used.
    unsafe {
        let mut set = std::mem::zeroed();
        libc::sigemptyset(&mut set);
        libc::sigaddset(&mut set, libc::SIGSYS);
        libc::pthread_sigmask(libc::SIG_UNBLOCK, &set, std::ptr::null_mut());
    }
}

/// So does every handler: the calls of one that blocks the signal could not be handed back, and the
/// kernel would end the process.
fn take_out_of_actions() {
    for signal in 1..=libc::SIGRTMAX() {
        let Some(mut action) = Action::of(signal) else {
            continue;
        };
        let has_handler = action.handler != libc::SIG_DFL && action.handler != libc::SIG_IGN;
        if has_handler && action.mask & SIGNAL != 0 {
            action.mask &= !SIGNAL;
            // SAFETY: it is the handler that was there.
            unsafe { action.install(signal) };
        }
    }
}
