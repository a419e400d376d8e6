//! The handler of the signal with which the kernel returns a thread's system calls.
//!
//! It blocks no signal, not even its own. So a waiting call is interrupted by the same signals as without
//! recording, and their handlers run at once, on top of this one. The calls of such a handler arrive here too.
//! They are made but not recorded, since the outer call has not returned yet.
#![allow(unsafe_code, reason = "a signal handler, and the thread's registers")]

use std::{
    cell::{Cell, RefCell},
    ptr,
    sync::{Arc, OnceLock, atomic::Ordering},
};

use libc::{c_int, c_void, siginfo_t, ucontext_t};

use super::{
    call::{SystemCall, WHAT},
    perform,
    raw::{self, Action},
    slot::Slot,
};
use crate::Unobservable;

/// `si_code`: the kernel returns a system call.
const SYS_USER_DISPATCH: c_int = 2;

/// Arguments of `prctl`. The crate `libc` defines them for few systems only.
const PR_SET_SYSCALL_USER_DISPATCH: c_int = 59;
const PR_SYS_DISPATCH_OFF: u64 = 0;
const PR_SYS_DISPATCH_ON: u64 = 1;

thread_local! {
    /// For the handler. Null if the thread is not recorded.
    static SLOT: Cell<*const Slot> = const { Cell::new(ptr::null()) };
    /// Keeps the slot as long as the thread lives.
    static ARMED: RefCell<Option<Armed>> = const { RefCell::new(None) };
}

struct Armed(Arc<Slot>);

impl Drop for Armed {
    fn drop(&mut self) {
        // From now on no signal is sent to this id, which another thread may get.
        self.0.thread().take();
        self.0.want(false);
        if SLOT.get() == Arc::as_ptr(&self.0) {
            // SAFETY: the call has no preconditions. Without dispatch nothing reads the slot.
            unsafe { libc::prctl(PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_OFF, 0, 0, 0) };
            SLOT.set(ptr::null());
        }
    }
}

/// Whether a recorder of this thread still exists.
pub(super) fn is_taken() -> bool {
    ARMED.with_borrow(|armed| {
        armed
            .as_ref()
            .is_some_and(|Armed(slot)| Arc::strong_count(slot) > 1)
    })
}

/// Installs the handler once per process.
pub(super) fn install() -> Result<(), Unobservable> {
    static INSTALLED: OnceLock<Result<(), Unobservable>> = OnceLock::new();
    let install = || match Action::of(libc::SIGSYS) {
        Some(action) if action.handler == libc::SIG_DFL || action.handler == libc::SIG_IGN => {
            // SAFETY: the handler can be called at any moment.
            if unsafe { Action::handled_by(on_signal).install(libc::SIGSYS) } {
                Ok(())
            } else {
                Err(Unobservable::new(
                    WHAT,
                    "the kernel accepts no handler for SIGSYS",
                ))
            }
        }
        _ => Err(Unobservable::new(
            WHAT,
            "the process already has a handler for SIGSYS",
        )),
    };
    INSTALLED.get_or_init(install).clone()
}

/// From now on the kernel reads the slot at each of this thread's system calls.
pub(super) fn arm(slot: Arc<Slot>) -> Result<(), Unobservable> {
    let (begin, bytes) = raw::range();
    // The previous slot stays until the kernel has the new one.
    let before = SLOT.replace(Arc::as_ptr(&slot));
    // SAFETY: the selector is a byte of the slot. The thread keeps the slot until dispatch is off.
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
        return Err(Unobservable::new(
            WHAT,
            format!("the kernel refuses Syscall User Dispatch, which needs Linux 5.11 ({error})"),
        ));
    }
    // Drops the previous slot. The kernel no longer uses its selector.
    drop(ARMED.replace(Some(Armed(slot))));
    Ok(())
}

unsafe extern "C" fn on_signal(_: c_int, info: *const siginfo_t, context: *mut c_void) {
    // SAFETY: the slot belongs to this thread, which keeps it as long as the pointer is set.
    let slot = unsafe { SLOT.get().as_ref() };
    // SAFETY: the kernel passes valid pointers.
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
/// `context` is that of the running handler.
unsafe fn on_call(slot: Option<&Slot>, context: *mut ucontext_t) {
    // SAFETY: the caller guarantees it.
    let register = |index: i32| unsafe { &raw mut (*context).uc_mcontext.gregs[index as usize] };
    // SAFETY: the registers are valid, and the thread made this call.
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

/// Another process sent the signal: has the same effect as without a handler.
fn die() {
    // SAFETY: the calls have no preconditions.
    unsafe {
        Action::DEFAULT.install(libc::SIGSYS);
        libc::raise(libc::SIGSYS);
    }
}
