//! The folder of a report. It appears as a whole, and replaces nothing but an older report.

use std::{fs, path::Path};

use anyhow::{Context, Result, bail};
use program::{Failure, print, reject};
use run_format::files::read_json;
use serde::{Deserialize, Serialize};

pub(crate) use crate::explain::files::File;
use crate::{
    new_folder::{self, RECORD},
    options::Options,
    page::{self, Page},
    report::markdown::MOST_SENTENCES,
    summary::table::Tables,
    views::{self, Entry},
};

/// The report itself.
pub(crate) const TEXT: &str = "report.md";

/// The folder of the pictures.
pub(crate) const CHARTS: &str = "charts";

/// The version of [`RECORD`].
const SCHEMA: u32 = 2;

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
    /// The verdict, to be printed.
    pub(crate) in_short: Vec<String>,
    pub(crate) tables: Tables,
    pub(crate) pictures: Vec<Entry>,
    pub(crate) text: String,
    /// To explore, if there is one.
    pub(crate) page: Option<Page>,
    /// All else.
    pub(crate) files: Vec<File>,
    pub(crate) record: ReportRecord,
}

/// Writes a report into its own folder, then prints its verdict and its path. The report is complete before it
/// gets its place.
pub(crate) fn write(out: &Path, content: Content) -> Result<(), Failure> {
    if out.exists() && !out.join(RECORD).is_file() {
        let is_empty = fs::read_dir(out).is_ok_and(|mut entries| entries.next().is_none());
        if !is_empty {
            reject!(
                "--out {}: this path exists and is not a report; choose a new folder",
                out.display()
            );
        }
    }
    let parent = out.parent().filter(|parent| !parent.as_os_str().is_empty());
    let parent = parent.unwrap_or(Path::new("."));
    fs::create_dir_all(parent).with_context(|| format!("cannot create {}", parent.display()))?;
    new_folder::write(out, ".report-", |partial| fill(partial, &content))?;
    content.in_short.iter().take(MOST_SENTENCES).for_each(print);
    print(out.join(TEXT).display());
    Ok(())
}

/// Writes all files of a report.
pub(crate) fn fill(dir: &Path, content: &Content) -> Result<()> {
    let write = |name: &str, content: &[u8]| {
        let path = dir.join(name);
        let folder = path.parent().unwrap_or(dir);
        let written = fs::create_dir_all(folder).and_then(|()| fs::write(&path, content));
        written.with_context(|| format!("cannot write {}", path.display()))
    };
    content.tables.write(dir)?;
    fs::create_dir(dir.join(CHARTS)).with_context(|| dir.display().to_string())?;
    views::write(&content.pictures, &dir.join(CHARTS))?;
    for file in &content.files {
        write(&file.name, &file.content)?;
    }
    write(TEXT, content.text.as_bytes())?;
    if let Some(page) = &content.page {
        write(page::FILE, page.html().as_bytes())?;
    }
    write(RECORD, content.record.text()?.as_bytes())
}
