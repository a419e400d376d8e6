//! `manifest.json`: everything that another person needs to repeat a sweep.

use std::{env, fs, thread};

use serde::{Deserialize, Serialize};

use crate::plausible::{COUNT, UNIX_S, WHAT_THE_TYPE_ALLOWS, plausible};
use crate::{Site, SweepConfig};

/// `manifest.json`, written before the first launch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    pub schema: u32,
    pub command: Vec<String>,
    pub created_unix_s: u64,
    pub config: SweepConfig,
    pub tool: Tool,
    pub machine: Machine,
}

plausible! { Manifest;
    schema command config tool machine: WHAT_THE_TYPE_ALLOWS;
    created_unix_s: UNIX_S;
}

/// The programs that measured. Other programs do not continue the sweep.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tool {
    pub version: String,
    pub commit: Option<String>,
    pub profile: String,
    pub rustc: String,
    pub sha256: Option<String>,
    pub upstream: Vec<Upstream>,
    /// None for an application, which has no node program.
    pub node: Option<CompiledNode>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompiledNode {
    pub stack: String,
    pub sites: Vec<NamedSite>,
    pub sha256: Option<String>,
    pub profile: String,
    pub opt_level: String,
    pub debug_assertions: bool,
    pub rustflags: String,
    pub target_features: String,
    pub features: Vec<String>,
    pub rustc: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedSite {
    pub site: Site,
    pub function: String,
    pub symbol: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Upstream {
    pub name: String,
    pub version: String,
    pub sha256: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    pub host: Option<String>,
    pub kernel: Option<String>,
    pub cpu: Option<String>,
    pub cores: Option<usize>,
    pub memory_kib: Option<u64>,
    pub clock_source: Option<String>,
    pub governor: Option<String>,
}

plausible! { Machine;
    host kernel cpu cores clock_source governor: WHAT_THE_TYPE_ALLOWS;
    memory_kib: COUNT;
}

impl Machine {
    pub fn this_host() -> Machine {
        let line = |path: &str| Some(fs::read_to_string(path).ok()?.trim().to_owned());
        let field = |path: &str, name: &str| {
            let text = fs::read_to_string(path).ok()?;
            let line = text.lines().find(|line| line.starts_with(name))?;
            Some(line.split_once(':')?.1.trim().to_owned())
        };
        // Nodes of a cluster can share a machine, and the name of a pod is not that of its node.
        let variables = ["SLURMD_NODENAME", "NODE_NAME"];
        let node = variables.into_iter().find_map(|name| env::var(name).ok());
        Machine {
            host: node.or_else(|| line("/proc/sys/kernel/hostname")),
            kernel: line("/proc/sys/kernel/osrelease"),
            cpu: field("/proc/cpuinfo", "model name"),
            cores: thread::available_parallelism().ok().map(usize::from),
            memory_kib: field("/proc/meminfo", "MemTotal")
                .and_then(|text| text.split(' ').next()?.parse().ok()),
            clock_source: line("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
            governor: line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        }
    }
}
