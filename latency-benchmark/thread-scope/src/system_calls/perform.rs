//! Makes a call in a signal handler, with the same effects as if the thread had made the call itself.
//!
//! Most calls need no special treatment. Exceptions:
//!
//! * New threads and processes have to start where the call was made, not in the handler.
//! * The end of the handler undoes changes of the thread's signal mask and of its alternative signal stack. So
//!   the change is also made in the context that the end of the handler restores.
//! * No mask may contain SIGSYS, with which the kernel returns calls: if the kernel cannot return a call, it
//!   ends the process. So SIGSYS is removed from the masks that the thread passes.
#![allow(
    unsafe_code,
    reason = "reads and writes memory to which the thread's registers point"
)]

use std::{mem, ptr};

use libc::ucontext_t;

use super::raw::{self, Action, RawCall};

const MASK_BYTES: i64 = 8;

/// SIGSYS as a mask.
pub(super) const SIGNAL: u64 = 1 << (libc::SIGSYS - 1);

/// The argument that points to a signal mask, counted from 1.
fn mask_argument(number: i64) -> Option<usize> {
    match number {
        libc::SYS_rt_sigsuspend => Some(1),
        libc::SYS_rt_sigprocmask => Some(2),
        libc::SYS_ppoll => Some(4),
        libc::SYS_epoll_pwait | libc::SYS_epoll_pwait2 => Some(5),
        _ => None,
    }
}

/// Makes the call for which the handler was called, and returns its result.
///
/// # Safety
///
/// `context` is that of the running handler, and the call is not `rt_sigreturn`.
pub(super) unsafe fn perform(context: *mut ucontext_t) -> i64 {
    // SAFETY: it is the context of the running handler.
    let register = |index: i32| unsafe { (*context).uc_mcontext.gregs[index as usize] };
    let mut call = [
        register(libc::REG_RAX),
        register(libc::REG_RDI),
        register(libc::REG_RSI),
        register(libc::REG_RDX),
        register(libc::REG_R10),
        register(libc::REG_R8),
        register(libc::REG_R9),
    ];
    // SAFETY: the thread made this call with these arguments. If they point to invalid memory, this crashes
    // instead of returning the kernel's error.
    unsafe {
        match call[0] {
            libc::SYS_clone | libc::SYS_clone3 | libc::SYS_vfork => fork(context, call),
            libc::SYS_rt_sigaction if call[2] != 0 => {
                let mut action = *(call[2] as *const Action);
                action.mask &= !SIGNAL;
                call[2] = (&raw const action).addr() as i64;
                raw::call(&call)
            }
            libc::SYS_sigaltstack => {
                let result = raw::call(&call);
                if result == 0 && call[1] != 0 {
                    let stack = &raw mut (*context).uc_stack;
                    raw::call(&[libc::SYS_sigaltstack, 0, stack.addr() as i64, 0, 0, 0, 0]);
                }
                result
            }
            libc::SYS_pselect6 if call[6] != 0 => {
                let [mask, bytes] = *(call[6] as *const [u64; 2]);
                let without;
                let mut argument = [mask, bytes];
                if mask != 0 {
                    without = without_signal(mask);
                    argument[0] = (&raw const without).addr() as u64;
                }
                call[6] = (&raw const argument).addr() as i64;
                raw::call(&call)
            }
            number => match mask_argument(number) {
                Some(argument) if call[argument] != 0 => {
                    let mask = without_signal(call[argument] as u64);
                    call[argument] = (&raw const mask).addr() as i64;
                    let result = raw::call(&call);
                    if number == libc::SYS_rt_sigprocmask && result == 0 {
                        keep_mask(context);
                    }
                    result
                }
                _ => raw::call(&call),
            },
        }
    }
}

/// # Safety
///
/// `mask` points to a mask.
unsafe fn without_signal(mask: u64) -> u64 {
    // SAFETY: the caller guarantees it.
    unsafe { *(mask as *const u64) & !SIGNAL }
}

/// Has the end of the handler restore the current mask.
///
/// # Safety
///
/// `context` is that of the running handler.
unsafe fn keep_mask(context: *mut ucontext_t) {
    // The kernel's mask has eight bytes. The C library's type is longer than the available memory.
    // SAFETY: the caller guarantees it.
    let mask = unsafe { (&raw mut (*context).uc_sigmask).cast::<u64>() };
    let call = [
        libc::SYS_rt_sigprocmask,
        libc::SIG_BLOCK.into(),
        0,
        mask.addr() as i64,
        MASK_BYTES,
        0,
        0,
    ];
    // SAFETY: the kernel writes eight bytes.
    unsafe { raw::call(&call) };
}

/// The arguments of `clone3` that every kernel knows.
#[repr(C)]
#[derive(Clone, Copy)]
struct Clone3 {
    flags: u64,
    pidfd: u64,
    child_tid: u64,
    parent_tid: u64,
    exit_signal: u64,
    stack: u64,
    stack_size: u64,
    tls: u64,
}

/// There are three cases:
///
/// * A child with its own stack starts where the call was made.
/// * A child with a copy of the memory has a copy of the handler, and returns from that.
/// * A child that would share memory and stack (`vfork`) gets a copy of the memory, as POSIX permits.
///   Otherwise it would return from a handler in which its parent still is.
///
/// The kernel does not return the calls of child threads and processes.
///
/// # Safety
///
/// As for `perform`; `call` is `clone`, `clone3` or `vfork`.
unsafe fn fork(context: *mut ucontext_t, mut call: RawCall) -> i64 {
    const SHARES: u64 = (libc::CLONE_VM | libc::CLONE_VFORK) as u64;
    // SAFETY: as in `perform`. The child's stack is writable below the top that the child gets.
    unsafe {
        let registers = (&raw mut (*context).uc_mcontext.gregs).cast::<i64>();
        match call[0] {
            libc::SYS_clone if call[2] != 0 => {
                go_on_at(registers, call[2] as u64);
                raw::clone(registers)
            }
            libc::SYS_clone => {
                call[1] &= !(SHARES as i64);
                raw::call(&call)
            }
            // The structure is too short, and the kernel refuses the call.
            libc::SYS_clone3 if (call[2] as usize) < mem::size_of::<Clone3>() => raw::call(&call),
            libc::SYS_clone3 => {
                let arguments = call[1] as *mut Clone3;
                let asked = *arguments;
                if asked.stack != 0 {
                    go_on_at(registers, asked.stack.wrapping_add(asked.stack_size));
                    return raw::clone(registers);
                }
                (*arguments).flags &= !SHARES;
                let result = raw::call(&call);
                (*arguments).flags = asked.flags;
                result
            }
            _ => raw::call(&[libc::SYS_fork, 0, 0, 0, 0, 0, 0]),
        }
    }
}

/// Stores the address after the call below the top of the child's stack.
///
/// # Safety
///
/// The stack is writable.
unsafe fn go_on_at(registers: *const i64, top: u64) {
    // SAFETY: the caller guarantees it.
    unsafe {
        let address = *registers.add(libc::REG_RIP as usize);
        ptr::write_unaligned((top as *mut i64).wrapping_sub(1), address);
    }
}
