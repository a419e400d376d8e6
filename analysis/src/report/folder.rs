//! The folder of a report: appears whole, and takes the place of an older report but of nothing else.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, anyhow};
use polars::prelude::DataFrame;
use serde::{Deserialize, Serialize};

use crate::{
    explain::files::{self, File},
    failure::{Failure, bad_input},
    options::Options,
    summary::table,
    views::{self, Entry},
};

/// Says what a report is of, so that it can be verified; and that a folder is a report.
pub(crate) const RECORD: &str = "report.json";

/// The report itself.
pub(crate) const TEXT: &str = "report.md";

/// Where pictures are.
pub(crate) const CHARTS: &str = "charts";

/// What [`RECORD`] holds.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Record {
    pub(crate) schema: u32,
    /// `report`, `compare` or `published`; `rr` or `soak` of a report of one.
    pub(crate) verb: String,
    /// The names of what was read.
    pub(crate) of: Vec<String>,
    pub(crate) analysis: String,
    pub(crate) options: Options,
}

impl Record {
    pub(crate) const SCHEMA: u32 = 1;

    pub(crate) fn new(verb: &str, of: Vec<String>, options: &Options) -> Record {
        Record {
            schema: Record::SCHEMA,
            verb: verb.to_owned(),
            of,
            analysis: env!("CARGO_PKG_VERSION").to_owned(),
            options: options.clone(),
        }
    }

    pub(crate) fn read(dir: &Path) -> Result<Record> {
        let path = dir.join(RECORD);
        let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        serde_json::from_str(&text).with_context(|| path.display().to_string())
    }
}

/// What a report is made of.
pub(crate) struct Content {
    pub(crate) table: DataFrame,
    pub(crate) pictures: Vec<Entry>,
    /// Of the cells that were explained, if any were.
    pub(crate) explained: Vec<File>,
    pub(crate) text: String,
    pub(crate) record: Record,
}

/// Writes a report into a folder of its own; then says what it says in short, and where it is.
pub(crate) fn write(out: &Path, content: Content, in_short: &[String]) -> Result<(), Failure> {
    Folder::begin(out)?.finish(content)?;
    for sentence in in_short.iter().filter(|sentence| !sentence.is_empty()) {
        println!("{sentence}");
    }
    println!("{}", out.join(TEXT).display());
    Ok(())
}

/// A report in the making. Until it is finished nothing of it is in its place.
struct Folder {
    out: PathBuf,
    partial: tempfile::TempDir,
}

impl Folder {
    /// Refuses a folder that is there and is no report.
    fn begin(out: &Path) -> Result<Folder, Failure> {
        if out.exists() && !out.join(RECORD).is_file() {
            let is_empty = fs::read_dir(out).is_ok_and(|mut entries| entries.next().is_none());
            if !is_empty {
                return Err(bad_input(anyhow!(
                    "--out {}: it is there already and is no report; give a new folder",
                    out.display()
                )));
            }
        }
        let parent = match out.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        fs::create_dir_all(parent)
            .with_context(|| format!("cannot create {}", parent.display()))?;
        let partial = tempfile::Builder::new()
            .prefix(".report-")
            .tempdir_in(parent)
            .with_context(|| format!("cannot write in {}", parent.display()))?;
        fs::create_dir(partial.path().join(CHARTS)).context("cannot create the charts' folder")?;
        Ok(Folder {
            out: out.to_owned(),
            partial,
        })
    }

    fn dir(&self) -> &Path {
        self.partial.path()
    }

    /// Writes all of it, and puts it in its place.
    fn finish(self, content: Content) -> Result<()> {
        let Content {
            mut table,
            pictures,
            explained,
            text,
            record,
        } = content;
        table::write(&mut table, self.dir())?;
        views::write(&pictures, &self.dir().join(CHARTS))?;
        let write = |name: &Path, content: &[u8]| {
            let path = self.dir().join(name);
            fs::write(&path, content).with_context(|| path.display().to_string())
        };
        if !explained.is_empty() {
            fs::create_dir(self.dir().join(files::FOLDER))
                .context("cannot create the folder of what is explained")?;
        }
        for file in &explained {
            write(&Path::new(files::FOLDER).join(&file.name), &file.content)?;
        }
        write(Path::new(TEXT), text.as_bytes())?;
        let record = serde_json::to_string_pretty(&record)? + "\n";
        write(Path::new(RECORD), record.as_bytes())?;
        if self.out.exists() {
            fs::remove_dir_all(&self.out)
                .with_context(|| format!("cannot replace {}", self.out.display()))?;
        }
        let partial = self.partial.keep();
        make_readable(&partial)?;
        fs::rename(&partial, &self.out)
            .with_context(|| format!("cannot write {}", self.out.display()))
    }
}

/// A temporary folder is its owner's alone; a report is not.
fn make_readable(dir: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    const READABLE: u32 = 0o755;
    fs::set_permissions(dir, fs::Permissions::from_mode(READABLE))
        .with_context(|| dir.display().to_string())
}
