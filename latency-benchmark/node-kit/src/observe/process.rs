//! Reads the kernel's figures of threads and processes, and moves threads to cores.

use std::str::FromStr;
use std::sync::mpsc;
use std::{fs, io, thread};

use nix::sched::{CpuSet, sched_setaffinity};
use nix::time::{ClockId, clock_getcpuclockid, clock_gettime};
use nix::unistd::{Pid, SysconfVar, gettid, sysconf};
use node_ab::slices::{CpuTime, Sums, ns, sums};
use run_format::Cores;

use crate::scope::{Spinner, UserWork};

/// A thread of this process, or another process, whose use of the machine is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Observee {
    Thread(i32),
    Process(i32),
}

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
/// named. The second has those that libraries have started. The spinner is in neither: it stays on central's core, and runs only
/// when that core would be idle.
pub(crate) fn other_threads(workers: &[Observee]) -> io::Result<(Vec<Observee>, Vec<Observee>)> {
    const OURS: [&str; 2] = ["measure", "bell"];
    let names: io::Result<Vec<_>> = fs::read_dir("/proc/self/task")?
        .map(|entry| Ok(entry?.file_name()))
        .collect();
    let ids = names?
        .into_iter()
        .filter_map(|id| id.to_str()?.parse().ok());
    let others = ids
        .map(Observee::Thread)
        .filter(|thread| !workers.contains(thread) && thread.name() != Spinner::NAME);
    Ok(others.partition(|thread| OURS.contains(&&*thread.name())))
}

/// Moves threads of this process to `cores`. Threads that have ended meanwhile are ignored.
pub(crate) fn move_threads(threads: &[Observee], cores: &Cores) -> io::Result<()> {
    let set = affinity(cores)?;
    for thread in threads {
        if let Observee::Thread(id) = thread {
            match sched_setaffinity(Pid::from_raw(*id), &set) {
                Ok(()) | Err(nix::errno::Errno::ESRCH) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
    }
    Ok(())
}

/// The counters of a worker's instructions. None if the processor's counters cannot be read.
pub(crate) fn user_work(worker: &Observee) -> Option<UserWork> {
    match worker {
        Observee::Thread(id) => UserWork::for_thread(*id).ok(),
        Observee::Process(_) => None,
    }
}

pub(crate) fn this_thread() -> Observee {
    Observee::Thread(gettid().as_raw())
}

/// The resources that an observee has used so far. A field is absent if the kernel does not tell it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Usage {
    pub(crate) user_ms: Option<f64>,
    pub(crate) system_ms: Option<f64>,
    pub(crate) voluntary_switches: Option<u64>,
    pub(crate) involuntary_switches: Option<u64>,
}
sums!(Usage: user_ms, system_ms, voluntary_switches, involuntary_switches);

impl Observee {
    fn folder(self) -> String {
        match self {
            Observee::Thread(id) => format!("/proc/self/task/{id}"),
            Observee::Process(id) => format!("/proc/{id}"),
        }
    }

    /// Reads a file of the observee. The text is empty if the observee is gone.
    fn read(self, file: &str) -> String {
        fs::read_to_string(format!("{}/{file}", self.folder())).unwrap_or_default()
    }

    fn name(self) -> String {
        self.read("comm").trim().to_owned()
    }

    pub(crate) fn usage(self) -> Usage {
        let (stat, status) = (self.read("stat"), self.read("status"));
        let ms = |field| Some(fields(&stat).nth(field)?.parse::<f64>().ok()? * tick_ms()?);
        Usage {
            // Fields 14 and 15.
            user_ms: ms(11),
            system_ms: ms(12),
            voluntary_switches: field(&status, "voluntary_ctxt_switches:"),
            involuntary_switches: field(&status, "nonvoluntary_ctxt_switches:"),
        }
    }

    pub(crate) fn cores(self) -> Option<Cores> {
        field(&self.read("status"), "Cpus_allowed_list:")
    }

    /// Whether a signal or a debugger has stopped it.
    pub(crate) fn is_stopped(self) -> bool {
        matches!(fields(&self.read("stat")).next(), Some("T" | "t"))
    }

    /// The CPU time in ns, which is more exact than the ticks of [`Usage`]. For a process, this is the time of its first thread
    /// alone.
    pub(crate) fn cpu_time(self) -> CpuTime {
        let schedstat = self.read("schedstat");
        let number = |column| schedstat.split_whitespace().nth(column)?.parse().ok();
        CpuTime {
            cpu_ns: number(0),
            runqueue_ns: number(1),
        }
    }
}

/// The sum over threads. It is absent if the time of one thread is.
pub(crate) fn cpu_time(threads: &[Observee]) -> CpuTime {
    let none = CpuTime {
        cpu_ns: Some(0),
        runqueue_ns: Some(0),
    };
    let times = threads.iter().map(|thread| thread.cpu_time());
    times.fold(none, CpuTime::plus)
}

/// The CPU time of all threads of these processes. It is absent if the time of one process is, or if there are none.
pub(crate) fn processes_cpu_ns(processes: &[Observee]) -> Option<u64> {
    let cpu_ns = |process: &Observee| {
        let Observee::Process(id) = *process else {
            return None;
        };
        let clock = clock_getcpuclockid(Pid::from_raw(id)).ok()?;
        Some(ns(clock_gettime(clock).ok()?.into()))
    };
    let sum: Option<u64> = processes.iter().map(cpu_ns).sum();
    sum.filter(|_| !processes.is_empty())
}

/// The sum over observees. It is absent if the usage of one is, or if there are none.
pub(crate) fn total(observees: &[Observee]) -> Usage {
    let usages = observees.iter().map(|observee| observee.usage());
    usages.reduce(Usage::plus).unwrap_or_default()
}

/// The lines of `/proc/stat`, one for each core and one for all of them.
pub(crate) struct CoreTimes(String);

impl CoreTimes {
    pub(crate) fn read() -> CoreTimes {
        CoreTimes(fs::read_to_string("/proc/stat").unwrap_or_default())
    }

    /// The time that the hypervisor gave to others while a core had work.
    pub(crate) fn steal_ms(&self, core: &str) -> Option<f64> {
        self.ms(core, 8)
    }

    /// The time of all processes: user, nice and system.
    pub(crate) fn process_ms(&self, core: &str) -> Option<f64> {
        [1, 2, 3].iter().map(|column| self.ms(core, *column)).sum()
    }

    fn ms(&self, core: &str, column: usize) -> Option<f64> {
        let mut lines = self.0.lines().map(str::split_whitespace);
        let mut line = lines.find(|line| line.clone().next() == Some(core))?;
        Some(line.nth(column)?.parse::<f64>().ok()? * tick_ms()?)
    }
}

/// The time in ms by which the clock `after` is ahead of `before`.
pub(crate) fn ahead_ms(before: ClockId, after: ClockId) -> Option<f64> {
    let ms = |id| {
        let now = clock_gettime(id).ok()?;
        Some(now.tv_sec() as f64 * 1e3 + now.tv_nsec() as f64 / 1e6)
    };
    let earlier = ms(before)?;
    Some(ms(after)? - earlier)
}

/// The sum of a count over the network namespaces of the observees. It is absent if the count of one is, or if there are none.
pub(crate) fn sum_over_namespaces(
    observees: &[Observee],
    count: fn(&str) -> Option<u64>,
) -> Option<u64> {
    let folders = observees.iter().map(|observee| observee.folder() + "/net");
    let sum: Option<u64> = folders.map(|folder| count(&folder)).sum();
    sum.filter(|_| !observees.is_empty())
}

pub(crate) fn retransmits(folder: &str) -> Option<u64> {
    let snmp = fs::read_to_string(format!("{folder}/snmp")).ok()?;
    let mut lines = snmp.lines().filter_map(|line| line.strip_prefix("Tcp:"));
    let [mut names, mut values] = [lines.next()?, lines.next()?].map(str::split_whitespace);
    let column = names.position(|name| name == "RetransSegs")?;
    values.nth(column)?.parse().ok()
}

/// The number of packets that found a queue of the delay line full. Absent if there is no such queue. Each line of the file is
/// a queue, and its sixth and seventh numbers are the drops by the kernel and by the listener's socket.
pub(crate) fn queue_drops(folder: &str) -> Option<u64> {
    let queues = fs::read_to_string(format!("{folder}/netfilter/nfnetlink_queue")).ok()?;
    let drops = queues.lines().map(|queue| {
        let mut numbers = queue.split_whitespace().map(str::parse::<u64>).skip(5);
        Some(numbers.next()?.ok()? + numbers.next()?.ok()?)
    });
    (!queues.is_empty()).then(|| drops.sum())?
}

/// The fields of a `stat` file from the third on. They follow the name in brackets, which may have spaces.
fn fields(stat: &str) -> impl Iterator<Item = &str> {
    let after_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    after_name.split_whitespace()
}

fn tick_ms() -> Option<f64> {
    let per_second = sysconf(SysconfVar::CLK_TCK).ok()??;
    Some(1e3 / per_second as f64)
}

fn field<T: FromStr>(status: &str, name: &str) -> Option<T> {
    let mut lines = status.lines();
    lines.find_map(|line| line.strip_prefix(name)?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_works_uses_time() {
        let me = this_thread();
        let before = me.usage();
        assert!(before.voluntary_switches.is_some());
        let start = std::time::Instant::now();
        while start.elapsed() < std::time::Duration::from_millis(100) {
            std::hint::spin_loop();
        }
        let used = me.usage().since(before);
        assert!(
            used.user_ms
                .zip(used.system_ms)
                .is_some_and(|(user, system)| user + system > 0.0),
            "{used:?}"
        );
    }

    #[test]
    fn the_spinner_is_not_among_the_threads_that_leave_its_core() {
        let spinner = Spinner::start(0).expect("a core");
        spawn_on(&Cores::one(0), "bell", || {
            std::thread::sleep(std::time::Duration::from_secs(1))
        })
        .expect("a thread");
        let (ours, libraries) = other_threads(&[]).expect("the threads of this process");
        let names: Vec<String> = ours
            .iter()
            .chain(&libraries)
            .map(|thread| thread.name())
            .collect();
        assert!(names.contains(&"bell".to_owned()));
        assert!(!names.contains(&Spinner::NAME.to_owned()), "{names:?}");
        drop(spinner);
    }

    #[test]
    fn a_process_that_is_gone_has_an_absent_usage_and_not_zero() {
        let gone = Observee::Process(i32::MAX);
        assert_eq!(gone.usage(), Usage::default());
        assert_eq!(total(&[this_thread(), gone]).user_ms, None);
    }
}
