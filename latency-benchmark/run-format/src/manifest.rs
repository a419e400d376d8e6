//! `manifest.json`: everything that another person needs to repeat a sweep.

use serde::{Deserialize, Serialize};

use crate::Site;
use crate::config::SweepConfig;

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
    pub commit: Option<String>,
    pub profile: String,
    pub rustc: String,
    pub sha256: Option<String>,
    pub upstream: Vec<Upstream>,
    /// Absent in older files, where the tool itself was measured.
    #[serde(default)]
    pub node: Option<CompiledNode>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompiledNode {
    pub stack: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sites: Vec<NamedSite>,
    #[serde(default)]
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
    #[serde(default)]
    pub host: Option<String>,
    pub kernel: Option<String>,
    pub cpu: Option<String>,
    pub cores: Option<usize>,
    pub memory_kib: Option<u64>,
    pub clock_source: Option<String>,
    pub governor: Option<String>,
}
