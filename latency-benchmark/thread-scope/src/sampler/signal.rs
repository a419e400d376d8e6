//! The signal handler. It finds the sampled thread by a number that the signal carries.
#![allow(
    unsafe_code,
    reason = "installs a signal handler and shares memory with it"
)]

use std::{
    ffi::c_void,
    io, mem, ptr,
    sync::{
        OnceLock,
        atomic::{AtomicPtr, AtomicUsize, Ordering},
    },
    thread,
};

use super::{target::SampledThread, timer::SIGNAL};
use crate::Unobservable;

/// The maximum number of samplers at the same time.
const MOST: usize = 64;

/// A signal may arrive after its sampler has ended. So it carries an index into this array, not a pointer.
static TARGETS: [TargetEntry; MOST] = [const { TargetEntry::new() }; MOST];

struct TargetEntry {
    target: AtomicPtr<SampledThread>,
    /// The number of signal handlers that may be using the target.
    handlers: AtomicUsize,
}

impl TargetEntry {
    const fn new() -> TargetEntry {
        TargetEntry {
            target: AtomicPtr::new(ptr::null_mut()),
            handlers: AtomicUsize::new(0),
        }
    }
}

/// A sampled thread that the signal handler finds by its number.
pub(super) struct Registered {
    number: usize,
    target: *mut SampledThread,
}

// SAFETY: it owns its target, which is `Send` and `Sync`.
unsafe impl Send for Registered {}
// SAFETY: as above.
unsafe impl Sync for Registered {}

impl Registered {
    pub(super) fn new(target: SampledThread) -> Result<Registered, Unobservable> {
        static INSTALLED: OnceLock<Result<(), Unobservable>> = OnceLock::new();
        INSTALLED.get_or_init(install).clone()?;

        let target = Box::into_raw(Box::new(target));
        let is_taken = |entry: &TargetEntry| {
            let empty = ptr::null_mut();
            let (order, otherwise) = (Ordering::SeqCst, Ordering::SeqCst);
            let taken = entry
                .target
                .compare_exchange(empty, target, order, otherwise);
            taken.is_ok()
        };
        match TARGETS.iter().position(is_taken) {
            Some(number) => Ok(Registered { number, target }),
            None => {
                // SAFETY: it comes from a box, and nothing else has the pointer.
                drop(unsafe { Box::from_raw(target) });
                let why = format!("{MOST} threads are sampled already");
                Err(Unobservable::new("stacks", why))
            }
        }
    }

    pub(super) fn number(&self) -> usize {
        self.number
    }

    pub(super) fn target(&self) -> &SampledThread {
        // SAFETY: it lives until this value is dropped, and there are only shared references to it.
        unsafe { &*self.target }
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        let entry = &TARGETS[self.number];
        entry.target.store(ptr::null_mut(), Ordering::SeqCst);
        while entry.handlers.load(Ordering::SeqCst) > 0 {
            thread::yield_now();
        }
        // SAFETY: it comes from a box. A handler that begins now does not find it, and the handlers that may
        // have found it have ended.
        drop(unsafe { Box::from_raw(self.target) });
    }
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
    // SAFETY: the signal of a timer has a value.
    let number = unsafe { info.si_value() }.sival_ptr.addr();
    let Some(entry) = TARGETS.get(number) else {
        return;
    };
    // SAFETY: every thread has an `errno`.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: as above.
    let interrupted = unsafe { *errno };
    entry.handlers.fetch_add(1, Ordering::SeqCst);
    // SAFETY: the target lives as long as a handler is counted.
    if let Some(target) = unsafe { entry.target.load(Ordering::SeqCst).as_ref() } {
        target.on_signal(context);
    }
    entry.handlers.fetch_sub(1, Ordering::SeqCst);
    // SAFETY: as above.
    unsafe { *errno = interrupted };
}
