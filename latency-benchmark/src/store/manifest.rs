//! `manifest.json`: what another person needs to repeat a sweep.

use std::{fs, path::Path, time::SystemTime};

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{EDITS, SCHEMA, run_writer::write_whole, unix_s};
use crate::{
    config::{LabConfig, NodeConfig, Pace, Precision, RuntimeConfig, SubjectConfig, VariantConfig},
    failure::{Failure, bad_input},
    grid::Axes,
};

/// What a sweep measures, and how.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct SweepConfig {
    pub(crate) axes: Axes,
    pub(crate) variants: Vec<VariantConfig>,
    /// Absent where there is only this program.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) subjects: Vec<SubjectConfig>,
    pub(crate) node: NodeConfig,
    pub(crate) pace: Pace,
    pub(crate) runtime: RuntimeConfig,
    pub(crate) lab: LabConfig,
    pub(crate) repeat: u32,
    /// Null is the default for the round trip.
    pub(crate) slice_ms: Option<u64>,
    pub(crate) max_cell_ms: u64,
    pub(crate) precision: Precision,
    pub(crate) seed: u64,
}

/// The whole file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Manifest {
    pub(crate) schema: u32,
    pub(crate) command: Vec<String>,
    pub(crate) created_unix_s: u64,
    pub(crate) config: SweepConfig,
    pub(crate) tool: Tool,
    pub(crate) machine: Machine,
}

/// What was built. Two sweeps of different tools are not one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Tool {
    pub(crate) version: String,
    /// Of the checkout that was built, with `-dirty` if files had been changed. Null if it was none.
    pub(crate) commit: Option<String>,
    pub(crate) profile: String,
    pub(crate) rustc: String,
    /// Of this program's file, which stands for all that it is made of.
    pub(crate) sha256: Option<String>,
    /// Pristine crates, with the checksums of their archives.
    pub(crate) upstream: Vec<Upstream>,
}

/// A pristine crate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Upstream {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) sha256: String,
}

/// Where it ran. Null is what could not be found out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Machine {
    pub(crate) kernel: Option<String>,
    pub(crate) cpu: Option<String>,
    pub(crate) cores: Option<usize>,
    pub(crate) memory_kib: Option<u64>,
    pub(crate) clock_source: Option<String>,
    pub(crate) governor: Option<String>,
}

impl Tool {
    /// This program.
    pub(crate) fn this() -> Tool {
        let upstream =
            serde_json::from_str(include_str!(concat!(env!("OUT_DIR"), "/upstream.json")));
        Tool {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            commit: option_env!("BENCHMARK_COMMIT").map(str::to_owned),
            profile: if cfg!(debug_assertions) {
                "debug"
            } else {
                "release"
            }
            .to_owned(),
            rustc: env!("BENCHMARK_RUSTC").to_owned(),
            sha256: fs::read("/proc/self/exe")
                .ok()
                .map(|program| format!("{:x}", Sha256::digest(program))),
            upstream: upstream.expect("the build script wrote it"),
        }
    }
}

impl Machine {
    /// This machine.
    pub(crate) fn this() -> Machine {
        let line = |path: &str| {
            fs::read_to_string(path)
                .ok()
                .map(|text| text.trim().to_owned())
        };
        let field = |path: &str, name: &str| {
            let text = fs::read_to_string(path).ok()?;
            let line = text.lines().find(|line| line.starts_with(name))?;
            Some(line.split_once(':')?.1.trim().to_owned())
        };
        Machine {
            kernel: line("/proc/sys/kernel/osrelease"),
            cpu: field("/proc/cpuinfo", "model name"),
            cores: std::thread::available_parallelism().ok().map(usize::from),
            memory_kib: field("/proc/meminfo", "MemTotal")
                .and_then(|text| text.split(' ').next()?.parse().ok()),
            clock_source: line("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
            governor: line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        }
    }
}

impl Machine {
    /// What makes measurements of the two incomparable, in words.
    fn difference(&self, other: &Machine) -> Option<String> {
        let fields = [
            ("kernel", &self.kernel, &other.kernel),
            ("CPU", &self.cpu, &other.cpu),
            ("clock source", &self.clock_source, &other.clock_source),
        ];
        let (name, then, now) = fields.into_iter().find(|(_, then, now)| then != now)?;
        let text = |value: &Option<String>| value.clone().unwrap_or_else(|| "unknown".to_owned());
        Some(format!(
            "the {name} was {}, and is {}",
            text(then),
            text(now)
        ))
    }
}

impl Manifest {
    /// Of a sweep that begins now.
    pub(crate) fn new(config: SweepConfig) -> Manifest {
        Manifest {
            schema: SCHEMA,
            command: std::env::args_os()
                .map(|word| word.to_string_lossy().into_owned())
                .collect(),
            created_unix_s: unix_s(),
            config,
            tool: Tool::this(),
            machine: Machine::this(),
        }
    }

    /// Writes it as the file `name` and, beside it, the lines that were inserted into the pristine crates.
    pub(crate) fn write(&self, dir: &Path, name: &str) -> Result<()> {
        let text = serde_json::to_string_pretty(self)? + "\n";
        write_whole(
            &dir.join(EDITS),
            include_str!(concat!(env!("OUT_DIR"), "/edits.diff")),
        )?;
        write_whole(&dir.join(name), &text)
    }

    /// Reads the file `name` of an interrupted sweep, which only the same tool may go on with.
    pub(crate) fn resume(dir: &Path, name: &str) -> Result<Manifest, Failure> {
        let read = || -> Result<Manifest> {
            let path = dir.join(name);
            let text = fs::read_to_string(&path)
                .with_context(|| format!("cannot read {}", path.display()))?;
            let schema: SchemaOnly = serde_json::from_str(&text)
                .with_context(|| format!("{} is no manifest", path.display()))?;
            if schema.schema != SCHEMA {
                bail!(
                    "{} has schema {}, and this is {SCHEMA}",
                    path.display(),
                    schema.schema
                );
            }
            let manifest: Manifest = serde_json::from_str(&text)
                .with_context(|| format!("{} is no manifest", path.display()))?;
            if let Some(missing) = manifest.config.node.missing() {
                bail!(missing);
            }
            let this = Tool::this();
            if manifest.tool != this {
                bail!(
                    "{}: that sweep was made by another build ({} {}, {}), whose cells this one's are not to be mixed with",
                    dir.display(),
                    manifest.tool.version,
                    manifest.tool.profile,
                    manifest.tool.rustc
                );
            }
            if let Some(difference) = manifest.machine.difference(&Machine::this()) {
                bail!(
                    "{}: that sweep was made on another machine: {difference}",
                    dir.display()
                );
            }
            Ok(manifest)
        };
        read().map_err(|error| bad_input(error.context("--resume")))
    }
}

#[derive(Deserialize)]
struct SchemaOnly {
    schema: u32,
}

/// A name for a folder, from a time: `2026-11-20T15-04-05Z`.
pub(crate) fn utc_name(time: SystemTime) -> String {
    humantime::format_rfc3339_seconds(time)
        .to_string()
        .replace(':', "-")
}
