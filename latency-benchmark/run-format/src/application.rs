//! The files of an application that compares budgets in itself. Its tables have the same form as those of a sweep.

use std::path::Path;

use anyhow::Result;
use serde::{Deserialize, Serialize};

use crate::checksums::{Checksums, of_folder, sealed};
use crate::files::{RUN, write_whole};
use crate::limits::{ANY, BY_TYPE, COUNT, MS, UNIX_S, length, limits};
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
    pub washout_ms: u64,
    pub limit_ms: u64,
    pub timer_limit_ms: u64,
    pub seed: u64,
}

limits! { ApplicationFile;
    schema program version debug_assertions machine runtime variants: BY_TYPE;
    created_unix_s: UNIX_S;
    turn_ms: length(MS);
    washout_ms limit_ms timer_limit_ms: MS;
    seed: ANY;
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

limits! { ApplicationRun;
    schema ended blocks refused_slices files: BY_TYPE;
    started_unix_s: UNIX_S;
    took_ms: MS;
    lost_records: COUNT;
}

/// The reason why the comparison ended. After its end, the variant `none` is in force.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "ended", rename_all = "kebab-case")]
pub enum Ended {
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
