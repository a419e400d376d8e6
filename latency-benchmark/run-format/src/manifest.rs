//! `manifest.json`: everything that another person needs to repeat a sweep.

use serde::{Deserialize, Serialize};

use crate::{Site, config::SweepConfig};

/// The whole file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    pub schema: u32,
    pub command: Vec<String>,
    pub created_unix_s: u64,
    pub config: SweepConfig,
    pub tool: Tool,
    pub machine: Machine,
}

/// The programs that measured. Sweeps of different programs are not continued by each other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tool {
    pub version: String,
    /// Of the checkout that was built, with `-dirty` if files had been changed. Null without git.
    pub commit: Option<String>,
    pub profile: String,
    pub rustc: String,
    /// Of the tool's own file.
    pub sha256: Option<String>,
    /// The pristine crates under test, with the checksums of their archives.
    pub upstream: Vec<Upstream>,
    /// The program that was measured. Absent in older files, where the tool itself was.
    #[serde(default)]
    pub node: Option<CompiledNode>,
}

/// A node program, and how it was compiled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompiledNode {
    pub stack: String,
    /// The functions that are recorded, if it says so. Older programs do not, and are of libp2p.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sites: Vec<NamedSite>,
    /// Of its file. The tool adds it.
    #[serde(default)]
    pub sha256: Option<String>,
    /// Cargo's: `release` or `debug`.
    pub profile: String,
    pub opt_level: String,
    pub debug_assertions: bool,
    pub rustflags: String,
    pub target_features: String,
    pub features: Vec<String>,
    pub rustc: String,
}

/// A site of a network stack.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedSite {
    pub site: Site,
    /// The function, as reports name it.
    pub function: String,
    /// How the function's name ends in stacks.
    pub symbol: String,
}

/// A pristine crate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Upstream {
    pub name: String,
    pub version: String,
    pub sha256: String,
}

/// The machine. Null is what could not be found out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// Its name, or that of the cluster's node. Absent in older files.
    #[serde(default)]
    pub host: Option<String>,
    pub kernel: Option<String>,
    pub cpu: Option<String>,
    pub cores: Option<usize>,
    pub memory_kib: Option<u64>,
    pub clock_source: Option<String>,
    pub governor: Option<String>,
}
