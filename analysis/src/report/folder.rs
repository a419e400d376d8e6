//! The folder of a report. It appears as a whole, and replaces nothing but an older report.

use std::{fs, os::unix::fs::PermissionsExt, path::Path};

use anyhow::{Context, Result, anyhow, bail};
use polars_core::prelude::DataFrame;
use program::{Failure, bad_input, print};
use run_format::files::read_json;
use serde::{Deserialize, Serialize};

use crate::{
    explain::files::{self, File},
    options::Options,
    page::{self, Page},
    report::comment::COMMENT,
    summary::{predicted, table},
    views::{self, Entry},
};

/// The file that marks a folder as a report, and from which the report can be verified.
pub(crate) const RECORD: &str = "report.json";

/// The report itself.
pub(crate) const TEXT: &str = "report.md";

/// The folder of the pictures.
pub(crate) const CHARTS: &str = "charts";

/// The version of [`RECORD`].
const SCHEMA: u32 = 1;

/// The content of [`RECORD`].
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ReportRecord {
    pub(crate) schema: u32,
    /// `report`, `compare` or `published`; for the report of an `rr` run or a soak: `rr` or `soak`.
    pub(crate) verb: String,
    /// The names of the inputs.
    pub(crate) of: Vec<String>,
    pub(crate) analysis: String,
    pub(crate) options: Options,
    /// The name of the page to explore, if there is one.
    #[serde(default)]
    pub(crate) page: Option<String>,
}

impl ReportRecord {
    pub(crate) fn new(verb: &str, of: Vec<String>, options: &Options) -> ReportRecord {
        ReportRecord {
            schema: SCHEMA,
            verb: verb.to_owned(),
            of,
            analysis: env!("CARGO_PKG_VERSION").to_owned(),
            options: options.clone(),
            page: None,
        }
    }

    /// Of a report with a page.
    pub(crate) fn with_page(self) -> ReportRecord {
        ReportRecord {
            page: Some(page::FILE.to_owned()),
            ..self
        }
    }

    /// Refuses a report of another version, which may compute otherwise.
    pub(crate) fn check_version(&self, dir: &Path) -> Result<()> {
        let now = (SCHEMA, env!("CARGO_PKG_VERSION"));
        if (self.schema, &*self.analysis) != now {
            bail!(
                "{}: analysis {} wrote it with schema {}, but this is {} with schema {}",
                dir.join(RECORD).display(),
                self.analysis,
                self.schema,
                now.1,
                now.0
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

/// What a report is made of.
pub(crate) struct Content {
    pub(crate) table: DataFrame,
    /// What bounds would have done, if it may have been recorded.
    pub(crate) predicted: Option<DataFrame>,
    pub(crate) pictures: Vec<Entry>,
    /// Files about the explained cells, if there are any.
    pub(crate) explained: Vec<File>,
    pub(crate) text: String,
    /// For an issue, if the report has a verdict.
    pub(crate) comment: Option<String>,
    /// To explore, if the record has one.
    pub(crate) page: Option<Page>,
    pub(crate) record: ReportRecord,
}

/// Writes a report into its own folder, then prints its verdict and its path. The report is complete before it
/// gets its place.
pub(crate) fn write(out: &Path, content: Content, in_short: &[String]) -> Result<(), Failure> {
    if out.exists() && !out.join(RECORD).is_file() {
        let is_empty = fs::read_dir(out).is_ok_and(|mut entries| entries.next().is_none());
        if !is_empty {
            return Err(bad_input(anyhow!(
                "--out {}: this path exists and is not a report; choose a new folder",
                out.display()
            )));
        }
    }
    let parent = out.parent().filter(|parent| !parent.as_os_str().is_empty());
    let parent = parent.unwrap_or(Path::new("."));
    fs::create_dir_all(parent).with_context(|| format!("cannot create {}", parent.display()))?;
    let partial = tempfile::Builder::new()
        .prefix(".report-")
        .tempdir_in(parent)
        .with_context(|| format!("cannot write in {}", parent.display()))?;
    fill(partial.path(), content)?;
    if out.exists() {
        fs::remove_dir_all(out).with_context(|| format!("cannot replace {}", out.display()))?;
    }
    let partial = partial.keep();
    // Only its owner can read a temporary folder.
    fs::set_permissions(&partial, fs::Permissions::from_mode(0o755))
        .with_context(|| partial.display().to_string())?;
    fs::rename(&partial, out).with_context(|| format!("cannot write {}", out.display()))?;
    for sentence in in_short {
        print(sentence);
    }
    print(out.join(TEXT).display());
    Ok(())
}

fn fill(dir: &Path, mut content: Content) -> Result<()> {
    let folder = |name: &str| {
        let path = dir.join(name);
        fs::create_dir(&path).with_context(|| format!("cannot create {}", path.display()))
    };
    let write = |name: &Path, content: &[u8]| {
        let path = dir.join(name);
        fs::write(&path, content).with_context(|| path.display().to_string())
    };
    folder(CHARTS)?;
    table::write(&mut content.table, dir)?;
    if let Some(predicted) = &mut content.predicted {
        write(Path::new(predicted::FILE), &table::text(predicted)?)?;
    }
    views::write(&content.pictures, &dir.join(CHARTS))?;
    if !content.explained.is_empty() {
        folder(files::FOLDER)?;
    }
    for file in &content.explained {
        write(&Path::new(files::FOLDER).join(&file.name), &file.content)?;
    }
    write(Path::new(TEXT), content.text.as_bytes())?;
    if let Some(comment) = &content.comment {
        write(Path::new(COMMENT), comment.as_bytes())?;
    }
    if let Some(page) = &content.page {
        write(Path::new(page::FILE), page.html().as_bytes())?;
    }
    write(Path::new(RECORD), content.record.text()?.as_bytes())
}
