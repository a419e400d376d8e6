//! The file that says what a report was made of.

use std::path::Path;

use anyhow::{Result, bail};
use run_format::files::read_json;
use serde::{Deserialize, Serialize};

use crate::options::Options;

/// The file that marks a folder as a report, and from which the report can be verified.
pub(crate) const RECORD: &str = "report.json";

/// The version of [`RECORD`].
const SCHEMA: u32 = 2;

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ReportRecord {
    pub(crate) schema: u32,
    /// `report`, `compare` or `published`; for the report of an `rr` run or a soak: `rr` or `soak`.
    pub(crate) verb: String,
    pub(crate) of: Vec<String>,
    pub(crate) analysis: String,
    pub(crate) options: Options,
}

impl ReportRecord {
    pub(crate) fn new(verb: &str, of: Vec<String>, options: &Options) -> ReportRecord {
        ReportRecord {
            schema: SCHEMA,
            verb: verb.to_owned(),
            of,
            analysis: env!("CARGO_PKG_VERSION").to_owned(),
            options: options.clone(),
        }
    }

    /// Refuses a report of another version, which may compute otherwise.
    pub(crate) fn check_version(&self, dir: &Path) -> Result<()> {
        let (schema, analysis) = (self.schema, &self.analysis);
        let now = env!("CARGO_PKG_VERSION");
        if (schema, &**analysis) != (SCHEMA, now) {
            let path = dir.join(RECORD);
            let path = path.display();
            bail!(
                "{path}: analysis {analysis} wrote it with schema {schema}, but this is {now} with schema {SCHEMA}"
            );
        }
        Ok(())
    }

    pub(crate) fn text(&self) -> Result<String> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }

    pub(crate) fn read(dir: &Path) -> Result<ReportRecord> {
        read_json(&dir.join(RECORD))
    }
}
