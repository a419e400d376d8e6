//! All calls of this crate that need `unsafe`: those that `nix` leaves unsafe or does not have.
#![allow(
    unsafe_code,
    reason = "fork, pre_exec, and system calls without a safe wrapper; each says why it is sound"
)]

use std::{
    io, mem,
    os::{
        fd::{AsRawFd, FromRawFd, OwnedFd},
        unix::process::CommandExt,
    },
    process::Command,
    ptr,
    time::Duration,
};

use nix::{
    errno::Errno,
    sys::{
        epoll::{Epoll, EpollEvent},
        signal::{SigHandler, Signal},
    },
    unistd::ForkResult,
};

/// Forks. The caller has seen to it that the process has a single thread.
pub(crate) fn fork() -> nix::Result<ForkResult> {
    // SAFETY: with a single thread no lock can be held by a thread that the child lacks.
    unsafe { nix::unistd::fork() }
}

/// Runs `hook` in the child between fork and exec.
///
/// The hook must only make system calls: the child of a process with threads may hold locks that
/// nobody will release, those of the allocator included.
pub(crate) fn before_exec<F>(command: &mut Command, hook: F)
where
    F: FnMut() -> io::Result<()> + Send + Sync + 'static,
{
    // SAFETY: the callers, all in this crate, pass hooks of plain system calls on values that were
    // made before the fork.
    unsafe {
        command.pre_exec(hook);
    }
}

/// Undoes an inherited "ignore SIGCHLD", under which no exit status could be waited for.
pub(crate) fn default_sigchld() -> nix::Result<()> {
    // SAFETY: no handler is installed or replaced by one.
    unsafe { nix::sys::signal::signal(Signal::SIGCHLD, SigHandler::SigDfl) }.map(drop)
}

/// `epoll_pwait2`: the timeout is exact, where `epoll_wait` counts whole milliseconds.
pub(crate) fn epoll_wait<'a>(
    epoll: &Epoll,
    events: &'a mut [EpollEvent],
    timeout: Duration,
) -> nix::Result<&'a [EpollEvent]> {
    let timeout = libc::timespec {
        tv_sec: libc::time_t::try_from(timeout.as_secs()).unwrap_or(libc::time_t::MAX),
        tv_nsec: timeout.subsec_nanos().into(),
    };
    let capacity = libc::c_int::try_from(events.len()).unwrap_or(libc::c_int::MAX);
    // SAFETY: `EpollEvent` is a transparent wrapper of `epoll_event`; the kernel writes at most
    // `capacity` of them.
    let ready = Errno::result(unsafe {
        libc::epoll_pwait2(
            epoll.0.as_raw_fd(),
            events.as_mut_ptr().cast(),
            capacity,
            &raw const timeout,
            ptr::null(),
        )
    })?;
    Ok(&events[..usize::try_from(ready).unwrap_or(0)])
}

/// Puts the calling process behind ordinary ones, which anybody may do.
pub(crate) fn be_nice(niceness: libc::c_int) -> nix::Result<()> {
    // SAFETY: a plain system call.
    Errno::result(unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, niceness) }).map(drop)
}

/// Puts the calling thread ahead of every ordinary one.
pub(crate) fn schedule_fifo() -> nix::Result<()> {
    let lowest = libc::sched_param { sched_priority: 1 };
    // SAFETY: the call reads `lowest` and nothing else.
    Errno::result(unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const lowest) })
        .map(drop)
}

/// Asks the ordinary scheduler for short turns that come early (Linux 6.12 and later).
pub(crate) fn schedule_short_slice(slice: Duration) -> nix::Result<()> {
    // SAFETY: `sched_attr` is plain integers, for which zero is valid.
    let mut attributes: libc::sched_attr = unsafe { mem::zeroed() };
    attributes.size = u32::try_from(mem::size_of::<libc::sched_attr>()).unwrap_or(0);
    attributes.sched_runtime = u64::try_from(slice.as_nanos()).unwrap_or(0);
    // SAFETY: the kernel reads `size` bytes of `attributes`.
    Errno::result(unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) })
        .map(drop)
}

/// Opens a hardware counter of this thread's user-space cycles, as profilers do.
pub(crate) fn open_cycle_counter() -> nix::Result<OwnedFd> {
    // The oldest form of `struct perf_event_attr`, which every kernel takes, as 64-bit words:
    // type 0 (hardware) and the size share the first, 0 in the second means cycles.
    let mut attributes = [0_u64; 8];
    attributes[0] = u64::from_ne_bytes({
        let mut word = [0; 8];
        word[4..].copy_from_slice(&64_u32.to_ne_bytes());
        word
    });
    const DISABLED: u64 = 1;
    const EXCLUDE_KERNEL: u64 = 1 << 5;
    const EXCLUDE_HYPERVISOR: u64 = 1 << 6;
    attributes[5] = DISABLED | EXCLUDE_KERNEL | EXCLUDE_HYPERVISOR;
    const CLOSE_ON_EXEC: libc::c_ulong = 8;
    // SAFETY: the kernel reads the 64 bytes that `attributes` names as its size and has.
    let fd = Errno::result(unsafe {
        libc::syscall(
            libc::SYS_perf_event_open,
            attributes.as_ptr(),
            0,
            -1,
            -1,
            CLOSE_ON_EXEC,
        )
    })?;
    let fd = libc::c_int::try_from(fd).expect("a file descriptor is an int");
    // SAFETY: the descriptor is fresh and nobody else's.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}
