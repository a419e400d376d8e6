//! The signal handler. The signal carries a pointer to the sampled thread.
#![allow(
    unsafe_code,
    reason = "installs a signal handler and shares memory with it"
)]

use std::{ffi::c_void, io, mem, ptr, sync::OnceLock};

use super::{target::SampledThread, timer::SIGNAL};
use crate::Unobservable;

/// Installs the handler once per process.
pub(super) fn install_once() -> Result<(), Unobservable> {
    static INSTALLED: OnceLock<Result<(), Unobservable>> = OnceLock::new();
    INSTALLED.get_or_init(install).clone()
}

/// Installs the handler permanently: without it, a signal that arrives after the last sampler has ended would
/// end the process.
fn install() -> Result<(), Unobservable> {
    let unavailable = |call: &str| {
        let error = io::Error::last_os_error();
        Unobservable::new("stacks", format!("{call}: {error}"))
    };
    // SAFETY: all zeros are a valid value of this struct.
    let mut before: libc::sigaction = unsafe { mem::zeroed() };
    // SAFETY: this only queries the handler.
    if unsafe { libc::sigaction(SIGNAL, ptr::null(), &raw mut before) } != 0 {
        return Err(unavailable("sigaction"));
    }
    if ![libc::SIG_DFL, libc::SIG_IGN].contains(&before.sa_sigaction) {
        let why = "another profiler in this process handles SIGPROF";
        return Err(Unobservable::new("stacks", why));
    }

    // SAFETY: all zeros are a valid value of this struct.
    let mut action: libc::sigaction = unsafe { mem::zeroed() };
    let handler: extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut c_void) = on_signal;
    action.sa_sigaction = handler as usize;
    // SA_ONSTACK: the thread's own stack may be nearly full.
    action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART | libc::SA_ONSTACK;
    // Blocks all other handlers meanwhile, since the stack is small.
    // SAFETY: the mask belongs to the struct.
    unsafe { libc::sigfillset(&raw mut action.sa_mask) };
    // SAFETY: the handler has this signature and only does what handlers may do.
    match unsafe { libc::sigaction(SIGNAL, &raw const action, ptr::null_mut()) } {
        0 => Ok(()),
        _ => Err(unavailable("sigaction")),
    }
}

extern "C" fn on_signal(_signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel passes both.
    let (info, context) = unsafe { (&*info, &*context.cast::<libc::ucontext_t>()) };
    if info.si_code != libc::SI_TIMER {
        return;
    }
    // SAFETY: the signal of a timer has a value. Only the timers of samplers send this one, and their targets live as
    // long as the process.
    let target = unsafe { &*info.si_value().sival_ptr.cast::<SampledThread>() };
    // SAFETY: every thread has an `errno`.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: as above.
    let interrupted = unsafe { *errno };
    target.on_signal(context);
    // SAFETY: as above.
    unsafe { *errno = interrupted };
}
