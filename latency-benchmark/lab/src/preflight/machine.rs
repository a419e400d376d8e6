//! Checks of properties of this machine that affect the quality of measurements.

use std::io::Read;
use std::path::Path;
use std::time::Duration;
use std::{fs, thread};

use anyhow::Result;
use flate2::read::GzDecoder;
use perf_event::Builder;
use perf_event::events::Hardware;

use super::finding::PreflightStatus::{Degraded, Missing};
use super::finding::{PreflightFinding, Seen};
use crate::Topology;
use run_format::Sharing;

pub(super) fn findings() -> Vec<PreflightFinding> {
    /// A load below this is ordinary background work of the system.
    const QUIET_CORES: f64 = 0.3;
    /// More than a large cell needs.
    const ENOUGH_MIB: u64 = 2048;
    let governor = read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
    let intel = read("/sys/devices/system/cpu/intel_pstate/no_turbo").map(|value| value == "1");
    let other_drivers = || read("/sys/devices/system/cpu/cpufreq/boost").map(|value| value == "0");
    let turbo = intel.or_else(other_drivers);
    vec![
        cores().unwrap_or_else(|error| {
            let problem = (Missing, "processes cannot be assigned to cores");
            PreflightFinding::tried("cores", Err::<String, _>(error), problem, "mount /sys")
        }),
        clock(),
        own_time(),
        cycle_counter(),
        judge(
            "frequency governor",
            governor.map(|governor| Seen::fine_if(governor == "performance", governor)),
            "a core may run slowly after it was idle, which looks like slow polls",
            "as root: `cpupower frequency-set -g performance`",
        ),
        judge(
            "turbo",
            turbo.map(|is_off| Seen::fine_if(is_off, if is_off { "off" } else { "on" })),
            "the frequency depends on the temperature and on the load of other cores",
            "as root: write 1 to /sys/devices/system/cpu/intel_pstate/no_turbo, \
             or 0 to /sys/devices/system/cpu/cpufreq/boost",
        ),
        idle_states(),
        judge(
            "other load",
            busy_cores().map(|cores| {
                let seen = format!("other processes keep {cores:.1} cores busy");
                Seen::fine_if(cores < QUIET_CORES, seen)
            }),
            "other processes may take time and cache from central's core",
            "end them or wait",
        ),
        judge(
            "memory",
            available_mib()
                .map(|mib| Seen::fine_if(mib >= ENOUGH_MIB, format!("{mib} MiB available"))),
            "cells with many peers and large payloads may fail",
            "end other processes, or use a larger machine",
        ),
    ]
}

fn read(path: impl AsRef<Path>) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    Some(text.trim().to_owned())
}

/// Makes a finding about something that the kernel may not show. It is a problem if it is unknown.
fn judge(name: &str, seen: Option<Seen>, consequence: &str, remedy: &str) -> PreflightFinding {
    const UNKNOWN: &str = "unknown: the kernel does not show it, as in most virtual machines";
    let (seen, remedy) = match seen {
        Some(seen) => (seen, remedy),
        None => (
            Seen::Problem(UNKNOWN.to_owned()),
            "use a machine whose kernel shows it",
        ),
    };
    PreflightFinding::new(name, seen, (Degraded, consequence), remedy)
}

fn cores() -> Result<PreflightFinding> {
    let topology = Topology::for_this_process()?;
    let placement = topology.place(1, None)?;
    let count = topology.available().count();
    let smt = if topology.has_smt { "SMT" } else { "no SMT" };
    let is_shared = placement.sharing != Sharing::Nothing;
    let (consequence, remedy) = if is_shared {
        (
            "poll times include delays by the peers, which share central's core",
            "use at least two physical cores, and an affinity mask that includes them",
        )
    } else {
        (
            "all peers and the delay line share one core, so many peers are slow",
            "use a machine with more cores",
        )
    };
    let is_ok = !is_shared && count != 2;
    let seen = Seen::fine_if(is_ok, format!("{count} ({smt}); {placement}"));
    Ok(judge("cores", Some(seen), consequence, remedy))
}

fn has_cpu_flag(flag: &str) -> bool {
    let cpuinfo = read("/proc/cpuinfo").unwrap_or_default();
    let flags = cpuinfo.lines().find(|line| line.starts_with("flags"));
    flags.is_some_and(|flags| flags.split_whitespace().any(|known| known == flag))
}

fn clock() -> PreflightFinding {
    let is_invariant = has_cpu_flag("constant_tsc") && has_cpu_flag("nonstop_tsc");
    let tsc = match is_invariant {
        true => "invariant TSC",
        false => "no invariant TSC (constant_tsc and nonstop_tsc)",
    };
    let source = read("/sys/devices/system/clocksource/clocksource0/current_clocksource")
        .unwrap_or_else(|| "unknown".to_owned());
    judge(
        "clock",
        Some(Seen::fine_if(
            is_invariant,
            format!("{tsc}; clock source {source}"),
        )),
        "reading the clock takes longer, and this time is part of the measured times",
        "use another machine, or a hypervisor that gives its guests the TSC",
    )
}

/// Whether this kernel leaves the hypervisor's time and that of interrupts out of a poll's own time.
fn own_time() -> PreflightFinding {
    const STEAL: &str = "CONFIG_PARAVIRT_TIME_ACCOUNTING=y";
    const INTERRUPTS: &str = "CONFIG_IRQ_TIME_ACCOUNTING=y";
    let config = kernel_config();
    let sets = |option| {
        let mut lines = config.as_ref()?.lines();
        Some(lines.any(|line| line == option))
    };
    // Only x86 says whether there is a hypervisor.
    let is_physical = cfg!(target_arch = "x86_64") && !has_cpu_flag("hypervisor");
    let (is_ok, hypervisor) = match (is_physical, sets(STEAL)) {
        (true, _) => (true, "; there is no hypervisor"),
        (false, Some(true)) => (true, " and time that the hypervisor reports as stolen"),
        (false, Some(false)) => (false, ", but with time that the hypervisor took"),
        (false, None) => (
            false,
            "; whether the hypervisor's time is included is unknown, because the kernel's configuration cannot be read",
        ),
    };
    let interrupts = match sets(INTERRUPTS) {
        Some(true) => "; time in interrupts, in which packets are delivered, is left out, too",
        _ => "",
    };
    let seen = format!("polls are counted without time of other threads{hypervisor}{interrupts}");
    judge(
        "own time",
        Some(Seen::fine_if(is_ok, seen)),
        "a poll that the hypervisor interrupts may look slow",
        "use a kernel with CONFIG_PARAVIRT_TIME_ACCOUNTING, or a machine that is not shared",
    )
}

fn kernel_config() -> Option<String> {
    let release = read("/proc/sys/kernel/osrelease")?;
    read(format!("/boot/config-{release}")).or_else(|| {
        let packed = fs::File::open("/proc/config.gz").ok()?;
        let mut config = String::new();
        GzDecoder::new(packed).read_to_string(&mut config).ok()?;
        Some(config)
    })
}

fn cycle_counter() -> PreflightFinding {
    let paranoid =
        read("/proc/sys/kernel/perf_event_paranoid").unwrap_or_else(|| "absent".to_owned());
    let (is_ok, what, remedy) = match Builder::new(Hardware::CPU_CYCLES).build() {
        Ok(_) => (true, "can be opened".to_owned(), ""),
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => (
            false,
            format!("not permitted ({error})"),
            "as root: `sysctl -w kernel.perf_event_paranoid=1`",
        ),
        Err(error) => (
            false,
            format!("not available ({error})"),
            "use a physical machine, or a hypervisor that gives its guests the PMU",
        ),
    };
    let seen = format!("{what}; kernel.perf_event_paranoid = {paranoid}");
    let consequence = "central's cycles and cache misses are not counted";
    judge(
        "hardware counters",
        Some(Seen::fine_if(is_ok, seen)),
        consequence,
        remedy,
    )
}

fn idle_states() -> PreflightFinding {
    /// A core in a deeper idle state takes longer than this to wake up, which is a large part of a slow poll.
    const SHALLOW_EXIT_US: u64 = 20;
    let states = fs::read_dir("/sys/devices/system/cpu/cpu0/cpuidle");
    let enabled = states.into_iter().flatten().flatten().filter_map(|state| {
        let folder = state.path();
        let is_enabled = read(folder.join("disable")).is_none_or(|value| value == "0");
        let exit_us: u64 = read(folder.join("latency"))?.parse().ok()?;
        is_enabled.then_some((read(folder.join("name"))?, exit_us))
    });
    let deepest = enabled.max_by_key(|(_, exit_us)| *exit_us);
    judge(
        "idle states",
        deepest.map(|(deepest, exit_us)| {
            let seen = format!("the deepest enabled is {deepest}, {exit_us} us to wake up");
            Seen::fine_if(exit_us <= SHALLOW_EXIT_US, seen)
        }),
        "an idle core takes long to wake up, and its caches are cold",
        &format!("as root: `cpupower idle-set -D {SHALLOW_EXIT_US}`"),
    )
}

/// The number of cores that are busy at the moment. A load average would still count a build that has just ended.
pub fn busy_cores() -> Option<f64> {
    const MOMENT: Duration = Duration::from_millis(250);
    const TICKS_PER_S: f64 = 100.0;
    let before = busy_ticks(&read("/proc/stat")?);
    thread::sleep(MOMENT);
    let ticks = busy_ticks(&read("/proc/stat")?).saturating_sub(before);
    Some(ticks as f64 / TICKS_PER_S / MOMENT.as_secs_f64())
}

/// The busy time of all cores since boot. The fourth and the fifth count are left out: idle time, and waiting for disks.
fn busy_ticks(stat: &str) -> u64 {
    let first = stat.lines().next().unwrap_or_default();
    let counts = first.split_whitespace().skip(1).take(8);
    let busy = counts
        .enumerate()
        .filter(|(index, _)| !matches!(index, 3 | 4));
    let ticks = busy.map(|(_, ticks)| ticks.parse::<u64>());
    ticks.map(Result::unwrap_or_default).sum()
}

fn available_mib() -> Option<u64> {
    let meminfo = read("/proc/meminfo")?;
    let mut lines = meminfo.lines();
    let text = lines.find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = text.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib / 1024)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preflight::finding::PreflightStatus;

    #[test]
    fn idle_time_is_no_load() {
        let stat = "cpu  10 20 30 4000 500 6 7 8 9 10\ncpu0 1 2 3 4 5 6 7 8 9 10";
        assert_eq!(busy_ticks(stat), 10 + 20 + 30 + 6 + 7 + 8);
        assert_eq!(busy_ticks(""), 0);
    }

    #[test]
    fn every_problem_has_a_consequence_and_a_remedy() {
        for finding in findings() {
            let is_ok = finding.status == PreflightStatus::Ok;
            assert_eq!(finding.consequence.is_none(), is_ok, "{finding}");
            assert_eq!(finding.remedy.is_none(), is_ok, "{finding}");
        }
    }
}
