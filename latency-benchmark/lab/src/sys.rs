//! All calls of this crate that need `unsafe`: calls that `nix` marks unsafe or does not have.
#![allow(
    unsafe_code,
    reason = "fork, pre_exec, and system calls without a safe wrapper; each says why it is sound"
)]

use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::Duration;
use std::{io, mem};

use nix::errno::Errno;
use nix::sys::signal::{SigHandler, Signal};
use nix::unistd::ForkResult;

/// Forks. The caller makes sure that the process has a single thread.
pub(crate) fn fork() -> nix::Result<ForkResult> {
    // SAFETY: with a single thread no lock can be held by a thread that the child lacks.
    unsafe { nix::unistd::fork() }
}

/// Runs `hook` in the child between fork and exec.
///
/// The hook may only make system calls: in the child of a process with threads, locks may be held that
/// no thread will release, including those of the allocator.
pub(crate) fn before_exec(
    command: &mut Command,
    hook: impl FnMut() -> io::Result<()> + Send + Sync + 'static,
) {
    // SAFETY: all callers are in this crate. Their hooks only make system calls, with values that were
    // created before the fork.
    unsafe { command.pre_exec(hook) };
}

/// Restores the default handling of SIGCHLD. A parent may have left it ignored, and then a process cannot
/// wait for the exit status of its children.
pub(crate) fn default_sigchld() -> nix::Result<()> {
    // SAFETY: this installs no handler.
    unsafe { nix::sys::signal::signal(Signal::SIGCHLD, SigHandler::SigDfl) }.map(drop)
}

/// Lowers the priority of the calling process. Every user may do this.
pub(crate) fn be_nice(niceness: libc::c_int) -> nix::Result<()> {
    // SAFETY: a plain system call.
    Errno::result(unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, niceness) }).map(drop)
}

/// Gives the calling thread a real-time priority, above all ordinary threads.
pub(crate) fn schedule_fifo() -> nix::Result<()> {
    let lowest = libc::sched_param { sched_priority: 1 };
    // SAFETY: the call reads `lowest` and nothing else.
    Errno::result(unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const lowest) })
        .map(drop)
}

/// Requests short time slices from the ordinary scheduler, which grants short slices sooner (Linux 6.12 and later).
pub(crate) fn schedule_short_slice(slice: Duration) -> nix::Result<()> {
    // SAFETY: `sched_attr` is plain integers, for which zero is valid.
    let mut attributes: libc::sched_attr = unsafe { mem::zeroed() };
    attributes.size = u32::try_from(mem::size_of::<libc::sched_attr>()).unwrap_or(0);
    attributes.sched_runtime = u64::try_from(slice.as_nanos()).unwrap_or(0);
    // SAFETY: the kernel reads `size` bytes of `attributes`.
    Errno::result(unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) })
        .map(drop)
}
