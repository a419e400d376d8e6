//! The handler of the signal with which the kernel returns a thread's system calls.
//!
//! It blocks no signal, not even its own. So a waiting call is interrupted by the same signals as without
//! recording, and their handlers run at once, on top of this one. The kernel executes their calls, since it returns none
//! before the outer call has returned.
#![allow(unsafe_code, reason = "a signal handler, and the thread's registers")]

use std::cell::Cell;
use std::sync::atomic::Ordering;
use std::{io, ptr};

use libc::{c_int, c_void, siginfo_t, ucontext_t};
use nix::sys::signal::{SaFlags, SigSet, Signal};

use super::WHAT;
use super::slot::Slot;
use crate::scope::{Unobservable, signal_handler};

/// `si_code`: the kernel returns a system call.
const SYS_USER_DISPATCH: c_int = 2;

/// Arguments of `prctl`. The crate `libc` defines them for few systems only.
const PR_SET_SYSCALL_USER_DISPATCH: c_int = 59;
const PR_SYS_DISPATCH_ON: u64 = 1;

thread_local! {
    /// For the handler. None if the thread was never recorded.
    static SLOT: Cell<Option<&'static Slot>> = const { Cell::new(None) };
}

/// Whether a recorder of this thread still exists.
pub(super) fn is_taken() -> bool {
    let has_recorder = |slot: &Slot| slot.has_recorder.load(Ordering::SeqCst);
    SLOT.get().is_some_and(has_recorder)
}

pub(super) fn install() -> Result<(), Unobservable> {
    if cfg!(not(target_arch = "x86_64")) {
        let why = "they can be recorded on x86-64 only, and this is another processor";
        return Err(Unobservable::new(WHAT, why));
    }
    let (flags, blocked) = (SaFlags::SA_NODEFER, SigSet::empty());
    signal_handler::install(WHAT, Signal::SIGSYS, on_signal, flags, blocked)
}

/// Unblocks SIGSYS in every signal handler: if a handler blocked it, the kernel could not return the handler's
/// calls and would end the process.
pub(super) fn take_out_of_actions() {
    for signal in 1..=libc::SIGRTMAX() {
        let Some(mut action) = signal_handler::action(signal) else {
            continue;
        };
        // SAFETY: the mask is initialised, and the handler was installed before.
        unsafe {
            if signal_handler::has_handler(&action)
                && libc::sigismember(&action.sa_mask, libc::SIGSYS) == 1
            {
                libc::sigdelset(&mut action.sa_mask, libc::SIGSYS);
                libc::sigaction(signal, &action, ptr::null_mut());
            }
        }
    }
}

/// From now on the kernel reads the slot at each of this thread's system calls, except at the one with which the C
/// library ends a signal handler.
pub(super) fn arm(slot: &'static Slot) -> Result<(), Unobservable> {
    /// Two instructions, and one byte more, since the kernel compares the address after them.
    const END_OF_HANDLERS: usize = 10;
    let action = signal_handler::action(libc::SIGSYS);
    let Some(end_of_handlers) = action.and_then(|action| action.sa_restorer) else {
        let why = "the C library does not tell how it ends signal handlers";
        return Err(Unobservable::new(WHAT, why));
    };
    let before = SLOT.replace(Some(slot));
    // SAFETY: the selector is a byte of the slot, which is never freed.
    let result = unsafe {
        libc::prctl(
            PR_SET_SYSCALL_USER_DISPATCH,
            PR_SYS_DISPATCH_ON,
            end_of_handlers as *const () as usize,
            END_OF_HANDLERS,
            slot.selector(),
        )
    };
    if result != 0 {
        let error = io::Error::last_os_error();
        SLOT.set(before);
        return Err(Unobservable::new(
            WHAT,
            format!("the kernel refuses Syscall User Dispatch, which needs Linux 5.11 ({error})"),
        ));
    }
    Ok(())
}

extern "C" fn on_signal(_: c_int, info: *mut siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel passes valid pointers.
    match (SLOT.get(), unsafe { (*info).si_code }) {
        // SAFETY: as above.
        (Some(slot), SYS_USER_DISPATCH) => on_call(slot, unsafe { &mut *context.cast() }),
        (slot, libc::SI_TKILL) => slot.into_iter().for_each(Slot::follow),
        _ => die(),
    }
}

#[cfg(target_arch = "x86_64")]
fn on_call(slot: &Slot, context: &mut ucontext_t) {
    /// The length of the instruction `syscall`.
    const INSTRUCTION: i64 = 2;
    let registers = &mut context.uc_mcontext.gregs;
    if needs_the_thread(registers) {
        slot.pause();
        registers[libc::REG_RIP as usize] -= INSTRUCTION;
        return;
    }
    let call = [
        libc::REG_RAX,
        libc::REG_RDI,
        libc::REG_RSI,
        libc::REG_RDX,
        libc::REG_R10,
        libc::REG_R8,
        libc::REG_R9,
    ];
    let result = slot.record(call.map(|at| registers[at as usize]));
    registers[libc::REG_RAX as usize] = result;
}

/// The handler is not installed on other processors.
#[cfg(not(target_arch = "x86_64"))]
fn on_call(_: &Slot, _: &mut ucontext_t) {}

/// Whether only the thread itself can make the call: it creates a thread or a process, which would begin in the
/// handler, or it changes the signals that the end of the handler restores, or that the kernel could not return calls
/// by, or it ends a handler. The thread then makes it, and what follows, without being recorded.
#[cfg(target_arch = "x86_64")]
fn needs_the_thread(registers: &[i64; 23]) -> bool {
    let has = |argument: c_int| registers[argument as usize] != 0;
    match registers[libc::REG_RAX as usize] {
        libc::SYS_clone | libc::SYS_clone3 | libc::SYS_fork | libc::SYS_vfork => true,
        libc::SYS_rt_sigaction | libc::SYS_rt_sigprocmask | libc::SYS_rt_sigreturn => true,
        libc::SYS_rt_sigsuspend | libc::SYS_sigaltstack => true,
        // With a mask for the time of the wait.
        libc::SYS_ppoll => has(libc::REG_R10),
        libc::SYS_epoll_pwait | libc::SYS_epoll_pwait2 => has(libc::REG_R8),
        libc::SYS_pselect6 => has(libc::REG_R9),
        _ => false,
    }
}

/// Another process sent the signal: has the same effect as without a handler.
fn die() {
    // SAFETY: the calls have no preconditions.
    unsafe {
        libc::signal(libc::SIGSYS, libc::SIG_DFL);
        libc::raise(libc::SIGSYS);
    }
}
