//! Records which system calls a thread makes, with their times and results.
//!
//! At the thread's request, the kernel returns its calls to it as signals (Syscall User Dispatch, Linux 5.11).
//! The signal handler makes the call in its place. This needs no root, no tracer and no other process.
//!
//! These calls are not recorded:
//!
//! * calls that do not reach the kernel, such as `clock_gettime` through the vDSO;
//! * calls of other threads and of other processes;
//! * calls that do not return (`exit`, a successful `execve`);
//! * calls of signal handlers that interrupt another call;
//! * calls that only the thread itself can make, which create a thread or a process or change how signals are handled,
//!   and those between such a call and the next [`SystemCallRecorder::drain`].

mod handler;
mod recorder;
mod slot;

pub use recorder::SystemCallRecorder;

/// What [`Unobservable`](crate::scope::Unobservable) reports as not observable.
const WHAT: &str = "system calls";

/// A system call that has returned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SystemCall {
    /// The time of the call on the caller's clock.
    pub at: u64,
    /// The duration on the same clock, including waiting.
    pub ns: u64,
    /// The number; see [`name`](SystemCall::name).
    pub number: i64,
    /// The second argument, which selects the operation of some calls.
    pub second: u64,
    /// The result. An error is a negative error number.
    pub result: i64,
}

impl SystemCall {
    /// The name, or `unknown` for a call that is newer than this crate. A `futex` call that waits and one that
    /// wakes have different names, those of the kernel's newer calls `futex_wait` and `futex_wake`.
    pub fn name(&self) -> &'static str {
        if self.number == libc::SYS_futex {
            let operation = libc::c_int::try_from(self.second).unwrap_or(0);
            match operation & libc::FUTEX_CMD_MASK {
                libc::FUTEX_WAIT | libc::FUTEX_WAIT_BITSET => return "futex_wait",
                libc::FUTEX_WAKE | libc::FUTEX_WAKE_BITSET => return "futex_wake",
                _ => {}
            }
        }
        let number = usize::try_from(self.number).ok();
        let call = number.and_then(syscalls::Sysno::new);
        call.map_or("unknown", |call| call.name())
    }
}
