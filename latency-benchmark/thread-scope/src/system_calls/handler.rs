//! The handler of the signal with which the kernel returns a thread's system calls.
//!
//! It blocks no signal, not even its own. So a waiting call is interrupted by the same signals as without
//! recording, and their handlers run at once, on top of this one. The calls of such a handler arrive here too.
//! They are made but not recorded, since the outer call has not returned yet.
#![allow(unsafe_code, reason = "a signal handler, and the thread's registers")]

use std::cell::{Cell, RefCell};
use std::sync::{Arc, OnceLock};
use std::{io, ptr};

use libc::{c_int, c_void, siginfo_t, ucontext_t};
use nix::sys::signal::{SaFlags, SigSet, Signal};

use super::call::{SystemCall, WHAT};
use super::raw;
use super::slot::Slot;
use crate::{Unobservable, signal_handler};

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
    let has_recorder = |Armed(slot): &Armed| Arc::strong_count(slot) > 1;
    ARMED.with_borrow(|armed| armed.as_ref().is_some_and(has_recorder))
}

/// Installs the handler once per process.
pub(super) fn install() -> Result<(), Unobservable> {
    static INSTALLED: OnceLock<Result<(), Unobservable>> = OnceLock::new();
    let (flags, blocked) = (SaFlags::SA_NODEFER, SigSet::empty());
    let install = || signal_handler::install(WHAT, Signal::SIGSYS, on_signal, flags, blocked);
    INSTALLED.get_or_init(install).clone()
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
        let error = io::Error::last_os_error();
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

extern "C" fn on_signal(_: c_int, info: *mut siginfo_t, context: *mut c_void) {
    // SAFETY: the slot belongs to this thread, which keeps it as long as the pointer is set. The kernel passes valid
    // pointers. The context begins above the handler's return address, and nothing here needs a drop.
    unsafe {
        let slot = SLOT.get().as_ref();
        match (*info).si_code {
            SYS_USER_DISPATCH => on_call(slot, &mut *context.cast()),
            libc::SI_TKILL => slot.into_iter().for_each(Slot::follow),
            _ => die(),
        }
        // The C library's way back is a system call, which the kernel would return.
        raw::thread_scope_end_handler(context.addr())
    }
}

/// # Safety
///
/// `context` is that of the running handler.
unsafe fn on_call(slot: Option<&Slot>, context: &mut ucontext_t) {
    /// The length of the instruction `syscall`.
    const INSTRUCTION: i64 = 2;
    let registers = &mut context.uc_mcontext.gregs;
    let [number, second] = [libc::REG_RAX, libc::REG_RSI].map(|at| registers[at as usize]);
    if number == libc::SYS_rt_sigreturn {
        // SAFETY: another handler is at its end, and the stack pointer is where it was when that began.
        unsafe { raw::thread_scope_end_handler(registers[libc::REG_RSP as usize] as usize) }
    }
    if let Some(slot) = slot
        && needs_the_thread(registers)
    {
        slot.pause();
        registers[libc::REG_RIP as usize] -= INSTRUCTION;
        return;
    }
    let arguments = [
        libc::REG_RAX,
        libc::REG_RDI,
        libc::REG_RSI,
        libc::REG_RDX,
        libc::REG_R10,
        libc::REG_R8,
        libc::REG_R9,
    ];
    let call = arguments.map(|at| registers[at as usize]);
    // SAFETY: the thread made this call with these arguments. If they point to invalid memory, the kernel says so.
    let perform = || unsafe { raw::thread_scope_call(&call) };
    let result = match slot {
        Some(slot) if slot.enter() => {
            let at = (slot.clock)();
            let result = perform();
            let ns = (slot.clock)().saturating_sub(at);
            // SAFETY: `enter` was true.
            unsafe {
                slot.leave(SystemCall {
                    at,
                    ns,
                    number,
                    second: second.cast_unsigned(),
                    result,
                });
            }
            result
        }
        _ => perform(),
    };
    slot.into_iter().for_each(Slot::follow);
    registers[libc::REG_RAX as usize] = result;
}

/// Whether only the thread itself can make the call: it creates a thread or a process, which would begin in the
/// handler, or it changes the signals that the end of the handler restores, or that the kernel could not return calls
/// by. The thread then makes it, and what follows, without being recorded.
fn needs_the_thread(registers: &[i64; 23]) -> bool {
    let has = |argument: c_int| registers[argument as usize] != 0;
    match registers[libc::REG_RAX as usize] {
        libc::SYS_clone | libc::SYS_clone3 | libc::SYS_fork | libc::SYS_vfork => true,
        libc::SYS_rt_sigaction | libc::SYS_rt_sigprocmask => true,
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
