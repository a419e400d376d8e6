//! What makes a measurement good or bad on this machine.

use std::{fs, path::Path};

use nix::errno::Errno;

use super::Finding;
use crate::{Placement, Sharing, Topology, sys};

pub(super) fn look() -> Vec<Finding> {
    vec![
        cores(),
        clock(),
        cycle_counter(),
        governor(),
        turbo(),
        idle_states(),
        load(),
        memory(),
    ]
}

fn read(path: impl AsRef<Path>) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    Some(text.trim().to_owned())
}

fn cores() -> Finding {
    const NAME: &str = "cores";
    let placed = Topology::of_this_process().and_then(|topology| {
        let placement = Placement::choose(&topology, None, None)?;
        Ok((topology, placement))
    });
    let (topology, placement) = match placed {
        Ok(placed) => placed,
        Err(error) => {
            let consequence = "nothing can be placed";
            return Finding::missing(NAME, error.to_string(), consequence, "mount /sys");
        }
    };
    let count = topology.available().iter().count();
    let smt = if topology.has_smt() { "SMT" } else { "no SMT" };
    let seen = format!("{count} ({smt}); {placement}");
    match placement.sharing {
        Sharing::Nothing if count == 2 => Finding::degraded(
            NAME,
            seen,
            "all peers and the delay line share one core, so many peers are slow",
            "a machine with more cores",
        ),
        Sharing::Nothing => Finding::ok(NAME, seen),
        Sharing::PhysicalCore | Sharing::Core => Finding::degraded(
            NAME,
            seen,
            "poll times include what the peers do to central's core",
            "at least two physical cores, and an affinity mask that has them",
        ),
    }
}

fn clock() -> Finding {
    const NAME: &str = "clock";
    let flags = read("/proc/cpuinfo").and_then(|cpuinfo| {
        let line = cpuinfo.lines().find(|line| line.starts_with("flags"))?;
        Some(line.to_owned())
    });
    let source = read("/sys/devices/system/clocksource/clocksource0/current_clocksource")
        .unwrap_or_else(|| "unknown".to_owned());
    let has = |flag| {
        let flags = flags.as_deref().unwrap_or_default();
        flags.split_whitespace().any(|known| known == flag)
    };
    if has("constant_tsc") && has("nonstop_tsc") {
        return Finding::ok(NAME, format!("invariant TSC; clock source {source}"));
    }
    Finding::degraded(
        NAME,
        format!("no invariant TSC (constant_tsc and nonstop_tsc); clock source {source}"),
        "each reading of the clock costs more, and is part of what is measured",
        "another machine, or a hypervisor that passes the TSC on",
    )
}

fn cycle_counter() -> Finding {
    const NAME: &str = "hardware counters";
    const CONSEQUENCE: &str = "cycles and cache misses of central cannot be told";
    let paranoid =
        read("/proc/sys/kernel/perf_event_paranoid").unwrap_or_else(|| "absent".to_owned());
    let seen = |what: &str| format!("{what}; kernel.perf_event_paranoid = {paranoid}");
    match sys::open_cycle_counter() {
        Ok(_) => Finding::ok(NAME, seen("can be opened")),
        Err(errno @ (Errno::EPERM | Errno::EACCES)) => Finding::degraded(
            NAME,
            seen(&format!("refused ({errno})")),
            CONSEQUENCE,
            "as root: `sysctl -w kernel.perf_event_paranoid=1`",
        ),
        Err(errno) => Finding::degraded(
            NAME,
            seen(&format!("not there ({errno})")),
            CONSEQUENCE,
            "bare metal, or a hypervisor that passes the PMU on",
        ),
    }
}

fn governor() -> Finding {
    const NAME: &str = "frequency governor";
    let remedy = "as root: `cpupower frequency-set -g performance`";
    match read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor") {
        Some(governor) if governor == "performance" => Finding::ok(NAME, governor),
        Some(governor) => Finding::degraded(
            NAME,
            governor,
            "a core that was idle runs slowly at first, which looks like slow polls",
            remedy,
        ),
        None => unknown(NAME, "the frequency may change unseen"),
    }
}

fn turbo() -> Finding {
    const NAME: &str = "turbo";
    const CONSEQUENCE: &str = "the frequency depends on heat and on what other cores do";
    let intel = read("/sys/devices/system/cpu/intel_pstate/no_turbo").map(|value| value == "0");
    let others = || read("/sys/devices/system/cpu/cpufreq/boost").map(|value| value == "1");
    match intel.or_else(others) {
        Some(false) => Finding::ok(NAME, "off"),
        Some(true) => Finding::degraded(
            NAME,
            "on",
            CONSEQUENCE,
            "as root: write 1 to /sys/devices/system/cpu/intel_pstate/no_turbo, \
             or 0 to /sys/devices/system/cpu/cpufreq/boost",
        ),
        None => unknown(NAME, CONSEQUENCE),
    }
}

/// A core in a deep idle state takes longer than this to wake up, a good part of a slow poll.
const SHALLOW_EXIT_US: u64 = 20;

fn idle_states() -> Finding {
    const NAME: &str = "idle states";
    const CONSEQUENCE: &str = "a core that was idle wakes up late and with cold caches";
    let states = enabled_idle_states();
    let Some((deepest, exit_us)) = states.iter().max_by_key(|(_, exit_us)| *exit_us) else {
        return unknown(NAME, CONSEQUENCE);
    };
    let seen = format!("deepest enabled is {deepest}, {exit_us} us to leave");
    if *exit_us <= SHALLOW_EXIT_US {
        return Finding::ok(NAME, seen);
    }
    Finding::degraded(
        NAME,
        seen,
        CONSEQUENCE,
        &format!("as root: `cpupower idle-set -D {SHALLOW_EXIT_US}`"),
    )
}

fn enabled_idle_states() -> Vec<(String, u64)> {
    let Ok(states) = fs::read_dir("/sys/devices/system/cpu/cpu0/cpuidle") else {
        return Vec::new();
    };
    let enabled = states.flatten().filter_map(|state| {
        let state = state.path();
        let is_enabled = read(state.join("disable")).is_none_or(|value| value == "0");
        let exit_us = read(state.join("latency"))?.parse().ok()?;
        is_enabled.then_some((read(state.join("name"))?, exit_us))
    });
    enabled.collect()
}

/// Below this, whatever else runs is taken to be housekeeping.
const QUIET_LOAD: f64 = 0.3;

fn load() -> Finding {
    const NAME: &str = "other load";
    let Some((load, running)) = read("/proc/loadavg").as_deref().and_then(parse_load) else {
        return unknown(NAME, "other processes may disturb");
    };
    // One of those running is the process that reads this.
    let others = running.saturating_sub(1);
    let seen = format!("load {load:.2} over the last minute, {others} other tasks running now");
    if load < QUIET_LOAD && others == 0 {
        return Finding::ok(NAME, seen);
    }
    Finding::degraded(
        NAME,
        seen,
        "other processes take central's core and caches, and the kernel's attention",
        "end them, or wait; a build that has just ended still counts for a minute",
    )
}

/// The mean of the last minute, and how many tasks run now.
fn parse_load(text: &str) -> Option<(f64, u64)> {
    let mut fields = text.split_whitespace();
    let load = fields.next()?.parse().ok()?;
    let (running, _) = fields.nth(2)?.split_once('/')?;
    Some((load, running.parse().ok()?))
}

/// What a large cell takes, with room to spare.
const ENOUGH_MIB: u64 = 2048;

fn memory() -> Finding {
    const NAME: &str = "memory";
    let available_mib = read("/proc/meminfo").and_then(|meminfo| {
        let line = meminfo
            .lines()
            .find_map(|line| line.strip_prefix("MemAvailable:"))?;
        let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
        Some(kib / 1024)
    });
    match available_mib {
        Some(mib) if mib >= ENOUGH_MIB => Finding::ok(NAME, format!("{mib} MiB available")),
        Some(mib) => Finding::degraded(
            NAME,
            format!("{mib} MiB available"),
            "cells with many peers and large payloads may fail",
            "end other processes, or use a larger machine",
        ),
        None => unknown(NAME, "it may run out"),
    }
}

fn unknown(name: &str, consequence: &str) -> Finding {
    Finding::degraded(
        name,
        "unknown: the kernel does not say, as in most virtual machines",
        consequence,
        "a machine that shows it",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_load_is_read_with_the_tasks_that_run() {
        assert_eq!(parse_load("0.52 0.58 0.59 3/602 29306"), Some((0.52, 3)));
        assert_eq!(parse_load(""), None);
    }

    #[test]
    fn whatever_is_not_well_has_a_consequence_and_a_remedy() {
        for finding in look() {
            let is_ok = finding.status == super::super::Status::Ok;
            assert_eq!(finding.consequence.is_none(), is_ok, "{finding}");
            assert_eq!(finding.remedy.is_none(), is_ok, "{finding}");
        }
    }
}
