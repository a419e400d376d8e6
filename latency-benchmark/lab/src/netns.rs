//! Network namespaces without a name: they exist as long as someone holds them open.

use std::{
    fs::File,
    io,
    os::fd::{AsRawFd, OwnedFd},
    path::PathBuf,
    process::Command,
    sync::Arc,
    thread,
};

use nix::sched::{CloneFlags, setns, unshare};

use crate::{Inside, sys};

/// Of the calling thread, wherever it is at the moment.
const NAMESPACE_OF_THREAD: &str = "/proc/thread-self/ns/net";

/// A network namespace.
#[derive(Clone, Debug)]
pub(crate) struct Netns {
    fd: Arc<OwnedFd>,
}

impl Netns {
    /// Makes so many namespaces, all from one thread, which is in the last of them when it ends.
    pub(crate) fn create(_: Inside, count: usize) -> io::Result<Vec<Netns>> {
        on_another_thread(|| {
            (0..count)
                .map(|_| {
                    unshare(CloneFlags::CLONE_NEWNET)?;
                    Ok(Netns {
                        fd: Arc::new(File::open(NAMESPACE_OF_THREAD)?.into()),
                    })
                })
                .collect()
        })
    }

    /// Calls `f` on a thread that is in this namespace. Sockets made there belong to it for good.
    pub(crate) fn run<T: Send>(&self, f: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
        on_another_thread(|| {
            self.move_thread_in()?;
            f()
        })
    }

    /// Calls `f` on one thread for each of `namespaces` in turn, inside of it.
    pub(crate) fn for_each<'a, T: Send>(
        namespaces: impl Iterator<Item = &'a Netns> + Send,
        mut f: impl FnMut(usize) -> io::Result<T> + Send,
    ) -> io::Result<Vec<T>> {
        on_another_thread(|| {
            namespaces
                .enumerate()
                .map(|(index, namespace)| {
                    namespace.move_thread_in()?;
                    f(index)
                })
                .collect()
        })
    }

    /// Has `command` start inside.
    pub(crate) fn hold_command(&self, command: &mut Command) {
        let namespace = self.clone();
        sys::before_exec(command, move || namespace.move_thread_in());
    }

    /// A path by which other programs reach this namespace while this process holds it.
    pub(crate) fn path(&self) -> PathBuf {
        format!("/proc/{}/fd/{}", std::process::id(), self.fd.as_raw_fd()).into()
    }

    fn move_thread_in(&self) -> io::Result<()> {
        Ok(setns(&*self.fd, CloneFlags::CLONE_NEWNET)?)
    }
}

/// Moves the calling thread into the network namespace behind `path`.
pub(crate) fn move_thread_into(path: &std::path::Path) -> io::Result<()> {
    Ok(setns(File::open(path)?, CloneFlags::CLONE_NEWNET)?)
}

/// The namespace is an attribute of the thread, so a thread that changes it is never used again.
fn on_another_thread<T: Send>(f: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    thread::scope(|scope| {
        scope
            .spawn(f)
            .join()
            .unwrap_or_else(|_| Err(io::Error::other("a thread inside a namespace panicked")))
    })
}
