//! Writes the folder of a report. It appears as a whole, and replaces nothing but an older report.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use program::{Failure, print_line, reject};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::new_folder::{self, NewFile, RECORD};
use crate::options::Options;
use crate::page::{self, Page};
use crate::report::markdown::CHARTS;
use crate::report::terminal;
use crate::summary::{CsvTable, table};
use crate::views::ReportPicture;

pub(crate) const TEXT: &str = "report.md";

pub(crate) struct Content {
    /// The lines that are printed on the terminal, as Markdown.
    pub(crate) on_terminal: Vec<String>,
    pub(crate) table: CsvTable,
    pub(crate) pictures: Vec<ReportPicture>,
    pub(crate) text: String,
    pub(crate) page: Option<Page>,
    /// The files beside the tables, the pictures, the text and the page.
    pub(crate) files: Vec<NewFile>,
    pub(crate) record: ReportRecord,
}

/// Writes a report into its own folder as a whole, then prints its verdict and its path.
pub(crate) fn write(out: &Path, content: Content) -> Result<(), Failure> {
    let is_empty = || fs::read_dir(out).is_ok_and(|mut entries| entries.next().is_none());
    if out.exists() && !out.join(RECORD).is_file() && !is_empty() {
        reject!(
            "--out {}: this path exists and is not a report; choose a new folder",
            out.display()
        );
    }
    let parent = new_folder::parent(out);
    fs::create_dir_all(parent).with_context(|| format!("cannot create {}", parent.display()))?;
    new_folder::write(out, ".report-", |partial| fill(partial, &content))?;
    terminal::print(&content.on_terminal);
    print_line(out.join(TEXT).display());
    Ok(())
}

pub(crate) fn fill(dir: &Path, content: &Content) -> Result<()> {
    let write = |name: &str, content: &[u8]| {
        let path = dir.join(name);
        let folder = path.parent().unwrap_or(dir);
        let written = fs::create_dir_all(folder).and_then(|()| fs::write(&path, content));
        written.with_context(|| format!("cannot write {}", path.display()))
    };
    write(table::FILE, &content.table.text)?;
    fs::create_dir(dir.join(CHARTS)).with_context(|| dir.display().to_string())?;
    let draw = |drawn: &ReportPicture| {
        let svg = drawn.picture.svg();
        let mut files = drawn.formats.iter().zip(drawn.files());
        files.try_for_each(|(format, name)| {
            write(&format!("{CHARTS}/{name}"), &format.encoded(&svg)?)
        })
    };
    content.pictures.par_iter().try_for_each(draw)?;
    for file in &content.files {
        write(&file.name, &file.content)?;
    }
    write(TEXT, content.text.as_bytes())?;
    if let Some(page) = &content.page {
        write(page::FILE, page.html().as_bytes())?;
    }
    let record = serde_json::to_string_pretty(&content.record)? + "\n";
    write(RECORD, record.as_bytes())
}

const SCHEMA: u32 = 2;

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ReportRecord {
    pub(crate) schema: u32,
    /// The verb that made the report: `report` or `compare`. For a run of `rr` and a soak it is `rr` and `soak`.
    pub(crate) verb: String,
    /// The names of the folders that were read.
    #[serde(rename = "of")]
    pub(crate) inputs: Vec<String>,
    pub(crate) analysis: String,
    pub(crate) options: Options,
}

impl ReportRecord {
    pub(crate) fn new(
        verb: &str,
        inputs: impl IntoIterator<Item: ToString>,
        options: &Options,
    ) -> Self {
        ReportRecord {
            schema: SCHEMA,
            verb: verb.to_owned(),
            inputs: inputs.into_iter().map(|name| name.to_string()).collect(),
            analysis: env!("CARGO_PKG_VERSION").to_owned(),
            options: options.clone(),
        }
    }

    /// Refuses a report of another version, which may have computed figures differently.
    pub(crate) fn check_version(&self, dir: &Path) -> Result<()> {
        let (schema, analysis) = (self.schema, &self.analysis);
        let (now, path) = (env!("CARGO_PKG_VERSION"), dir.join(RECORD));
        ensure!(
            (schema, &**analysis) == (SCHEMA, now),
            "{}: analysis {analysis} wrote it with schema {schema}, but this is {now} with schema {SCHEMA}",
            path.display()
        );
        Ok(())
    }
}
