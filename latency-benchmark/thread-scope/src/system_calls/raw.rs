//! The only code whose system calls the kernel executes directly while it returns all others. It is contiguous,
//! because the kernel gets its start and its length.
#![allow(unsafe_code, reason = "system calls in assembly")]

use std::arch::global_asm;

use libc::{c_int, c_void};

/// A call's number, followed by its arguments.
pub(super) type RawCall = [i64; 7];

// `thread_scope_call(call)` makes the call.
//
// `thread_scope_clone(registers)` makes the call in the registers, which creates a thread or a process with
// its own stack. The child takes over all registers. The parent returns as from any function. The child
// cannot, because it has another stack: it continues where the call was made. That address is stored below
// the top of its stack, since a system call changes no register except rcx, r11 and the result.
//
// `thread_scope_end_handler(stack)` ends the signal handler whose frame is at `stack`, and everything that
// was called after it.
//
// `thread_scope_restorer` is the return address of our handler.
global_asm!(
    ".pushsection .text.thread_scope, \"ax\", @progbits",
    ".globl thread_scope_begin",
    ".hidden thread_scope_begin",
    "thread_scope_begin:",
    ".globl thread_scope_call",
    ".hidden thread_scope_call",
    ".type thread_scope_call, @function",
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
    ".globl thread_scope_clone",
    ".hidden thread_scope_clone",
    ".type thread_scope_clone, @function",
    "thread_scope_clone:",
    "push rbx",
    "push rbp",
    "push r12",
    "push r13",
    "push r14",
    "push r15",
    "mov r8, [rdi + 8 * {r8}]",
    "mov r9, [rdi + 8 * {r9}]",
    "mov r10, [rdi + 8 * {r10}]",
    "mov r12, [rdi + 8 * {r12}]",
    "mov r13, [rdi + 8 * {r13}]",
    "mov r14, [rdi + 8 * {r14}]",
    "mov r15, [rdi + 8 * {r15}]",
    "mov rsi, [rdi + 8 * {rsi}]",
    "mov rbp, [rdi + 8 * {rbp}]",
    "mov rbx, [rdi + 8 * {rbx}]",
    "mov rdx, [rdi + 8 * {rdx}]",
    "mov rax, [rdi + 8 * {rax}]",
    "mov rdi, [rdi + 8 * {rdi}]",
    "syscall",
    "test rax, rax",
    "jz 2f",
    "pop r15",
    "pop r14",
    "pop r13",
    "pop r12",
    "pop rbp",
    "pop rbx",
    "ret",
    "2:",
    "jmp qword ptr [rsp - 8]",
    ".globl thread_scope_end_handler",
    ".hidden thread_scope_end_handler",
    ".type thread_scope_end_handler, @function",
    "thread_scope_end_handler:",
    "mov rsp, rdi",
    ".globl thread_scope_restorer",
    ".hidden thread_scope_restorer",
    ".type thread_scope_restorer, @function",
    "thread_scope_restorer:",
    "mov eax, {rt_sigreturn}",
    "syscall",
    "ud2",
    ".globl thread_scope_end",
    ".hidden thread_scope_end",
    "thread_scope_end:",
    ".popsection",
    r8 = const libc::REG_R8,
    r9 = const libc::REG_R9,
    r10 = const libc::REG_R10,
    r12 = const libc::REG_R12,
    r13 = const libc::REG_R13,
    r14 = const libc::REG_R14,
    r15 = const libc::REG_R15,
    rsi = const libc::REG_RSI,
    rbp = const libc::REG_RBP,
    rbx = const libc::REG_RBX,
    rdx = const libc::REG_RDX,
    rax = const libc::REG_RAX,
    rdi = const libc::REG_RDI,
    rt_sigreturn = const libc::SYS_rt_sigreturn,
);

unsafe extern "C" {
    static thread_scope_begin: u8;
    static thread_scope_end: u8;
    fn thread_scope_call(call: *const RawCall) -> i64;
    fn thread_scope_clone(registers: *const i64) -> i64;
    fn thread_scope_end_handler(stack: i64) -> !;
    fn thread_scope_restorer();
}

/// The start of this code and its length.
pub(super) fn range() -> (usize, usize) {
    let (begin, end) = (&raw const thread_scope_begin, &raw const thread_scope_end);
    (begin.addr(), end.addr() - begin.addr())
}

/// Makes a system call and returns its result.
///
/// # Safety
///
/// As for the system call. It returns on the same stack, so it creates no process that shares this memory.
pub(super) unsafe fn call(call: &RawCall) -> i64 {
    // SAFETY: the function reads the seven values and preserves the registers that it has to.
    unsafe { thread_scope_call(call) }
}

/// Makes the call `clone` or `clone3` in the registers.
///
/// # Safety
///
/// The child has its own stack. The address at which it continues is stored below the top of that stack.
pub(super) unsafe fn clone(registers: *const i64) -> i64 {
    // SAFETY: the function reads these registers and restores the ones that it has to.
    unsafe { thread_scope_clone(registers) }
}

/// Ends the signal handler that called `rt_sigreturn`.
///
/// # Safety
///
/// `stack` is the handler's stack pointer at that call. Nothing below it on the stack needs a drop.
pub(super) unsafe fn end_handler(stack: i64) -> ! {
    // SAFETY: the kernel restores everything from the frame that it created there.
    unsafe { thread_scope_end_handler(stack) }
}

/// The kernel's description of a signal's handling. With the C library's type, one cannot choose the restorer,
/// whose system call the kernel has to execute directly.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(super) struct Action {
    pub(super) handler: usize,
    pub(super) flags: u64,
    pub(super) restorer: usize,
    pub(super) mask: u64,
}

impl Action {
    pub(super) const DEFAULT: Action = Action {
        handler: libc::SIG_DFL,
        flags: 0,
        restorer: 0,
        mask: 0,
    };

    /// A handler that runs with the signal mask of the interrupted code.
    pub(super) fn handled_by(
        handler: unsafe extern "C" fn(c_int, *const libc::siginfo_t, *mut c_void),
    ) -> Action {
        const SA_RESTORER: u64 = 0x0400_0000;
        let flags = libc::SA_SIGINFO | libc::SA_NODEFER | libc::SA_RESTART;
        Action {
            handler: handler as *const () as usize,
            flags: flags as u64 | SA_RESTORER,
            restorer: thread_scope_restorer as *const () as usize,
            mask: 0,
        }
    }

    /// The current handling of a signal.
    pub(super) fn of(signal: c_int) -> Option<Action> {
        let mut action = Action::DEFAULT;
        // SAFETY: the kernel only writes an action.
        let result = unsafe { sigaction(signal, std::ptr::null(), &mut action) };
        (result == 0).then_some(action)
    }

    /// Installs this as the handling of a signal. False if the kernel refuses.
    ///
    /// # Safety
    ///
    /// The handler can be called at any moment.
    pub(super) unsafe fn install(&self, signal: c_int) -> bool {
        // SAFETY: the kernel reads this action; the caller guarantees the rest.
        unsafe { sigaction(signal, self, std::ptr::null_mut()) == 0 }
    }
}

/// # Safety
///
/// As for `rt_sigaction`.
unsafe fn sigaction(signal: c_int, new: *const Action, old: *mut Action) -> i64 {
    const MASK_BYTES: i64 = 8;
    let arguments = [
        libc::SYS_rt_sigaction,
        signal.into(),
        new.addr() as i64,
        old.addr() as i64,
        MASK_BYTES,
        0,
        0,
    ];
    // SAFETY: the caller guarantees it.
    unsafe { call(&arguments) }
}
