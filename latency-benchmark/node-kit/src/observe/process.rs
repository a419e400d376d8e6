//! Reads the kernel's figures of threads, processes and cores.

use std::fs;
use std::str::FromStr;

use nix::time::{ClockId, clock_getcpuclockid, clock_gettime};
use nix::unistd::{Pid, SysconfVar, gettid, sysconf};
use node_ab::slices::{CpuTime, Sums, ns, sums};
use run_format::Cores;

use crate::profiler::UserWork;

/// A thread of this process, or another process, whose use of the machine is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Observee {
    Thread(i32),
    Process(i32),
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
    pub(super) fn folder(self) -> String {
        match self {
            Observee::Thread(id) => format!("/proc/self/task/{id}"),
            Observee::Process(id) => format!("/proc/{id}"),
        }
    }

    /// Reads a file of the observee. The text is empty if the observee is gone.
    fn read(self, file: &str) -> String {
        fs::read_to_string(format!("{}/{file}", self.folder())).unwrap_or_default()
    }

    pub(super) fn name(self) -> String {
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

    /// The CPU time in ns, which is more exact than the ticks of [`Usage`]. For a process, this is the time of its first
    /// thread alone.
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
        // The kernel counts in steps of some milliseconds, and a busy machine may give this thread little time.
        let start = std::time::Instant::now();
        let has_used_time = || {
            let used = me.usage().since(before);
            let times = used.user_ms.zip(used.system_ms);
            times.is_some_and(|(user, system)| user + system > 0.0)
        };
        while !has_used_time() {
            assert!(start.elapsed() < std::time::Duration::from_secs(60));
        }
    }

    #[test]
    fn a_process_that_is_gone_has_an_absent_usage_and_not_zero() {
        let gone = Observee::Process(i32::MAX);
        assert_eq!(gone.usage(), Usage::default());
        assert_eq!(total(&[this_thread(), gone]).user_ms, None);
    }
}
