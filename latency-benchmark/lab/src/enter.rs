//! Moves this process into new namespaces, so that everything it creates there disappears with it.
//!
//! This results in three processes:
//!
//! ```text
//! outer    the process that the user started: waits, forwards signals, returns the exit status
//! └─ init  pid 1 of the new pid namespace: reaps orphans, forwards signals
//!    └─ program    the process in which `enter` returns
//! ```
//!
//! The kernel kills all processes of a pid namespace when its pid 1 dies, and it removes a namespace with
//! the last process inside. So it is enough that init dies with the outer process (by a death signal)
//! and with the program (init waits for it). Init is a separate process because a reaper has to wait for
//! *any* child, and would take the exit statuses that the program itself waits for.

use std::os::fd::{AsFd, OwnedFd};
use std::{fs, process};

use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::mount::MsFlags;
use nix::poll::{PollFd, PollFlags, PollTimeout};
use nix::sched::CloneFlags;
use nix::sys::prctl;
use nix::sys::signal::Signal;
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{ForkResult, Pid, getegid, geteuid, pipe2};

use crate::signals::SupervisorSignals;
use crate::sys;

/// Proof that this process has entered its own namespaces. It can create network namespaces, and none of them outlives it.
#[derive(Clone, Copy, Debug)]
pub struct Inside {
    rootless: bool,
}

impl Inside {
    /// Whether the process is in a new user namespace. If not, it keeps root's other rights: real-time
    /// scheduling, larger socket buffers, loading kernel modules.
    pub fn is_rootless(&self) -> bool {
        self.rootless
    }
}

#[derive(Debug, thiserror::Error)]
#[error("{why} ({remedy})")]
pub struct EnterError {
    pub why: String,
    pub remedy: String,
}

/// Enters new network, mount and pid namespaces. As an ordinary user it also enters a user namespace, in which the others
/// are permitted. Returns in the innermost process only; the outer processes end with its exit status.
///
/// Call it before any other thread exists and before writing to a buffered stream.
///
/// A SIGINT or SIGTERM that is sent to the outer process alone is forwarded. A terminal sends these signals
/// to every process of the group, so a signal from a terminal is not forwarded again.
pub fn enter() -> Result<Inside, EnterError> {
    let threads = fs::read_dir("/proc/self/task").map_or(1, Iterator::count);
    if threads != 1 {
        return Err(EnterError {
            why: format!(
                "the process has {threads} threads, of which only one would enter namespaces"
            ),
            remedy: "enter while there is one".to_owned(),
        });
    }
    const LAB: CloneFlags = CloneFlags::CLONE_NEWNET
        .union(CloneFlags::CLONE_NEWNS)
        .union(CloneFlags::CLONE_NEWPID);
    unshare(LAB)?;
    let rootless = is_in_user_namespace();
    let signals =
        SupervisorSignals::block().map_err(refused("to deliver signals to a file descriptor"))?;
    // The outer process holds this pipe open as long as it lives.
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
    signals.restore().map_err(refused("to unblock signals"))?;
    Ok(Inside { rootless })
}

const CONTAINER_REMEDY: &str = "common in containers and under seccomp filters; run with `sudo`, outside of a container; \
    docker needs `--security-opt seccomp=unconfined --security-opt systempaths=unconfined`; \
    podman needs `--security-opt unmask=ALL`; \
    a pod of Kubernetes needs `seccompProfile: Unconfined`, `procMount: Unmasked` and `hostUsers: false`";
const KERNEL_REMEDY: &str = "use a kernel with CONFIG_USER_NS, CONFIG_PID_NS and CONFIG_NET_NS";

pub(crate) fn refused(attempt: &'static str) -> impl Fn(Errno) -> EnterError {
    move |errno| {
        let (why, remedy) = match errno {
            Errno::EAGAIN => {
                let why = "no more processes can be started";
                (why.to_owned(), "`ulimit -u` is the limit")
            }
            errno => (
                format!("the kernel refused {attempt}: {errno}"),
                CONTAINER_REMEDY,
            ),
        };
        EnterError {
            why,
            remedy: remedy.to_owned(),
        }
    }
}

/// Enters new namespaces. Root needs a user namespace for that only in a container where root has no rights.
pub(crate) fn unshare(namespaces: CloneFlags) -> Result<(), EnterError> {
    let (uid, gid) = (geteuid(), getegid());
    if uid.is_root() && nix::sched::unshare(namespaces).is_ok() {
        return Ok(());
    }
    nix::sched::unshare(namespaces.union(CloneFlags::CLONE_NEWUSER))
        .and_then(|()| write("/proc/self/setgroups", "deny"))
        .and_then(|()| write("/proc/self/uid_map", &format!("0 {uid} 1")))
        .and_then(|()| write("/proc/self/gid_map", &format!("0 {gid} 1")))
        .map_err(|errno| explain(errno, sysctl))
}

/// Whether this process is in a user namespace. Outside of any, the map of users contains all of them.
fn is_in_user_namespace() -> bool {
    const ALL: &str = "4294967295";
    let map = fs::read_to_string("/proc/self/uid_map");
    map.is_ok_and(|map| !map.trim_end().ends_with(ALL))
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

/// Finds the setting that explains a refusal. `sysctl` returns a setting's value, if the kernel has it.
fn explain(errno: Errno, sysctl: impl Fn(&str) -> Option<String>) -> EnterError {
    const SWITCHES: [(&str, &str, &str); 3] = [
        ("kernel.unprivileged_userns_clone", "0", "1"),
        ("user.max_user_namespaces", "0", "10000"),
        ("kernel.apparmor_restrict_unprivileged_userns", "1", "0"),
    ];
    for (name, off, remedy) in SWITCHES {
        if let Some(value) = sysctl(name).filter(|value| value == off) {
            return EnterError {
                why: format!("ordinary users may not create user namespaces: {name} = {value}"),
                remedy: format!("as root: `sysctl -w {name}={remedy}`; or run with `sudo`"),
            };
        }
    }
    // This is the error of unshare(2) if the kernel lacks a kind of namespace.
    if errno == Errno::EINVAL {
        return EnterError {
            why: "the kernel cannot make a user namespace".to_owned(),
            remedy: KERNEL_REMEDY.to_owned(),
        };
    }
    refused("a user namespace")(errno)
}

/// Has the kernel kill this process when the outer process dies, and ends it if that has already happened.
/// The parent's pid does not show this: seen from a new pid namespace it is always 0.
fn die_with_parent(outer_lives: &OwnedFd) -> Result<(), EnterError> {
    prctl::set_pdeathsig(Signal::SIGKILL).map_err(refused("a death signal"))?;
    let mut hung_up = [PollFd::new(outer_lives.as_fd(), PollFlags::POLLIN)];
    match nix::poll::poll(&mut hung_up, PollTimeout::ZERO) {
        Ok(0) => Ok(()),
        _ => process::exit(1),
    }
}

/// Makes mounts private, so that what is mounted in this namespace does not appear in another.
pub(crate) fn make_mounts_private() -> Result<(), EnterError> {
    const NONE: Option<&str> = None;
    nix::mount::mount(NONE, "/", NONE, MsFlags::MS_REC | MsFlags::MS_PRIVATE, NONE)
        .map_err(refused("to make the mounts private"))
}

/// Makes mounts private to this namespace, and has `/proc` show the new pid namespace.
fn mount_privately() -> Result<(), EnterError> {
    make_mounts_private()?;
    nix::mount::mount(
        Some("proc"),
        "/proc",
        Some("proc"),
        MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC,
        None::<&str>,
    )
    .map_err(refused("to mount /proc"))
}

/// Reaps every child until `main` ends, and forwards signals to it. Returns the exit code of `main`; for a
/// death by a signal this is the same code as in a shell.
fn supervise(main: Pid, signals: &SupervisorSignals) -> i32 {
    loop {
        match signals.next() {
            Ok(Signal::SIGCHLD) => {
                if let Some(code) = reap(main) {
                    return code;
                }
            }
            Ok(signal) => {
                // This fails if `main` has just ended. Then its status is about to arrive.
                let _ = nix::sys::signal::kill(main, signal);
            }
            Err(_) => return 1,
        }
    }
}

/// Reaps all children that have ended, since one SIGCHLD may stand for several. Returns the exit code of `main` if it is one
/// of them.
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
    fn a_refusal_names_the_setting_that_explains_it() {
        for (name, off) in [
            ("kernel.unprivileged_userns_clone", "0"),
            ("user.max_user_namespaces", "0"),
            ("kernel.apparmor_restrict_unprivileged_userns", "1"),
        ] {
            let text = explained(Box::leak(Box::new([(name, off)])));
            assert!(text.contains(&format!("{name} = {off}")), "{text}");
            assert_eq!(text.lines().count(), 1);
        }
    }

    #[test]
    fn a_kernel_without_namespaces_is_told_its_options() {
        let error = explain(Errno::EINVAL, |_| None);
        assert_eq!(error.why, "the kernel cannot make a user namespace");
        for option in ["CONFIG_USER_NS", "CONFIG_PID_NS", "CONFIG_NET_NS"] {
            assert!(error.remedy.contains(option), "{}", error.remedy);
        }
    }

    #[test]
    fn a_refusal_that_no_setting_explains_contains_the_kernels_error() {
        let text = explained(&[("kernel.unprivileged_userns_clone", "1")]);
        assert!(text.contains("EPERM"), "{text}");
        for setting in [
            "systempaths=unconfined",
            "unmask=ALL",
            "procMount: Unmasked",
        ] {
            assert!(text.contains(setting), "{text}");
        }
    }
}
