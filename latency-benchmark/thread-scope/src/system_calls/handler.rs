//! The handler of the signal by which a thread's system calls come back to it.
//!
//! It blocks no signal, not even its own: a call that waits is interrupted by the signals that would
//! have interrupted it, and their handlers run at once, on top of this one. What such a handler calls
//! comes here too, and is made but not recorded, as the call around it is still going on.
#![allow(unsafe_code, reason = "a signal handler, and the thread's registers")]

use std::{
    cell::{Cell, RefCell},
    ptr,
    sync::{Arc, OnceLock, atomic::Ordering},
};

use libc::{c_int, c_void, siginfo_t, ucontext_t};

use super::{
    SystemCall, WHAT, perform,
    raw::{self, Action},
    slot::Slot,
};
use crate::Unavailable;

/// `si_code`: the kernel hands back a system call.
const SYS_USER_DISPATCH: c_int = 2;

/// The arguments of `prctl`, which the C library's crate has for few systems.
const PR_SET_SYSCALL_USER_DISPATCH: c_int = 59;
const PR_SYS_DISPATCH_OFF: u64 = 0;
const PR_SYS_DISPATCH_ON: u64 = 1;

thread_local! {
    /// For the handler; null where the thread is not watched.
    static SLOT: Cell<*const Slot> = const { Cell::new(ptr::null()) };
    /// Keeps it, for as long as the thread lives.
    static ARMED: RefCell<Option<Armed>> = const { RefCell::new(None) };
}

struct Armed(Arc<Slot>);

impl Drop for Armed {
    fn drop(&mut self) {
        // Nobody may send a signal to a thread that took this one's number.
        self.0.thread().take();
        self.0.want(false);
        if SLOT.get() == Arc::as_ptr(&self.0) {
            // SAFETY: the call needs nothing. Without dispatch nothing reads the slot.
            unsafe { libc::prctl(PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_OFF, 0, 0, 0) };
            SLOT.set(ptr::null());
        }
    }
}

/// Whether this thread is watched by someone who still wants it.
pub(super) fn is_taken() -> bool {
    ARMED.with_borrow(|armed| {
        armed
            .as_ref()
            .is_some_and(|Armed(slot)| Arc::strong_count(slot) > 1)
    })
}

/// Installs the handler, once in a process.
pub(super) fn install() -> Result<(), Unavailable> {
    static INSTALLED: OnceLock<Result<(), Unavailable>> = OnceLock::new();
    let install = || match Action::of(libc::SIGSYS) {
        Some(action) if action.handler == libc::SIG_DFL || action.handler == libc::SIG_IGN => {
            // SAFETY: the handler takes whatever comes.
            if unsafe { Action::handled_by(on_signal).install(libc::SIGSYS) } {
                Ok(())
            } else {
                Err(Unavailable::new(WHAT, "SIGSYS takes no handler"))
            }
        }
        _ => Err(Unavailable::new(
            WHAT,
            "the process has a handler of its own for SIGSYS",
        )),
    };
    INSTALLED.get_or_init(install).clone()
}

/// From here on the kernel looks at the slot at each of this thread's system calls.
pub(super) fn arm(slot: Arc<Slot>) -> Result<(), Unavailable> {
    let (begin, bytes) = raw::range();
    // The one before stays until the kernel has this one.
    let before = SLOT.replace(Arc::as_ptr(&slot));
    // SAFETY: the selector is a byte of the slot, which the thread keeps until dispatch is off.
    let result = unsafe {
        libc::prctl(
            PR_SET_SYSCALL_USER_DISPATCH,
            PR_SYS_DISPATCH_ON,
            begin,
            bytes,
            slot.selector(),
        )
    };
    if result != 0 {
        let error = std::io::Error::last_os_error();
        SLOT.set(before);
        return Err(Unavailable::new(
            WHAT,
            format!(
                "the kernel does not hand them back ({error}): Syscall User Dispatch needs Linux 5.11"
            ),
        ));
    }
    // The one before goes, whose selector the kernel no longer knows.
    drop(ARMED.replace(Some(Armed(slot))));
    Ok(())
}

unsafe extern "C" fn on_signal(_: c_int, info: *const siginfo_t, context: *mut c_void) {
    // SAFETY: the slot is this thread's, which keeps it for as long as it is here.
    let slot = unsafe { SLOT.get().as_ref() };
    // SAFETY: the kernel passes both.
    unsafe {
        match (*info).si_code {
            SYS_USER_DISPATCH => on_call(slot, context.cast()),
            libc::SI_TKILL => {
                if let Some(slot) = slot {
                    slot.follow();
                }
            }
            _ => die(),
        }
    }
}

/// # Safety
///
/// `context` is the handler's own.
unsafe fn on_call(slot: Option<&Slot>, context: *mut ucontext_t) {
    // SAFETY: the caller's.
    let register = |index: i32| unsafe { &raw mut (*context).uc_mcontext.gregs[index as usize] };
    // SAFETY: the registers are there, and the call is the thread's.
    unsafe {
        let number = *register(libc::REG_RAX);
        let second = (*register(libc::REG_RSI)).cast_unsigned();
        if number == libc::SYS_rt_sigreturn {
            if let Some(slot) = slot {
                slot.unrecorded.fetch_add(1, Ordering::Relaxed);
            }
            raw::end_handler(*register(libc::REG_RSP));
        }
        let result = match slot {
            Some(slot) if slot.enter() => {
                let at = (slot.clock)();
                let result = perform::perform(context);
                let ns = (slot.clock)().saturating_sub(at);
                slot.leave(SystemCall {
                    at,
                    ns,
                    number,
                    second,
                    result,
                });
                result
            }
            Some(slot) => {
                if slot.is_recording() {
                    slot.unrecorded.fetch_add(1, Ordering::Relaxed);
                } else {
                    slot.follow();
                }
                perform::perform(context)
            }
            None => perform::perform(context),
        };
        *register(libc::REG_RAX) = result;
    }
}

/// A signal of somebody else's: what would have happened without a handler.
fn die() {
    // SAFETY: none of these needs anything.
    unsafe {
        Action::DEFAULT.install(libc::SIGSYS);
        libc::raise(libc::SIGSYS);
    }
}
