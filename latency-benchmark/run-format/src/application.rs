//! The files of an application that compares budgets in itself. Its tables have the same form as those of a sweep.

use std::path::Path;

use anyhow::Result;
use serde::{Deserialize, Serialize};

use crate::checksums::{Checksums, checksums_of_folder, sealed};
use crate::files::{RUN, write_whole};
use crate::plausible::{ANY, COUNT, MS, UNIX_S, WHAT_THE_TYPE_ALLOWS, length, plausible};
use crate::{Machine, RuntimeConfig, VariantConfig};

/// `application.json`, written before the first turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ApplicationFile {
    pub schema: u32,
    pub program: String,
    /// The version of `node-ab`.
    pub version: String,
    pub debug_assertions: bool,
    pub created_unix_s: u64,
    pub machine: Machine,
    pub runtime: RuntimeConfig,
    pub variants: Vec<VariantConfig>,
    pub turn_ms: u64,
    #[serde(rename = "washout_ms")]
    pub settle_ms: u64,
    pub limit_ms: u64,
    pub timer_limit_ms: u64,
    pub seed: u64,
}

plausible! { ApplicationFile;
    schema program version debug_assertions machine runtime variants: WHAT_THE_TYPE_ALLOWS;
    created_unix_s: UNIX_S;
    turn_ms: length(MS);
    settle_ms limit_ms timer_limit_ms: MS;
    seed: ANY;
}

/// `run.json` of an application.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ApplicationRun {
    pub schema: u32,
    #[serde(flatten)]
    pub outcome: ApplicationOutcome,
    pub started_unix_s: u64,
    pub took_ms: u64,
    pub blocks: u32,
    pub refused_slices: u32,
    pub lost_records: u64,
    pub files: Checksums,
}

plausible! { ApplicationRun;
    schema outcome blocks refused_slices files: WHAT_THE_TYPE_ALLOWS;
    started_unix_s: UNIX_S;
    took_ms: MS;
    lost_records: COUNT;
}

/// The reason why the comparison ended. After its end, the variant `none` is in force.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "ended", rename_all = "kebab-case")]
pub enum ApplicationOutcome {
    TimeUp,
    /// The application ended the comparison.
    Stopped,
    Guardrail {
        reason: String,
    },
    Failed {
        reason: String,
    },
}

impl From<anyhow::Error> for ApplicationOutcome {
    fn from(error: anyhow::Error) -> ApplicationOutcome {
        let reason = format!("{error:#}");
        ApplicationOutcome::Failed { reason }
    }
}

impl ApplicationRun {
    pub fn write(&self, dir: &Path) -> Result<()> {
        let files = checksums_of_folder(dir)?;
        let run = ApplicationRun {
            files,
            ..self.clone()
        };
        write_whole(&dir.join(RUN), &sealed(&run)?)
    }
}
