//! `verify`: makes the report again from what was measured, and compares.

mod folder;

use std::path::Path;

use anyhow::anyhow;
use csv::StringRecord;
use polars_core::prelude::DataFrame;
use program::{Failure, bad_input, print};
use run_format::files::read;

use crate::{
    explain::{
        Explanation,
        files::{self, File},
    },
    load::Sweep,
    report::{
        self, disturbed,
        folder::{CHARTS, ReportRecord, TEXT},
    },
    summary::{Summary, table},
    verdict::Verdict,
    views::Scene,
};

pub(crate) fn run(run: &Path, report: Option<&Path>) -> Result<(), Failure> {
    let dir = report.map_or_else(|| run.join("report"), Path::to_path_buf);
    let sweep = Sweep::open(run)?;
    let record = ReportRecord::read(&dir).map_err(bad_input)?;
    if record.verb != "report" {
        return Err(bad_input(anyhow!(
            "{}: a report of `{}`; only those of `report` can be made again from one run",
            dir.display(),
            record.verb
        )));
    }
    record.check_version(&dir)?;
    let options = &record.options;
    let mut summary = Summary::of(&sweep, options)?;
    // The folder may have been moved since.
    if let Some(name) = record.of.first() {
        summary.identity.name.clone_from(name);
    }
    let verdict = Verdict::of(&summary, options);
    let with_all = disturbed::verdict_with_all(&sweep, &summary, options)?;
    let explanation = Explanation::of(&sweep, options)?;
    let entries = Scene::new(&summary, &verdict, options).entries();

    let mut frame = table::table(&summary, &options.sites())?;
    same_table(&mut frame, &dir.join(table::FILE))?;
    same_parquet(&mut frame, &dir.join(table::PARQUET))?;
    let path = dir.join(TEXT);
    let text = report::text(
        &summary,
        (&verdict, with_all.as_ref()),
        &entries,
        explanation.as_ref(),
        options,
    );
    same_text(&String::from_utf8_lossy(&stored(&path)?), &text, &path)?;
    folder::same_pictures(&entries, &dir.join(CHARTS))?;
    let explained = explanation.map(|it| files::of(&it, options)).transpose()?;
    let explained = explained.unwrap_or_default();
    same_files(&explained, &dir.join(files::FOLDER))?;
    folder::nothing_else(&dir, &entries, &explained)?;
    folder::only_its_files(run)?;
    print(format!(
        "{}: {} figures, the text and {} pictures{} agree with {}",
        dir.display(),
        frame.height(),
        entries.len(),
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

/// Compares the figures one by one, to name the first that differs.
fn same_table(frame: &mut DataFrame, path: &Path) -> Result<(), Failure> {
    let (stored, made) = (stored(path)?, table::text(frame)?);
    let rows = |text: &[u8]| -> Result<Vec<StringRecord>, csv::Error> {
        let reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .from_reader(text)
            .into_records();
        reader.collect()
    };
    let (stored, made) = (rows(&stored)?, rows(&made)?);
    for (at, (was, is)) in stored.iter().zip(&made).enumerate() {
        let mut fields = made[0].iter().zip(was.iter().zip(is));
        if let Some((name, (was, is))) = fields.find(|(_, (was, is))| was != is) {
            return Err(differs(format!(
                "{}: line {}: {name} is {was}, but the run gives {is}",
                path.display(),
                at + 1
            )));
        }
    }
    if stored != made {
        return Err(differs(format!(
            "{}: {} rows, but the run gives {}",
            path.display(),
            stored.len().saturating_sub(1),
            made.len().saturating_sub(1)
        )));
    }
    Ok(())
}

fn same_parquet(made: &mut DataFrame, path: &Path) -> Result<(), Failure> {
    if stored(path)? != table::parquet(made)? {
        return Err(differs(format!(
            "{}: it is not what the run gives",
            path.display()
        )));
    }
    Ok(())
}

/// A report that differs is no wrong input: the exit code is 1.
fn differs(how: String) -> Failure {
    anyhow!(how).into()
}

fn same_text(stored: &str, made: &str, path: &Path) -> Result<(), Failure> {
    for (at, (stored, made)) in stored.lines().zip(made.lines()).enumerate() {
        if stored != made {
            return Err(differs(format!(
                "{}: line {}: {stored:?}, but the run gives {made:?}",
                path.display(),
                at + 1
            )));
        }
    }
    if stored.lines().count() != made.lines().count() {
        return Err(differs(format!(
            "{}: {} lines, but the run gives {}",
            path.display(),
            stored.lines().count(),
            made.lines().count()
        )));
    }
    Ok(())
}

/// The same evidence gives the same bytes on every machine.
fn same_files(made: &[File], dir: &Path) -> Result<(), Failure> {
    for file in made {
        let path = dir.join(&file.name);
        if present(&path)? != file.content {
            return Err(differs(format!(
                "{}: it is not what the run gives",
                path.display()
            )));
        }
    }
    Ok(())
}

/// A file without which the report is not whole.
fn present(path: &Path) -> Result<Vec<u8>, Failure> {
    if !path.exists() {
        return Err(differs(format!("{} is missing", path.display())));
    }
    stored(path)
}
