//! Makes a call in a signal handler so that the thread finds all as if it had made the call itself.
//!
//! Most calls are just made. These have to do with the handler they are made in:
//!
//! * Threads and processes begin where the call was made, not in the handler.
//! * What changes the thread's signal mask or its stack for signals would be undone when the handler
//!   ends, so it is changed in what the handler ends with.
//! * No mask may hold the signal that the calls come by: the kernel ends a process that it cannot hand
//!   a call to. The signal is taken out of the masks that the thread asks for.
#![allow(
    unsafe_code,
    reason = "reads and writes where the thread's registers point"
)]

use std::{mem, ptr};

use libc::ucontext_t;

use super::raw::{self, Action, Call};

const MASK_BYTES: i64 = 8;

/// The signal by which the calls come, as a mask.
pub(super) const SIGNAL: u64 = 1 << (libc::SIGSYS - 1);

/// The argument, from 1, that points to a signal mask.
fn mask_argument(number: i64) -> Option<usize> {
    match number {
        libc::SYS_rt_sigsuspend => Some(1),
        libc::SYS_rt_sigprocmask => Some(2),
        libc::SYS_ppoll => Some(4),
        libc::SYS_epoll_pwait | libc::SYS_epoll_pwait2 => Some(5),
        _ => None,
    }
}

/// Makes the call that the handler was called for. The result is to be put where results go.
///
/// # Safety
///
/// `context` is the handler's own, and the call none that ends a handler.
pub(super) unsafe fn perform(context: *mut ucontext_t) -> i64 {
    // SAFETY: it is the handler's own.
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
    // SAFETY: the thread made this call with these arguments. Where they point to nothing, this
    // crashes, instead of the error that the kernel would have returned.
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
                let without = if mask == 0 { 0 } else { without_signal(mask) };
                let mask = if mask == 0 {
                    0
                } else {
                    (&raw const without).addr() as u64
                };
                let argument = [mask, bytes];
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
/// A mask is there.
unsafe fn without_signal(mask: u64) -> u64 {
    // SAFETY: the caller's.
    unsafe { *(mask as *const u64) & !SIGNAL }
}

/// Has the handler end with the mask that is in force now.
///
/// # Safety
///
/// `context` is the handler's own.
unsafe fn keep_mask(context: *mut ucontext_t) {
    // The kernel's mask is eight bytes; the C library's type is longer than what is there.
    // SAFETY: the caller's.
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

/// The arguments of `clone3` as far as every kernel knows them.
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

/// A child with a stack of its own begins where the call was made. One that shares the stack, but not
/// the memory, has a handler of its own to return from. One that would share both (`vfork`) gets a
/// copy of the memory, as POSIX permits: it would return from a handler that its parent is still in.
///
/// Child threads and processes are not watched: the kernel sees to that.
///
/// # Safety
///
/// That of `perform`; `call` is one of these three.
unsafe fn fork(context: *mut ucontext_t, mut call: Call) -> i64 {
    const SHARES: u64 = (libc::CLONE_VM | libc::CLONE_VFORK) as u64;
    // SAFETY: as in `perform`. A stack is there to be written to, below the top that the child is given.
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
            // Too short, which the kernel refuses.
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

/// Leaves the address after the call below the child's stack.
///
/// # Safety
///
/// The stack can be written to.
unsafe fn go_on_at(registers: *const i64, top: u64) {
    // SAFETY: the caller's.
    unsafe {
        let address = *registers.add(libc::REG_RIP as usize);
        ptr::write_unaligned((top as *mut i64).wrapping_sub(1), address);
    }
}
