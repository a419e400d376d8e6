//! The signal handler, and how it finds the sampler for whose thread a signal is.
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

use super::{target::Target, timer::SIGNAL};
use crate::Unavailable;

/// Samplers at one time.
const MOST: usize = 64;

/// Signals may arrive late, so what they carry is a number, and what it stands for is looked up.
static PLACES: [Place; MOST] = [const { Place::new() }; MOST];

struct Place {
    target: AtomicPtr<Target>,
    /// Signal handlers that may be looking at it.
    handlers: AtomicUsize,
}

impl Place {
    const fn new() -> Place {
        Place {
            target: AtomicPtr::new(ptr::null_mut()),
            handlers: AtomicUsize::new(0),
        }
    }
}

/// A target that the signal handler finds by a number.
pub(super) struct Registered {
    number: usize,
    target: *mut Target,
}

// SAFETY: owns its target, which is `Send` and `Sync`.
unsafe impl Send for Registered {}
// SAFETY: as above.
unsafe impl Sync for Registered {}

impl Registered {
    pub(super) fn new(target: Target) -> Result<Registered, Unavailable> {
        static INSTALLED: OnceLock<Result<(), Unavailable>> = OnceLock::new();
        INSTALLED.get_or_init(install).clone()?;

        let target = Box::into_raw(Box::new(target));
        let is_taken = |place: &Place| {
            let empty = ptr::null_mut();
            let (order, otherwise) = (Ordering::SeqCst, Ordering::SeqCst);
            let taken = place
                .target
                .compare_exchange(empty, target, order, otherwise);
            taken.is_ok()
        };
        match PLACES.iter().position(is_taken) {
            Some(number) => Ok(Registered { number, target }),
            None => {
                // SAFETY: comes from a box and was given to nobody.
                drop(unsafe { Box::from_raw(target) });
                let why = format!("{MOST} threads are sampled already");
                Err(Unavailable::new("stacks", why))
            }
        }
    }

    pub(super) fn number(&self) -> usize {
        self.number
    }

    pub(super) fn target(&self) -> &Target {
        // SAFETY: lives until this is dropped, and is only ever shared.
        unsafe { &*self.target }
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        let place = &PLACES[self.number];
        place.target.store(ptr::null_mut(), Ordering::SeqCst);
        while place.handlers.load(Ordering::SeqCst) > 0 {
            thread::yield_now();
        }
        // SAFETY: comes from a box. A handler that begins now finds nothing, and those that may have
        // found it have ended.
        drop(unsafe { Box::from_raw(self.target) });
    }
}

/// For good: a signal may be under way when the last sampler ends, and would end the process.
fn install() -> Result<(), Unavailable> {
    let unavailable = |call: &str| {
        let error = io::Error::last_os_error();
        Unavailable::new("stacks", format!("{call}: {error}"))
    };
    // SAFETY: all zeros are a value of this struct.
    let mut before: libc::sigaction = unsafe { mem::zeroed() };
    // SAFETY: asks only.
    if unsafe { libc::sigaction(SIGNAL, ptr::null(), &raw mut before) } != 0 {
        return Err(unavailable("sigaction"));
    }
    if ![libc::SIG_DFL, libc::SIG_IGN].contains(&before.sa_sigaction) {
        let why = "another profiler in this process handles SIGPROF";
        return Err(Unavailable::new("stacks", why));
    }

    // SAFETY: all zeros are a value of this struct.
    let mut action: libc::sigaction = unsafe { mem::zeroed() };
    let handler: extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut c_void) = on_signal;
    action.sa_sigaction = handler as usize;
    // Not on the thread's own stack, which may be nearly used up.
    action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART | libc::SA_ONSTACK;
    // SAFETY: the mask is the struct's own. Other handlers wait, for the stack is small.
    unsafe { libc::sigfillset(&raw mut action.sa_mask) };
    // SAFETY: the handler is a function of this signature that does only what handlers may do.
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
    // SAFETY: a timer's signal has one.
    let number = unsafe { info.si_value() }.sival_ptr.addr();
    let Some(place) = PLACES.get(number) else {
        return;
    };
    // SAFETY: every thread has one.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: as above.
    let interrupted = unsafe { *errno };
    place.handlers.fetch_add(1, Ordering::SeqCst);
    // SAFETY: stays until no handler is left.
    if let Some(target) = unsafe { place.target.load(Ordering::SeqCst).as_ref() } {
        target.on_signal(context);
    }
    place.handlers.fetch_sub(1, Ordering::SeqCst);
    // SAFETY: as above.
    unsafe { *errno = interrupted };
}
