//! A kernel timer that sends a signal to one thread.
#![allow(unsafe_code, reason = "calls the kernel's timers")]

use std::ffi::c_void;
use std::time::Duration;
use std::{io, mem, ptr};

use crate::Unobservable;

pub(super) struct Timer(libc::timer_t);

// SAFETY: the timer is an id of this process. Any thread may use it.
unsafe impl Send for Timer {}
// SAFETY: as above.
unsafe impl Sync for Timer {}

impl Timer {
    /// Creates a timer that is not running. Every signal carries `carried`.
    pub(super) fn new(thread_id: i32, carried: *const c_void) -> Result<Timer, Unobservable> {
        let mut timer: libc::timer_t = ptr::null_mut();
        // SAFETY: all zeros are a valid value of this struct.
        let mut event: libc::sigevent = unsafe { mem::zeroed() };
        event.sigev_notify = libc::SIGEV_THREAD_ID;
        event.sigev_notify_thread_id = thread_id;
        // The signal that profilers use. Programs without a profiler do not use it.
        event.sigev_signo = libc::SIGPROF;
        event.sigev_value.sival_ptr = carried.cast_mut();
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
        Err(Unobservable::new("stacks", why))
    }

    /// Sends one signal after a time; zero stops the timer. A signal handler may call this.
    pub(super) fn set(&self, after: Duration) {
        // SAFETY: all zeros are a valid value of this struct.
        let mut time: libc::itimerspec = unsafe { mem::zeroed() };
        time.it_value.tv_sec = after.as_secs() as libc::time_t;
        time.it_value.tv_nsec = after.subsec_nanos().into();
        // This cannot fail: the timer exists and the time is valid.
        // SAFETY: the timer lives as long as this value.
        unsafe { libc::timer_settime(self.0, 0, &raw const time, ptr::null_mut()) };
    }
}
