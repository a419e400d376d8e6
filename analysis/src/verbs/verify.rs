//! `verify`: makes the report again from what was measured, and compares.

use std::path::Path;

use anyhow::{Context, anyhow};
use polars::prelude::DataFrame;

use crate::{
    explain::{
        Explanation,
        files::{self, File},
    },
    failure::{Failure, bad_input},
    load::Sweep,
    report::{
        self,
        folder::{CHARTS, Record, TEXT},
    },
    summary::{Summary, table},
    verdict::Verdict,
    views::{Entry, Scene},
};

pub(crate) fn run(run: &Path, report: Option<&Path>) -> Result<(), Failure> {
    let dir = report.map_or_else(|| run.join("report"), Path::to_path_buf);
    let sweep = Sweep::open(run)?;
    let record = Record::read(&dir).map_err(bad_input)?;
    if record.verb != "report" {
        return Err(bad_input(anyhow!(
            "{}: a report of `{}`; only those of `report` can be made again from one run",
            dir.display(),
            record.verb
        )));
    }
    let options = &record.options;
    let mut summary = Summary::of(&sweep, options)?;
    // The folder may have been moved since.
    if let Some(name) = record.of.first() {
        summary.identity.name.clone_from(name);
    }
    let verdict = Verdict::of(&summary, options.first_site());
    let explanation = Explanation::of(&sweep, options)?;
    let entries = Scene::new(&summary, &verdict, options).entries();

    let frame = table::table(&summary, &options.sites())?;
    same_table(&table::read(&dir).map_err(bad_input)?, &frame, &dir)?;
    let path = dir.join(TEXT);
    let stored = std::fs::read_to_string(&path)
        .with_context(|| path.display().to_string())
        .map_err(bad_input)?;
    same_text(
        &stored,
        &report::text(&summary, &verdict, &entries, explanation.as_ref(), options),
        &path,
    )?;
    pictures_are_there(&entries, &dir)?;
    let explained = explanation.map(|it| files::of(&it, options)).transpose()?;
    let explained = explained.unwrap_or_default();
    same_files(&explained, &dir.join(files::FOLDER))?;
    println!(
        "{}: {} figures, the report and {} pictures{} are what {} gives",
        dir.display(),
        frame.height(),
        entries.len(),
        if explained.is_empty() {
            String::new()
        } else {
            format!(" and {} files of what was explained", explained.len())
        },
        run.display()
    );
    Ok(())
}

fn same_table(stored: &DataFrame, made: &DataFrame, dir: &Path) -> Result<(), Failure> {
    let path = dir.join(table::FILE);
    let at = |row: usize| format!("{}: line {}", path.display(), row + 2);
    let (stored, made) = (table::lines(stored)?, table::lines(made)?);
    for (row, (stored, made)) in stored.iter().zip(&made).enumerate() {
        if let Some((name, was, is)) = table::first_difference(stored, made) {
            return Err(Failure::Differs(format!(
                "{}: {name} is {was}, and the run gives {is}",
                at(row)
            )));
        }
    }
    if stored.len() != made.len() {
        return Err(Failure::Differs(format!(
            "{}: {} rows, and the run gives {}",
            path.display(),
            stored.len(),
            made.len()
        )));
    }
    Ok(())
}

fn same_text(stored: &str, made: &str, path: &Path) -> Result<(), Failure> {
    for (at, (stored, made)) in stored.lines().zip(made.lines()).enumerate() {
        if stored != made {
            return Err(Failure::Differs(format!(
                "{}: line {}: {stored:?}, and the run gives {made:?}",
                path.display(),
                at + 1
            )));
        }
    }
    if stored.lines().count() != made.lines().count() {
        return Err(Failure::Differs(format!(
            "{}: {} lines, and the run gives {}",
            path.display(),
            stored.lines().count(),
            made.lines().count()
        )));
    }
    Ok(())
}

/// They are drawn the same wherever they are made, so they are held to the byte.
fn same_files(made: &[File], dir: &Path) -> Result<(), Failure> {
    for file in made {
        let path = dir.join(&file.name);
        let stored = std::fs::read(&path)
            .map_err(|_| Failure::Differs(format!("{} is missing", path.display())))?;
        if stored != file.content {
            return Err(Failure::Differs(format!(
                "{}: it is not what the run gives",
                path.display()
            )));
        }
    }
    Ok(())
}

fn pictures_are_there(entries: &[Entry], dir: &Path) -> Result<(), Failure> {
    for entry in entries {
        for name in entry.files() {
            let path = dir.join(CHARTS).join(name);
            if !path.is_file() {
                return Err(Failure::Differs(format!("{} is missing", path.display())));
            }
        }
    }
    Ok(())
}
