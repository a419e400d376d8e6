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

mod call;
#[cfg(not(target_arch = "x86_64"))]
mod elsewhere;
#[cfg(target_arch = "x86_64")]
mod handler;
#[cfg(target_arch = "x86_64")]
mod raw;
#[cfg(target_arch = "x86_64")]
mod slot;
#[cfg(target_arch = "x86_64")]
mod watch;

pub use call::SystemCall;
#[cfg(not(target_arch = "x86_64"))]
pub use elsewhere::SystemCallRecorder;
#[cfg(target_arch = "x86_64")]
pub use watch::SystemCallRecorder;
