//! What there is to be counted, and why it cannot be.

use std::io;

use perf_event::{
    Builder, Counter,
    events::{Event, Hardware, Software},
};

use crate::Unavailable;

/// Counted by the processor.
pub(super) const HARDWARE: [(&str, Hardware); 5] = [
    ("cycles", Hardware::CPU_CYCLES),
    ("instructions", Hardware::INSTRUCTIONS),
    ("cache_misses", Hardware::CACHE_MISSES),
    ("branches", Hardware::BRANCH_INSTRUCTIONS),
    ("branch_misses", Hardware::BRANCH_MISSES),
];

/// Counted by the kernel.
pub(super) const SOFTWARE: [(&str, Software); 5] = [
    ("task_clock_ns", Software::TASK_CLOCK),
    ("context_switches", Software::CONTEXT_SWITCHES),
    ("page_faults_minor", Software::PAGE_FAULTS_MIN),
    ("page_faults_major", Software::PAGE_FAULTS_MAJ),
    MIGRATIONS,
];

pub(super) const MIGRATIONS: (&str, Software) = ("migrations", Software::CPU_MIGRATIONS);

/// Whether what happens in the kernel is counted with the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    UserAndKernel,
    User,
}

impl Scope {
    /// The name of an event in this scope, as `perf` has it.
    pub(super) fn name(self, event: &str) -> String {
        match self {
            Scope::UserAndKernel => event.to_owned(),
            Scope::User => format!("{event}:u"),
        }
    }
}

/// Opens a counter with what happens in the kernel, or, where that is not permitted, without.
pub(super) fn open<E: Event>(
    event: E,
    mut with: impl FnMut(&mut Builder) -> io::Result<Counter>,
) -> io::Result<(Counter, Scope)> {
    let mut builder = Builder::new(event);
    match with(builder.include_kernel()) {
        Ok(counter) => Ok((counter, Scope::UserAndKernel)),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            Ok((with(builder.exclude_kernel(true))?, Scope::User))
        }
        Err(error) => Err(error),
    }
}

/// In words, why an event is not counted.
pub(super) fn unavailable(name: &str, error: &io::Error) -> Unavailable {
    let why = match error.raw_os_error() {
        Some(libc::EACCES | libc::EPERM) => format!("not permitted{}", paranoia()),
        Some(libc::ENOENT | libc::ENODEV | libc::EOPNOTSUPP) => {
            "this machine's processor does not count it, or not for this machine".to_owned()
        }
        Some(libc::ENOSYS) => "the kernel is without perf_event_open".to_owned(),
        Some(libc::EINVAL) => {
            "the processor cannot count it together with those before it".to_owned()
        }
        Some(libc::EMFILE | libc::ENFILE) => "too many files are open".to_owned(),
        _ => return Unavailable::new(name, error.to_string()),
    };
    Unavailable::new(name, format!("{why} ({error})"))
}

fn paranoia() -> String {
    match std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid") {
        Ok(level) => format!(", kernel.perf_event_paranoid is {}", level.trim()),
        Err(_) => String::new(),
    }
}
