//! A timer of the kernel's whose signal goes to one thread.
#![allow(unsafe_code, reason = "calls the kernel's timers")]

use std::{io, mem, ptr, time::Duration};

use crate::Unavailable;

/// What profilers use. A program that uses none has no other use for it.
pub(super) const SIGNAL: libc::c_int = libc::SIGPROF;

pub(super) struct Timer(libc::timer_t);

// SAFETY: a number of the process's, by which any thread may call the kernel.
unsafe impl Send for Timer {}
// SAFETY: as above.
unsafe impl Sync for Timer {}

impl Timer {
    /// Not armed yet. `carried` comes with every signal.
    pub(super) fn new(thread_id: i32, carried: usize) -> Result<Timer, Unavailable> {
        let mut timer: libc::timer_t = ptr::null_mut();
        // SAFETY: all zeros are a value of this struct.
        let mut event: libc::sigevent = unsafe { mem::zeroed() };
        event.sigev_notify = libc::SIGEV_THREAD_ID;
        event.sigev_notify_thread_id = thread_id;
        event.sigev_signo = SIGNAL;
        event.sigev_value.sival_ptr = ptr::without_provenance_mut(carried);
        // SAFETY: both pointers are valid for the call.
        let result =
            unsafe { libc::timer_create(libc::CLOCK_MONOTONIC, &raw mut event, &raw mut timer) };
        if result == 0 {
            return Ok(Timer(timer));
        }
        let error = io::Error::last_os_error();
        let why = match error.raw_os_error() {
            Some(libc::EINVAL) => format!("this process has no thread {thread_id}"),
            _ => format!("timer_create: {error}"),
        };
        Err(Unavailable::new("stacks", why))
    }

    /// One signal after a time. May be called by a signal handler.
    pub(super) fn arm(&self, after: Duration) {
        self.set(after);
    }

    pub(super) fn disarm(&self) {
        self.set(Duration::ZERO);
    }

    fn set(&self, after: Duration) {
        // SAFETY: all zeros are a value of this struct.
        let mut time: libc::itimerspec = unsafe { mem::zeroed() };
        time.it_value.tv_sec = after.as_secs() as libc::time_t;
        time.it_value.tv_nsec = after.subsec_nanos().into();
        // Cannot fail: the timer is ours and the time is valid.
        // SAFETY: the timer lives as long as this.
        unsafe { libc::timer_settime(self.0, 0, &raw const time, ptr::null_mut()) };
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        // SAFETY: nobody else has the timer.
        unsafe { libc::timer_delete(self.0) };
    }
}
