//! The only code whose system calls the kernel executes directly while it returns all others.
#![allow(unsafe_code, reason = "system calls in assembly")]

use std::arch::global_asm;

/// A call's number, followed by its arguments.
pub(super) type RawCall = [i64; 7];

// `thread_scope_call(call)` makes the call.
//
// `thread_scope_end_handler(stack)` ends the signal handler whose frame is at `stack`, and everything that was called
// after it. It is contiguous with the first, because the kernel gets the start and the length of both.
global_asm!(
    ".pushsection .text.thread_scope, \"ax\", @progbits",
    ".globl thread_scope_call",
    ".hidden thread_scope_call",
    "thread_scope_call:",
    "mov rax, [rdi]",
    "mov rsi, [rdi + 16]",
    "mov rdx, [rdi + 24]",
    "mov r10, [rdi + 32]",
    "mov r8, [rdi + 40]",
    "mov r9, [rdi + 48]",
    "mov rdi, [rdi + 8]",
    "syscall",
    "ret",
    ".globl thread_scope_end_handler",
    ".hidden thread_scope_end_handler",
    "thread_scope_end_handler:",
    "mov rsp, rdi",
    "mov eax, {rt_sigreturn}",
    "syscall",
    "ud2",
    ".globl thread_scope_end",
    ".hidden thread_scope_end",
    "thread_scope_end:",
    ".popsection",
    rt_sigreturn = const libc::SYS_rt_sigreturn,
);

unsafe extern "C" {
    static thread_scope_end: u8;

    /// Makes a system call and returns its result.
    ///
    /// # Safety
    ///
    /// As for the system call. It returns on the same stack, so it creates no process that shares this memory.
    pub(super) fn thread_scope_call(call: &RawCall) -> i64;

    /// Ends a signal handler as its return does: the kernel restores everything from the frame that it created.
    ///
    /// # Safety
    ///
    /// `stack` is the address above the handler's return address. Nothing below it on the stack needs a drop.
    pub(super) fn thread_scope_end_handler(stack: usize) -> !;
}

/// The start of this code and its length.
pub(super) fn range() -> (usize, usize) {
    let begin = (thread_scope_call as *const ()).addr();
    (begin, (&raw const thread_scope_end).addr() - begin)
}
