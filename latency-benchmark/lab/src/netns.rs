//! Network namespaces without a name: they exist as long as a process holds them open.

use std::fs::File;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::{io, thread};

use nix::sched::{CloneFlags, setns, unshare};

use crate::{Inside, sys};

/// The context of errors while namespaces are made or entered.
pub(crate) const SET_UP: &str = "the network namespaces could not be set up";

#[derive(Clone, Debug)]
pub(crate) struct Netns {
    fd: Arc<OwnedFd>,
}

impl Netns {
    pub(crate) fn create(_: Inside, count: usize) -> io::Result<Vec<Netns>> {
        // This is the namespace of the thread that opens it.
        const OF_THIS_THREAD: &str = "/proc/thread-self/ns/net";
        let create = |_| {
            unshare(CloneFlags::CLONE_NEWNET)?;
            let fd = Arc::new(File::open(OF_THIS_THREAD)?.into());
            Ok(Netns { fd })
        };
        on_another_thread(|| (0..count).map(create).collect())
    }

    pub(crate) fn scratch(inside: Inside) -> io::Result<Netns> {
        Ok(Netns::create(inside, 1)?.remove(0))
    }

    /// Calls `f` on a thread that is in this namespace. Sockets created there stay in the namespace.
    pub(crate) fn run<T: Send>(&self, f: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
        on_another_thread(|| {
            self.move_thread_in()?;
            f()
        })
    }

    /// Calls `f` once inside each of `namespaces`, all on one thread, one after the other.
    pub(crate) fn for_each<'a, T: Send>(
        namespaces: impl Iterator<Item = &'a Netns> + Send,
        mut f: impl FnMut(usize) -> io::Result<T> + Send,
    ) -> io::Result<Vec<T>> {
        let inside = |(index, namespace): (usize, &Netns)| {
            namespace.move_thread_in()?;
            f(index)
        };
        on_another_thread(|| namespaces.enumerate().map(inside).collect())
    }

    /// Has the command run inside this namespace, which stays open until then.
    pub(crate) fn hold_command(&self, command: &mut Command) {
        let namespace = self.clone();
        sys::before_exec(command, move || namespace.move_thread_in());
    }

    /// A path by which other programs reach this namespace while this process holds it open.
    pub(crate) fn path(&self) -> PathBuf {
        format!("/proc/{}/fd/{}", std::process::id(), self.fd.as_raw_fd()).into()
    }

    fn move_thread_in(&self) -> io::Result<()> {
        Ok(setns(&*self.fd, CloneFlags::CLONE_NEWNET)?)
    }
}

pub(crate) fn move_thread_into(path: &Path) -> io::Result<()> {
    Ok(setns(File::open(path)?, CloneFlags::CLONE_NEWNET)?)
}

/// Calls `f` on a thread of its own. A thread has its own network namespace, so one that changes it is not used for anything
/// else.
pub(crate) fn on_another_thread<T: Send>(
    f: impl FnOnce() -> io::Result<T> + Send,
) -> io::Result<T> {
    thread::scope(|scope| {
        let thread = thread::Builder::new().spawn_scoped(scope, f)?;
        let ended = thread.join();
        ended.unwrap_or_else(|_| Err(io::Error::other("a thread inside a namespace panicked")))
    })
}
