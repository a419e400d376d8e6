//! `verify`: makes the report again from what was measured, and compares.

mod folder;

use std::path::Path;

use anyhow::anyhow;
use program::{Failure, bad_input, print};
use run_format::files::read;

use super::report::make;
use crate::{
    explain::files::{self, File},
    load::{FolderOf, Sweep},
    page,
    report::{
        comment::COMMENT,
        folder::{CHARTS, Content, RECORD, ReportRecord, TEXT},
    },
    summary::{predicted, table},
};

pub(crate) fn run(run: &Path, report: Option<&Path>) -> Result<(), Failure> {
    let dir = report.map_or_else(|| run.join("report"), Path::to_path_buf);
    if FolderOf::find(run) != FolderOf::Search {
        Sweep::open(run)?;
    }
    let record = ReportRecord::read(&dir).map_err(bad_input)?;
    if record.verb != "report" {
        return Err(bad_input(anyhow!(
            "{}: a report of `{}`; only those of `report` can be made again from one run",
            dir.display(),
            record.verb
        )));
    }
    record.check_version(&dir)?;
    let name = record.of.first().map(String::as_str);
    let made = make(run, name, &record.options)?;
    let Content {
        mut table,
        predicted,
        pictures,
        explained,
        text,
        comment,
        page,
        record: made_record,
    } = made.content;
    same_lines(&table::text(&mut table)?, &dir.join(table::FILE))?;
    same_bytes(&table::parquet(&mut table)?, &dir.join(table::PARQUET))?;
    if let Some(mut predicted) = predicted {
        same_lines(&table::text(&mut predicted)?, &dir.join(predicted::FILE))?;
    }
    for (name, text) in [
        (TEXT, text),
        (COMMENT, comment.unwrap_or_default()),
        (RECORD, made_record.text()?),
    ] {
        same_lines(text.as_bytes(), &dir.join(name))?;
    }
    if let Some(page) = &page {
        same_bytes(page.html().as_bytes(), &dir.join(page::FILE))?;
    }
    folder::same_pictures(&pictures, &dir.join(CHARTS))?;
    same_files(&explained, &dir.join(files::FOLDER))?;
    folder::nothing_else(&dir, page.is_some(), &pictures, &explained)?;
    folder::only_its_files(run)?;
    print(format!(
        "{}: {} figures, the text and {} pictures{} agree with {}",
        dir.display(),
        table.height(),
        pictures.len(),
        if explained.is_empty() {
            String::new()
        } else {
            format!(" and {} files of `explain`", explained.len())
        },
        run.display()
    ));
    Ok(())
}

/// The content of a file of the report.
fn stored(path: &Path) -> Result<Vec<u8>, Failure> {
    read(path).map_err(bad_input)
}

/// Names the first line that differs.
fn same_lines(made: &[u8], path: &Path) -> Result<(), Failure> {
    let found = stored(path)?;
    let [was, is] = [&found[..], made].map(String::from_utf8_lossy);
    let mut lines = (1..).zip(was.lines().zip(is.lines()));
    if let Some((line, (was, is))) = lines.find(|(_, (was, is))| was != is) {
        let path = path.display();
        return Err(differs(format!(
            "{path}: line {line}: {was:?}, but the run gives {is:?}"
        )));
    }
    same_bytes(made, path)
}

/// A report that differs is no wrong input: the exit code is 1.
fn differs(how: String) -> Failure {
    anyhow!(how).into()
}

/// The same evidence gives the same bytes on every machine.
fn same_files(made: &[File], dir: &Path) -> Result<(), Failure> {
    made.iter()
        .try_for_each(|file| same_bytes(&file.content, &dir.join(&file.name)))
}

fn same_bytes(made: &[u8], path: &Path) -> Result<(), Failure> {
    if present(path)? == made {
        return Ok(());
    }
    let path = path.display();
    Err(differs(format!("{path}: it is not what the run gives")))
}

/// A file without which the report is not whole.
fn present(path: &Path) -> Result<Vec<u8>, Failure> {
    if !path.exists() {
        return Err(differs(format!("{} is missing", path.display())));
    }
    stored(path)
}
