//! What an application writes that compares budgets in itself. Its tables are those of every run.

use std::path::Path;

use anyhow::Result;
use serde::{Deserialize, Serialize};

use crate::checksums::{Checksums, of_folder, sealed};
use crate::files::{RUN, write_whole};
use crate::{Machine, RuntimeConfig, VariantConfig};

/// `application.json`, written before the first turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ApplicationFile {
    pub schema: u32,
    pub program: String,
    /// Of `node-ab`.
    pub version: String,
    pub debug_assertions: bool,
    pub created_unix_s: u64,
    pub machine: Machine,
    pub runtime: RuntimeConfig,
    pub variants: Vec<VariantConfig>,
    pub turn_ms: u64,
    pub washout_ms: u64,
    pub limit_ms: u64,
    pub timer_limit_ms: u64,
    pub seed: u64,
}

/// `run.json` of an application.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ApplicationRun {
    pub schema: u32,
    #[serde(flatten)]
    pub ended: Ended,
    pub started_unix_s: u64,
    pub took_ms: u64,
    pub blocks: u32,
    pub refused_slices: u32,
    pub lost_records: u64,
    pub files: Checksums,
}

/// Why budgets take turns no more. The variant `none` is in force since.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "ended", rename_all = "kebab-case")]
pub enum Ended {
    TimeUp,
    /// The application ended it.
    Stopped,
    Guardrail {
        reason: String,
    },
    Failed {
        reason: String,
    },
}

impl From<anyhow::Error> for Ended {
    fn from(error: anyhow::Error) -> Ended {
        let reason = format!("{error:#}");
        Ended::Failed { reason }
    }
}

impl ApplicationRun {
    pub fn write(&self, dir: &Path) -> Result<()> {
        let files = of_folder(dir)?;
        let run = ApplicationRun {
            files,
            ..self.clone()
        };
        write_whole(&dir.join(RUN), &sealed(&run)?)
    }
}
