//! The events that can be counted, and how their counters are opened and read.
#![allow(unsafe_code, reason = "reads into an array")]

use std::{io, os::fd::AsRawFd};

use perf_event::{
    Builder, Counter,
    events::{Event, Hardware, Software},
};

use crate::Unobservable;

/// Events that the processor counts.
pub(super) const HARDWARE: [(&str, Hardware); 5] = [
    ("cycles", Hardware::CPU_CYCLES),
    ("instructions", Hardware::INSTRUCTIONS),
    ("cache_misses", Hardware::CACHE_MISSES),
    ("branches", Hardware::BRANCH_INSTRUCTIONS),
    ("branch_misses", Hardware::BRANCH_MISSES),
];

/// Events that the kernel counts.
pub(super) const SOFTWARE: [(&str, Software); 5] = [
    ("task_clock_ns", Software::TASK_CLOCK),
    ("context_switches", Software::CONTEXT_SWITCHES),
    ("page_faults_minor", Software::PAGE_FAULTS_MIN),
    ("page_faults_major", Software::PAGE_FAULTS_MAJ),
    MIGRATIONS,
];

pub(super) const MIGRATIONS: (&str, Software) = ("migrations", Software::CPU_MIGRATIONS);

/// Whether events in the kernel are counted in addition to those in user space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CountedModes {
    UserAndKernel,
    User,
}

impl CountedModes {
    /// The name of a counter with these modes, in the notation of `perf`.
    pub(super) fn name(self, event: &str) -> String {
        match self {
            CountedModes::UserAndKernel => event.to_owned(),
            CountedModes::User => format!("{event}:u"),
        }
    }
}

/// Opens a counter that includes events in the kernel. If that is not permitted, opens one without them.
pub(super) fn open<E: Event>(
    event: E,
    mut with: impl FnMut(&mut Builder) -> io::Result<Counter>,
) -> io::Result<(Counter, CountedModes)> {
    let mut builder = Builder::new(event);
    match with(builder.include_kernel()) {
        Ok(counter) => Ok((counter, CountedModes::UserAndKernel)),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            Ok((with(builder.exclude_kernel(true))?, CountedModes::User))
        }
        Err(error) => Err(error),
    }
}

/// Explains why an event is not counted.
pub(super) fn unavailable(name: &str, error: &io::Error) -> Unobservable {
    let why = match error.raw_os_error() {
        Some(libc::EACCES | libc::EPERM) => format!("not permitted{}", paranoia()),
        Some(libc::ENOENT | libc::ENODEV | libc::EOPNOTSUPP) => {
            "the processor does not count it, or a hypervisor hides the counter".to_owned()
        }
        Some(libc::ENOSYS) => "the kernel has no perf_event_open".to_owned(),
        Some(libc::EINVAL) => {
            "the processor cannot count it together with the other events".to_owned()
        }
        Some(libc::EMFILE | libc::ENFILE) => "too many files are open".to_owned(),
        _ => return Unobservable::new(name, error.to_string()),
    };
    Unobservable::new(name, format!("{why} ({error})"))
}

fn paranoia() -> String {
    match std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid") {
        Ok(level) => format!(", kernel.perf_event_paranoid is {}", level.trim()),
        Err(_) => String::new(),
    }
}

/// Reads the first `count` words of a counter. `None` if the kernel does not provide all of them.
pub(super) fn read_words<const MOST: usize>(
    counter: &Counter,
    count: usize,
) -> Option<[u64; MOST]> {
    let mut words = [0; MOST];
    // SAFETY: the array has room for this number of bytes.
    let bytes = unsafe {
        libc::read(
            counter.as_raw_fd(),
            words.as_mut_ptr().cast(),
            size_of_val(&words),
        )
    };
    (usize::try_from(bytes) == Ok(count * size_of::<u64>())).then_some(words)
}

/// Stores as many of the counts as there is room for.
pub(super) fn fill(into: &mut [u64], counts: impl IntoIterator<Item = u64>) {
    for (slot, count) in into.iter_mut().zip(counts) {
        *slot = count;
    }
}
