//! What lies in the folders of a report and of its run: all that belongs there, and nothing else.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use anyhow::Context;
use program::Failure;
use run_format::search;

use super::{differs, same_bytes};
use crate::{
    explain::files::{self, File},
    load::{FolderOf, Sweep},
    page,
    report::{
        comment::COMMENT,
        folder::{CHARTS, RECORD, TEXT},
    },
    summary::{predicted, table},
    views::{self, Entry},
};

/// Draws the pictures again, which gives the same bytes.
pub(super) fn same_pictures(pictures: &[Entry], dir: &Path) -> Result<(), Failure> {
    let again = tempfile::tempdir().context("cannot make a temporary folder")?;
    views::write(pictures, again.path())?;
    for name in pictures.iter().flat_map(Entry::files) {
        same_bytes(&fs::read(again.path().join(&name))?, &dir.join(&name))?;
    }
    Ok(())
}

/// Refuses files beside those of the report.
pub(super) fn nothing_else(
    dir: &Path,
    has_page: bool,
    pictures: &[Entry],
    explained: &[File],
) -> Result<(), Failure> {
    let names = [
        TEXT,
        COMMENT,
        RECORD,
        table::FILE,
        table::PARQUET,
        predicted::FILE,
    ];
    let mut known: BTreeSet<PathBuf> = names.iter().map(|name| dir.join(name)).collect();
    known.extend(has_page.then(|| dir.join(page::FILE)));
    for (folder, names) in [
        (CHARTS, pictures.iter().flat_map(Entry::files).collect()),
        (
            files::FOLDER,
            explained
                .iter()
                .map(|it| it.name.clone())
                .collect::<Vec<_>>(),
        ),
    ] {
        known.extend(names.iter().map(|name| dir.join(folder).join(name)));
        known.insert(dir.join(folder));
    }
    for folder in [dir.to_owned(), dir.join(CHARTS), dir.join(files::FOLDER)] {
        for entry in fs::read_dir(folder).into_iter().flatten() {
            let path = entry?.path();
            if !known.contains(&path) {
                let path = path.display();
                return Err(differs(format!("{path}: it does not belong to the report")));
            }
        }
    }
    Ok(())
}

/// Refuses files beside those that the runs wrote.
pub(super) fn only_its_files(run: &Path) -> Result<(), Failure> {
    let search = search::folders(run);
    let sweeps = match FolderOf::find(run) {
        FolderOf::Search => search.iter().map(|dir| Sweep::open(dir)).collect(),
        _ => Sweep::open(run).map(|sweep| vec![sweep]),
    };
    for sweep in sweeps? {
        runs_have_only_theirs(&sweep)?;
    }
    Ok(())
}

fn runs_have_only_theirs(sweep: &Sweep) -> Result<(), Failure> {
    for run in sweep
        .cells
        .iter()
        .flat_map(|cell| cell.runs.iter().chain(&cell.alone))
    {
        if let Some(stray) = run.check_files()?.first() {
            let path = run.dir.join(stray);
            let path = path.display();
            return Err(differs(format!("{path}: it does not belong to the run")));
        }
    }
    Ok(())
}
