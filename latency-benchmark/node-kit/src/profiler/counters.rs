//! Counters of the processor and of the kernel, for one thread or for the process. Every counter has a name.
//! A counter that this machine lacks or that the user may not read is reported with the reason.
//!
//! The kernel's own counters (CPU time, context switches, page faults) are always available.
#![allow(unsafe_code, reason = "reads into an array")]

use std::os::fd::AsRawFd;
use std::{io, iter};

use nix::sys::resource::{UsageWho, getrusage};
use nix::time::ClockId;
use node_ab::slices::ns;
use perf_event::events::Hardware;
use perf_event::{Builder, Counter, ReadFormat};

use crate::profiler::Unobservable;

const OF_PROCESSOR: [(&str, Hardware); 5] = [
    ("cycles", Hardware::CPU_CYCLES),
    ("instructions", Hardware::INSTRUCTIONS),
    ("cache_misses", Hardware::CACHE_MISSES),
    ("branches", Hardware::BRANCH_INSTRUCTIONS),
    ("branch_misses", Hardware::BRANCH_MISSES),
];

const OF_KERNEL: [&str; 4] = [
    "task_clock_ns",
    "context_switches",
    "page_faults_minor",
    "page_faults_major",
];

/// The words that the kernel writes for one counter: its value, and how long it was enabled and counted.
const WORDS: usize = 3;

/// The format of the words that the kernel writes for a group.
pub(crate) const GROUP_FORMAT: ReadFormat = ReadFormat::GROUP
    .union(ReadFormat::TOTAL_TIME_ENABLED)
    .union(ReadFormat::TOTAL_TIME_RUNNING);

/// The words for a group: the number of counters, both times, and the value and id of each counter.
const WORDS_OF_GROUP: usize = 3 + 2 * OF_PROCESSOR.len();

#[derive(Clone, Copy, PartialEq, Eq)]
enum Whose {
    /// The processor's counters are a group, which is read through the first of them.
    Thread,
    Process,
}

/// Counters of a thread or of the process. Some count from the opening on, some from the start of the thread or
/// process, so only differences are meaningful.
///
/// They are `cycles`, `instructions`, `cache_misses`, `branches`, `branch_misses`, as far as they are available, and
/// `task_clock_ns` (CPU time), `context_switches`, `page_faults_minor`, `page_faults_major`, in this order. A name that
/// ends in `:u` belongs to a counter without events in the kernel, because counting those is not permitted.
pub struct Counters {
    whose: Whose,
    /// They count as long as they are open.
    of_processor: Vec<Counter>,
    names: Vec<String>,
    missing: Vec<Unobservable>,
}

impl Counters {
    /// Opens all counters that are available on this thread, which alone may read them.
    pub fn for_this_thread() -> Counters {
        Counters::open(Whose::Thread)
    }

    /// Opens all counters that are available for the whole process. The processor's count the opening thread and
    /// all threads that it starts later, directly or indirectly. That is the whole process if they are opened before
    /// it has other threads.
    pub fn for_process() -> Counters {
        Counters::open(Whose::Process)
    }

    fn open(whose: Whose) -> Counters {
        let mut counters = Counters {
            whose,
            of_processor: Vec::new(),
            names: Vec::new(),
            missing: Vec::new(),
        };
        for (name, event) in OF_PROCESSOR {
            if let Err(error) = counters.add(name, event) {
                counters.missing.push(unavailable(name, &error));
            }
        }
        if let Err(error) = counters.start_group() {
            let names = counters.names.drain(..);
            let missing = names.map(|name| unavailable(&name, &error));
            counters.missing.extend(missing);
            counters.of_processor.clear();
        }
        counters.names.extend(OF_KERNEL.map(str::to_owned));
        counters
    }

    /// The counter includes events in the kernel. If that is not permitted, it counts without them, and its name ends
    /// in `:u`, as in the notation of `perf`.
    fn add(&mut self, name: &str, event: Hardware) -> io::Result<()> {
        let mut builder = Builder::new(event);
        let (counter, name) = match self.build(builder.include_kernel()) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                let counter = self.build(builder.exclude_kernel(true))?;
                (counter, format!("{name}:u"))
            }
            counter => (counter?, name.to_owned()),
        };
        if self.whose == Whose::Process {
            refuse_starved(read_words::<WORDS>(&counter, WORDS))?;
        }
        self.of_processor.push(counter);
        self.names.push(name);
        Ok(())
    }

    /// The leader of a group is disabled until all members have joined. The members are enabled and wait for the
    /// leader. If they were disabled and enabled together with the leader, they would count only after the thread's
    /// next context switch.
    fn build(&mut self, builder: &mut Builder) -> io::Result<Counter> {
        match (self.whose, self.of_processor.first_mut()) {
            (Whose::Process, _) => builder.inherit(true).enabled(true).build(),
            (Whose::Thread, None) => builder.read_format(GROUP_FORMAT).enabled(false).build(),
            (Whose::Thread, Some(leader)) => {
                let member = builder.read_format(GROUP_FORMAT).enabled(true);
                member.build_with_group(leader)
            }
        }
    }

    fn start_group(&mut self) -> io::Result<()> {
        match (self.whose, self.of_processor.first_mut()) {
            (Whose::Thread, Some(leader)) => leader.enable()?,
            _ => return Ok(()),
        }
        refuse_starved(self.read_group())
    }

    fn read_group(&self) -> Option<[u64; WORDS_OF_GROUP]> {
        let leader = self.of_processor.first()?;
        read_words(leader, 3 + 2 * self.of_processor.len())
    }

    /// The names of the counters, in the order in which they are read.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The unavailable counters, with the reasons.
    pub fn unavailable(&self) -> &[Unobservable] {
        &self.missing
    }

    /// Reads all counters into the first slots of `into`, which must have room for them. For a thread, this makes three system
    /// calls. It allocates nothing. Returns None if the kernel does not answer. Then `into` may have a part of them.
    pub fn read(&self, into: &mut [u64]) -> Option<()> {
        let (first, rest) = into.split_at_mut(self.of_processor.len());
        if self.whose == Whose::Process {
            for (slot, counter) in iter::zip(first, &self.of_processor) {
                [*slot, ..] = read_words::<WORDS>(counter, WORDS)?;
            }
        } else if !first.is_empty() {
            let words = self.read_group()?;
            for (slot, count) in iter::zip(first, words.into_iter().skip(3).step_by(2)) {
                *slot = count;
            }
        }
        rest[..OF_KERNEL.len()].copy_from_slice(&read_usage(self.whose)?);
        Some(())
    }
}

/// Reads the kernel's counts. Returns None if it does not answer.
fn read_usage(whose: Whose) -> Option<[u64; OF_KERNEL.len()]> {
    let (usage, clock) = match whose {
        Whose::Thread => (UsageWho::RUSAGE_THREAD, ClockId::CLOCK_THREAD_CPUTIME_ID),
        Whose::Process => (UsageWho::RUSAGE_SELF, ClockId::CLOCK_PROCESS_CPUTIME_ID),
    };
    let time = clock.now().ok()?;
    let usage = getrusage(usage).ok()?;
    let switches = usage.voluntary_context_switches() + usage.involuntary_context_switches();
    Some([
        ns(time.into()),
        switches as u64,
        usage.minor_page_faults() as u64,
        usage.major_page_faults() as u64,
    ])
}

/// Reads the first `count` words of a counter. `None` if the kernel does not provide all of them.
pub(crate) fn read_words<const MOST: usize>(
    counter: &Counter,
    count: usize,
) -> Option<[u64; MOST]> {
    let mut words = [0; MOST];
    let (into, size) = (words.as_mut_ptr().cast(), size_of_val(&words));
    // SAFETY: the array has room for this number of bytes.
    let bytes = unsafe { libc::read(counter.as_raw_fd(), into, size) };
    (usize::try_from(bytes) == Ok(count * size_of::<u64>())).then_some(words)
}

/// Refuses a counter that is enabled and does not count. It would only begin when another counter gives its place up.
pub(crate) fn refuse_starved<const MOST: usize>(words: Option<[u64; MOST]>) -> io::Result<()> {
    match words {
        Some(words) if words[1] == 0 || words[2] > 0 => Ok(()),
        _ => Err(io::Error::other(
            "another program uses the processor's counters, perhaps the NMI watchdog",
        )),
    }
}

pub(crate) fn unavailable(name: &str, error: &io::Error) -> Unobservable {
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
