//! Leaving the host's namespaces, so that whatever is wired afterwards dies with this process.
//!
//! Three processes come of it:
//!
//! ```text
//! outer    the one the user started: waits, passes signals in and the exit status out
//! └─ init  pid 1 of the new pid namespace: reaps orphans, passes signals on
//!    └─ program    the one in which `enter` returns
//! ```
//!
//! The kernel kills everything in a pid namespace when its pid 1 dies, and the namespaces go with
//! the last process in them. So it is enough that init dies with the outer process (a death signal)
//! and with the program (it waits for it). Init is a process of its own because a reaper must wait
//! for *any* child, and that would steal the exit statuses the program itself waits for.

use std::{
    fs, io,
    os::fd::{AsFd, OwnedFd},
    process,
};

use nix::{
    errno::Errno,
    fcntl::OFlag,
    mount::MsFlags,
    poll::{PollFd, PollFlags, PollTimeout},
    sched::CloneFlags,
    sys::{
        prctl,
        signal::Signal,
        wait::{WaitPidFlag, WaitStatus, waitpid},
    },
    unistd::{ForkResult, Pid, getegid, geteuid, pipe2},
};

use crate::{
    signals::{Event, Signals},
    sys,
};

/// Proof that this process is inside: namespaces can be made, and nothing of them outlives it.
#[derive(Clone, Copy, Debug)]
pub struct Inside {
    rootless: bool,
}

impl Inside {
    /// Whether a user namespace was needed. Without one, root's other rights remain: real-time
    /// scheduling, larger socket buffers, loading of kernel modules.
    pub fn is_rootless(&self) -> bool {
        self.rootless
    }
}

/// Why this process could not leave the host's namespaces.
#[derive(Debug, thiserror::Error)]
pub enum EnterError {
    /// Only the calling thread would have entered.
    #[error(
        "the process has {0} threads already; the namespaces must be entered before the second"
    )]
    Threads(usize),
    /// A setting of this machine keeps ordinary users from making user namespaces.
    #[error(
        "user namespaces are switched off for ordinary users: {sysctl} = {value} \
         (as root: `sysctl -w {sysctl}={remedy}`); running with `sudo` works without"
    )]
    UserNamespacesOff {
        /// The setting's name.
        sysctl: &'static str,
        /// What it is.
        value: String,
        /// What would do.
        remedy: &'static str,
    },
    /// The kernel refused for a reason that no setting explains.
    #[error(
        "{attempt} was refused ({errno}), as in a container or under a seccomp filter; \
         running with `sudo`, or outside of the container, may work"
    )]
    Refused {
        /// What was tried.
        attempt: &'static str,
        /// What the kernel said.
        errno: Errno,
    },
    /// A file under `/proc` could not be read.
    #[error("/proc/self/status could not be read")]
    Status(#[source] io::Error),
}

/// Enters new network, mount and pid namespaces, and as an ordinary user a user namespace that
/// permits it. Returns in the innermost process only; the outer ones end with its exit status.
///
/// Has to be called before any thread exists and before anything is written to a buffered stream.
///
/// SIGINT and SIGTERM that are sent to the outer process alone are passed on. A terminal sends them
/// to every process of the group by itself, so those are not passed on a second time.
pub fn enter() -> Result<Inside, EnterError> {
    refuse_threads()?;
    let rootless = unshare()?;
    let signals = Signals::block().map_err(refused("waiting for signals"))?;
    // Held open by the outer process as long as it lives.
    let (outer_lives, held) = pipe2(OFlag::O_CLOEXEC).map_err(refused("a pipe"))?;
    if let ForkResult::Parent { child } = sys::fork().map_err(refused("a first process"))? {
        process::exit(supervise(child, &signals));
    }
    drop(held);
    die_with_parent(&outer_lives)?;
    mount_privately()?;
    if let ForkResult::Parent { child } = sys::fork().map_err(refused("a second process"))? {
        process::exit(supervise(child, &signals));
    }
    signals.restore().map_err(refused("unblocking signals"))?;
    Ok(Inside { rootless })
}

fn refused(attempt: &'static str) -> impl Fn(Errno) -> EnterError {
    move |errno| EnterError::Refused { attempt, errno }
}

fn refuse_threads() -> Result<(), EnterError> {
    let status = fs::read_to_string("/proc/self/status").map_err(EnterError::Status)?;
    let threads = status
        .lines()
        .find_map(|line| line.strip_prefix("Threads:")?.trim().parse().ok());
    match threads {
        None | Some(1) => Ok(()),
        Some(threads) => Err(EnterError::Threads(threads)),
    }
}

/// Root needs no user namespace, unless it is the root of a container that has no rights.
fn unshare() -> Result<bool, EnterError> {
    const LAB: CloneFlags = CloneFlags::CLONE_NEWNET
        .union(CloneFlags::CLONE_NEWNS)
        .union(CloneFlags::CLONE_NEWPID);
    let (uid, gid) = (geteuid(), getegid());
    if uid.is_root() && nix::sched::unshare(LAB).is_ok() {
        return Ok(false);
    }
    nix::sched::unshare(LAB.union(CloneFlags::CLONE_NEWUSER))
        .and_then(|()| write("/proc/self/setgroups", "deny"))
        .and_then(|()| write("/proc/self/uid_map", &format!("0 {uid} 1")))
        .and_then(|()| write("/proc/self/gid_map", &format!("0 {gid} 1")))
        .map_err(|errno| explain(errno, sysctl))?;
    Ok(true)
}

fn write(path: &str, text: &str) -> nix::Result<()> {
    fs::write(path, text)
        .map_err(|error| Errno::from_raw(error.raw_os_error().unwrap_or(libc::EIO)))
}

fn sysctl(name: &str) -> Option<String> {
    let path = format!("/proc/sys/{}", name.replace('.', "/"));
    let value = fs::read_to_string(path).ok()?;
    Some(value.trim().to_owned())
}

/// The setting behind a refusal. `sysctl` tells a setting's value, if the kernel has it.
fn explain(errno: Errno, sysctl: impl Fn(&str) -> Option<String>) -> EnterError {
    const SWITCHES: [(&str, &str, &str); 3] = [
        ("kernel.unprivileged_userns_clone", "0", "1"),
        ("user.max_user_namespaces", "0", "10000"),
        ("kernel.apparmor_restrict_unprivileged_userns", "1", "0"),
    ];
    for (name, off, remedy) in SWITCHES {
        if let Some(value) = sysctl(name).filter(|value| value == off) {
            return EnterError::UserNamespacesOff {
                sysctl: name,
                value,
                remedy,
            };
        }
    }
    refused("a user namespace")(errno)
}

/// Has the kernel kill this process when the outer one dies, and ends it if that has happened
/// already. Asking for the parent's pid would not do: seen from a new pid namespace it is always 0.
fn die_with_parent(outer_lives: &OwnedFd) -> Result<(), EnterError> {
    prctl::set_pdeathsig(Signal::SIGKILL).map_err(refused("a death signal"))?;
    let mut hung_up = [PollFd::new(outer_lives.as_fd(), PollFlags::POLLIN)];
    match nix::poll::poll(&mut hung_up, PollTimeout::ZERO) {
        Ok(0) => Ok(()),
        _ => process::exit(1),
    }
}

/// Mounts stay inside from here on, and `/proc` shows the new pid namespace.
fn mount_privately() -> Result<(), EnterError> {
    const NONE: Option<&str> = None;
    nix::mount::mount(NONE, "/", NONE, MsFlags::MS_REC | MsFlags::MS_PRIVATE, NONE)
        .map_err(refused("making the mounts private"))?;
    nix::mount::mount(
        Some("proc"),
        "/proc",
        Some("proc"),
        MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC,
        NONE,
    )
    .map_err(refused("mounting /proc"))
}

/// Reaps every child until `main` ends, and passes signals on to it. Returns the status to exit
/// with, which for a death by signal is what a shell says.
fn supervise(main: Pid, signals: &Signals) -> i32 {
    loop {
        match signals.next() {
            Ok(Event::Child) => {
                if let Some(code) = reap(main) {
                    return code;
                }
            }
            Ok(Event::End(signal)) => {
                // It may have ended just now; then its status is about to arrive.
                let _ = nix::sys::signal::kill(main, signal);
            }
            Err(_) => return 1,
        }
    }
}

/// Several deaths may have come as one SIGCHLD.
fn reap(main: Pid) -> Option<i32> {
    loop {
        match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
            Ok(WaitStatus::Exited(pid, code)) if pid == main => return Some(code),
            Ok(WaitStatus::Signaled(pid, signal, _)) if pid == main => {
                return Some(128 + signal as i32);
            }
            Ok(WaitStatus::StillAlive) | Err(Errno::ECHILD) => return None,
            Ok(_) | Err(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn explained(set: &'static [(&'static str, &'static str)]) -> String {
        explain(Errno::EPERM, |name| {
            let (_, value) = set.iter().find(|(known, _)| *known == name)?;
            Some((*value).to_owned())
        })
        .to_string()
    }

    #[test]
    fn a_refusal_names_the_setting_behind_it_and_sudo() {
        for (name, off) in [
            ("kernel.unprivileged_userns_clone", "0"),
            ("user.max_user_namespaces", "0"),
            ("kernel.apparmor_restrict_unprivileged_userns", "1"),
        ] {
            let text = explained(Box::leak(Box::new([(name, off)])));
            assert!(text.contains(&format!("{name} = {off}")), "{text}");
            assert!(text.contains("`sudo` works"), "{text}");
            assert_eq!(text.lines().count(), 1);
        }
    }

    #[test]
    fn a_refusal_without_such_a_setting_says_what_the_kernel_said() {
        let text = explained(&[("kernel.unprivileged_userns_clone", "1")]);
        assert!(text.contains("EPERM"), "{text}");
    }
}
