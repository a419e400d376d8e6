//! What the kernel says of threads and processes.

use std::{fs, io};

use nix::{
    sched::{CpuSet, sched_setaffinity},
    time::{ClockId, clock_gettime},
    unistd::{Pid, SysconfVar, gettid, sysconf},
};
use run_format::network::Cores;

use super::sums::{Sums, sums};

/// A thread of this process, or another process, whose use of the machine is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Observee {
    /// By its thread id.
    Thread(i32),
    /// By its process id.
    Process(i32),
}

/// Moves the calling thread.
pub(crate) fn move_to(cores: &Cores) -> io::Result<()> {
    Ok(sched_setaffinity(Pid::from_raw(0), &affinity(cores)?)?)
}

fn affinity(cores: &Cores) -> io::Result<CpuSet> {
    let mut set = CpuSet::new();
    for core in cores.iter() {
        set.set(core)?;
    }
    Ok(set)
}

/// The threads of this process that are not among `workers`: libraries start some of their own.
/// First those that measure, by the names that this crate gave them.
pub(crate) fn other_threads(workers: &[Observee]) -> io::Result<(Vec<Observee>, Vec<Observee>)> {
    const OURS: [&str; 2] = ["measure", "bell"];
    let mut measuring = Vec::new();
    let mut helping = Vec::new();
    for entry in fs::read_dir("/proc/self/task")? {
        let entry = entry?;
        let Some(id) = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok())
        else {
            continue;
        };
        let name = fs::read_to_string(entry.path().join("comm")).unwrap_or_default();
        let thread = Observee::Thread(id);
        if OURS.contains(&name.trim()) {
            measuring.push(thread);
        } else if !workers.contains(&thread) {
            helping.push(thread);
        }
    }
    Ok((measuring, helping))
}

/// Moves other threads of this process. One that has ended meanwhile needs no moving.
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

/// The calling thread.
pub(crate) fn this_thread() -> Observee {
    Observee::Thread(gettid().as_raw())
}

/// What an observee has used so far; a field is absent where the kernel does not say.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Usage {
    pub(crate) user_ms: Option<f64>,
    pub(crate) system_ms: Option<f64>,
    pub(crate) voluntary_switches: Option<u64>,
    pub(crate) involuntary_switches: Option<u64>,
}
sums!(Usage: user_ms, system_ms, voluntary_switches, involuntary_switches);

/// The time of threads, exact where that of [`Usage`] comes in ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct CpuTime {
    pub(crate) cpu_ns: Option<u64>,
    /// Ready to run, and waiting for the core.
    pub(crate) runqueue_ns: Option<u64>,
}
sums!(CpuTime: cpu_ns, runqueue_ns);

impl Observee {
    pub(super) fn folder(self) -> String {
        match self {
            Observee::Thread(id) => format!("/proc/self/task/{id}"),
            Observee::Process(id) => format!("/proc/{id}"),
        }
    }

    pub(crate) fn usage(self) -> Usage {
        let folder = self.folder();
        let stat = fs::read_to_string(format!("{folder}/stat")).unwrap_or_default();
        let status = fs::read_to_string(format!("{folder}/status")).unwrap_or_default();
        let (user_ms, system_ms) = cpu_ms(&stat);
        Usage {
            user_ms,
            system_ms,
            voluntary_switches: field(&status, "voluntary_ctxt_switches:"),
            involuntary_switches: field(&status, "nonvoluntary_ctxt_switches:"),
        }
    }

    /// Whether a signal or a debugger has stopped it.
    pub(crate) fn is_stopped(self) -> bool {
        let stat = fs::read_to_string(format!("{}/stat", self.folder())).unwrap_or_default();
        matches!(fields(&stat).next(), Some("T" | "t"))
    }

    /// Of a process this is the time of its first thread alone.
    fn cpu_time(self) -> CpuTime {
        let schedstat =
            fs::read_to_string(format!("{}/schedstat", self.folder())).unwrap_or_default();
        let mut numbers = schedstat.split_whitespace().map(|it| it.parse().ok());
        CpuTime {
            cpu_ns: numbers.next().flatten(),
            runqueue_ns: numbers.next().flatten(),
        }
    }
}

/// The sum over threads; absent if it is for one.
pub(crate) fn cpu_time(threads: &[Observee]) -> CpuTime {
    let none = CpuTime {
        cpu_ns: Some(0),
        runqueue_ns: Some(0),
    };
    let times = threads.iter().map(|thread| thread.cpu_time());
    times.fold(none, CpuTime::plus)
}

/// The sum over observees; absent if it is for one.
pub(crate) fn total(observees: &[Observee]) -> Usage {
    let none = Usage {
        user_ms: Some(0.0),
        system_ms: Some(0.0),
        voluntary_switches: Some(0),
        involuntary_switches: Some(0),
    };
    let usages = observees.iter().map(|observee| observee.usage());
    usages.fold(none, Usage::plus)
}

/// What all cores together did so far, and what was stolen from one.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct MachineTimes {
    /// The time that the hypervisor gave to others.
    pub(crate) steal_ms: Option<f64>,
    /// The part of `steal_ms` that central's cores lost.
    pub(crate) central_core_steal_ms: Option<f64>,
    /// The time of all processes, on the cores of the cell.
    pub(crate) process_ms: Option<f64>,
    /// For how long it was suspended.
    pub(crate) suspended_ms: Option<f64>,
    /// The time of day, less the time since the machine started.
    pub(crate) day_ms: Option<f64>,
}
sums!(MachineTimes: steal_ms, central_core_steal_ms, process_ms, suspended_ms, day_ms);

/// `central` are central's cores, and `own` the lines of `/proc/stat` about all cores of the cell.
pub(crate) fn machine_times(central: &Cores, own: &[String]) -> MachineTimes {
    const USER_NICE_SYSTEM: [usize; 3] = [1, 2, 3];
    const STEAL: usize = 8;
    let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
    let ms = |core: &str, column: usize| {
        let mut lines = stat.lines().map(str::split_whitespace);
        let mut line = lines.find(|line| line.clone().next() == Some(core))?;
        Some(line.nth(column)?.parse::<f64>().ok()? * tick_ms()?)
    };
    let of_central = central.iter().map(|core| ms(&format!("cpu{core}"), STEAL));
    MachineTimes {
        steal_ms: ms("cpu", STEAL),
        central_core_steal_ms: of_central.sum(),
        process_ms: own
            .iter()
            .flat_map(|core| USER_NICE_SYSTEM.map(|at| ms(core, at)))
            .sum(),
        suspended_ms: between(ClockId::CLOCK_MONOTONIC, ClockId::CLOCK_BOOTTIME),
        day_ms: between(ClockId::CLOCK_BOOTTIME, ClockId::CLOCK_REALTIME),
    }
}

fn between(before: ClockId, after: ClockId) -> Option<f64> {
    let ms = |id| {
        let now = clock_gettime(id).ok()?;
        Some(now.tv_sec() as f64 * 1e3 + now.tv_nsec() as f64 / 1e6)
    };
    let earlier = ms(before)?;
    Some(ms(after)? - earlier)
}

/// What went wrong in network namespaces, summed over those that the observees are in. A sum is absent
/// if one of its parts is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NetworkTrouble {
    /// Segments sent again.
    pub(crate) retransmits: Option<u64>,
    /// Packets that found a queue of the delay line full. Absent where there is no such queue.
    pub(crate) queue_drops: Option<u64>,
}
sums!(NetworkTrouble: retransmits, queue_drops);

pub(crate) fn network_trouble(observees: &[Observee]) -> NetworkTrouble {
    let sum = |of: fn(&str) -> Option<u64>| {
        let folders = observees
            .iter()
            .map(|observee| format!("{}/net", observee.folder()));
        folders
            .map(|folder| of(&folder))
            .sum::<Option<u64>>()
            .filter(|_| !observees.is_empty())
    };
    NetworkTrouble {
        retransmits: sum(retransmits),
        queue_drops: sum(queue_drops),
    }
}

fn retransmits(folder: &str) -> Option<u64> {
    let snmp = fs::read_to_string(format!("{folder}/snmp")).ok()?;
    let mut lines = snmp.lines().filter_map(|line| line.strip_prefix("Tcp:"));
    let (names, values) = (lines.next()?, lines.next()?);
    let at = names
        .split_whitespace()
        .position(|name| name == "RetransSegs")?;
    values.split_whitespace().nth(at)?.parse().ok()
}

/// A queue is a line; its sixth and seventh numbers are what the kernel and the listener's socket had
/// no room for.
fn queue_drops(folder: &str) -> Option<u64> {
    let queues = fs::read_to_string(format!("{folder}/netfilter/nfnetlink_queue")).ok()?;
    let drops = queues.lines().map(|queue| {
        let numbers: Vec<u64> = queue
            .split_whitespace()
            .map_while(|number| number.parse().ok())
            .collect();
        Some(numbers.get(5)? + numbers.get(6)?)
    });
    (!queues.is_empty()).then(|| drops.sum())?
}

/// From the third on. The name before, in brackets, may have spaces.
fn fields(stat: &str) -> impl Iterator<Item = &str> {
    let after_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    after_name.split_whitespace()
}

/// User and system time are fields 14 and 15.
fn cpu_ms(stat: &str) -> (Option<f64>, Option<f64>) {
    let time = |at: usize| Some(fields(stat).nth(at)?.parse::<f64>().ok()? * tick_ms()?);
    (time(11), time(12))
}

fn tick_ms() -> Option<f64> {
    let per_second = sysconf(SysconfVar::CLK_TCK).ok()??;
    Some(1e3 / per_second as f64)
}

fn field(status: &str, name: &str) -> Option<u64> {
    status
        .lines()
        .find_map(|line| line.strip_prefix(name)?.trim().parse().ok())
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
    fn what_is_gone_has_no_usage_rather_than_none_used() {
        let gone = Observee::Process(i32::MAX);
        assert_eq!(gone.usage(), Usage::default());
        assert_eq!(total(&[this_thread(), gone]).user_ms, None);
    }
}
