//! The events that the processor counts, and how their counters are opened and read.
#![allow(unsafe_code, reason = "reads into an array")]

use std::{io, os::fd::AsRawFd};

use perf_event::{Builder, Counter, events::Hardware};

use crate::Unobservable;

/// Events that the processor counts.
pub(super) const HARDWARE: [(&str, Hardware); 5] = [
    ("cycles", Hardware::CPU_CYCLES),
    ("instructions", Hardware::INSTRUCTIONS),
    ("cache_misses", Hardware::CACHE_MISSES),
    ("branches", Hardware::BRANCH_INSTRUCTIONS),
    ("branch_misses", Hardware::BRANCH_MISSES),
];

/// Opens a counter that includes events in the kernel. If that is not permitted, opens one without them, whose name
/// ends in `:u`, as in the notation of `perf`.
pub(super) fn open(
    (name, event): (&str, Hardware),
    mut with: impl FnMut(&mut Builder) -> io::Result<Counter>,
) -> io::Result<(Counter, String)> {
    let mut builder = Builder::new(event);
    match with(builder.include_kernel()) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            Ok((with(builder.exclude_kernel(true))?, format!("{name}:u")))
        }
        counter => Ok((counter?, name.to_owned())),
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
