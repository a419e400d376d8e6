//! The signal handler. The signal carries a pointer to the sampled thread.
#![allow(unsafe_code, reason = "shares memory with a signal handler")]

use std::ffi::c_void;
use std::sync::OnceLock;

use nix::errno::Errno;
use nix::sys::signal::{SaFlags, SigSet, Signal};

use super::target::SampledThread;
use crate::{Unobservable, signal_handler};

/// Installs the handler once per process. Another profiler may have one already.
pub(super) fn install_once() -> Result<(), Unobservable> {
    static INSTALLED: OnceLock<Result<(), Unobservable>> = OnceLock::new();
    // The thread's own stack may be nearly full. The other one is small, so all other handlers are blocked meanwhile.
    let (flags, blocked) = (SaFlags::SA_ONSTACK, SigSet::all());
    let install = || signal_handler::install("stacks", Signal::SIGPROF, on_signal, flags, blocked);
    INSTALLED.get_or_init(install).clone()
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
    let interrupted = Errno::last_raw();
    target.on_signal(context);
    Errno::set_raw(interrupted);
}
