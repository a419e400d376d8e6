//! Starts threads, finds those of this process, and moves them to cores.

use std::sync::mpsc;
use std::{fs, io, thread};

use nix::errno::Errno;
use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;
use run_format::Cores;

use super::process::Observee;

/// Starts a thread of that name on `cores`, which does `work`.
pub(crate) fn spawn_on(
    cores: &Cores,
    name: &str,
    work: impl FnOnce() + Send + 'static,
) -> io::Result<()> {
    let set = affinity(cores)?;
    let (moved, has_moved) = mpsc::channel();
    let thread = thread::Builder::new().name(name.to_owned());
    thread.spawn(move || {
        let _ = moved.send(sched_setaffinity(Pid::from_raw(0), &set));
        work();
    })?;
    Ok(has_moved.recv().map_err(io::Error::other)??)
}

fn affinity(cores: &Cores) -> io::Result<CpuSet> {
    let mut set = CpuSet::new();
    for core in cores.iter() {
        set.set(core)?;
    }
    Ok(set)
}

/// The threads of this process that are not among `workers`. The first list has the threads that measure, which this crate has
/// named. The second has those that libraries have started.
pub(crate) fn other_threads(workers: &[Observee]) -> io::Result<(Vec<Observee>, Vec<Observee>)> {
    const OURS: [&str; 2] = ["measure", "wake"];
    let names: io::Result<Vec<_>> = fs::read_dir("/proc/self/task")?
        .map(|entry| Ok(entry?.file_name()))
        .collect();
    let ids = names?
        .into_iter()
        .filter_map(|id| id.to_str()?.parse().ok());
    let others = ids
        .map(Observee::Thread)
        .filter(|thread| !workers.contains(thread));
    Ok(others.partition(|thread| OURS.contains(&&*thread.name())))
}

/// Moves threads of this process to `cores`. Threads that have ended meanwhile are ignored.
pub(crate) fn move_threads(threads: &[Observee], cores: &Cores) -> io::Result<()> {
    let set = affinity(cores)?;
    for thread in threads {
        if let Observee::Thread(id) = thread {
            match sched_setaffinity(Pid::from_raw(*id), &set) {
                Ok(()) | Err(Errno::ESRCH) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
    }
    Ok(())
}
