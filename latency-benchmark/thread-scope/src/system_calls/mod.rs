//! Which system calls a thread makes, with their times and results.
//!
//! The kernel hands the calls of a thread back to it as signals, where the thread asked for that
//! (Syscall User Dispatch, Linux 5.11), and the signal's handler makes the call in its place. No root,
//! no tracer, no other process.
//!
//! What is not seen: calls that the kernel never gets, such as `clock_gettime` through the vDSO; calls
//! of other threads and of processes; calls that do not return (`exit`, an `execve` that succeeds); and
//! what [`SystemCalls::unrecorded`] counts.

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod handler;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod overhead;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod perform;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod raw;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod slot;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod watch;

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
mod elsewhere;

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
pub use elsewhere::SystemCalls;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub use watch::SystemCalls;

/// What [`Unavailable`](crate::Unavailable) says is missing.
const WHAT: &str = "system calls";

/// One system call that returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SystemCall {
    /// When it was made, on the clock of the caller's.
    pub at: u64,
    /// The clock's difference between before and after it, waiting included.
    pub ns: u64,
    /// Its number; [`SystemCalls::name`] knows the name.
    pub number: i64,
    /// Its second argument, which of some calls says what they do.
    pub second: u64,
    /// What the kernel returned: an error is its number, negative.
    pub result: i64,
}

impl SystemCall {
    /// Its name. What waits on a futex and what wakes who waits are told apart, by the names that the
    /// kernel's newer calls for that have.
    pub fn name(&self) -> &'static str {
        #[cfg(target_os = "linux")]
        if self.number == libc::SYS_futex {
            let operation = libc::c_int::try_from(self.second).unwrap_or(0);
            match operation & libc::FUTEX_CMD_MASK {
                libc::FUTEX_WAIT | libc::FUTEX_WAIT_BITSET => return "futex_wait",
                libc::FUTEX_WAKE | libc::FUTEX_WAKE_BITSET => return "futex_wake",
                _ => {}
            }
        }
        SystemCalls::name(self.number)
    }
}
