//! Reads what a sweep wrote, as `latency-benchmark/RESULTS.md` describes it, and refuses what is not
//! that.

mod blocks;
pub(crate) mod explain;
mod histograms;
mod lines;
pub(crate) mod manifest;
pub(crate) mod rr;
pub(crate) mod run;
pub(crate) mod run_row;
pub(crate) mod slice;
pub(crate) mod soak;
mod sparse;
pub(crate) mod subject;
mod tables;
pub(crate) mod variant;

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use serde::{Deserialize, de::DeserializeOwned};

use self::{
    manifest::{Manifest, SCHEMA},
    run::RunFiles,
    run_row::RunRow,
};
use crate::{
    failure::{Failure, bad_input},
    grid::Cell,
};

/// A sweep on disk: the rows of its runs are read, their tables are not yet.
pub(crate) struct Sweep {
    pub(crate) dir: PathBuf,
    pub(crate) manifest: Manifest,
    /// Every cell of the grid, with the runs there are.
    pub(crate) cells: Vec<CellRuns>,
}

/// The runs of a cell, by number.
pub(crate) struct CellRuns {
    pub(crate) cell: Cell,
    pub(crate) runs: Vec<RunFiles>,
}

impl Sweep {
    pub(crate) fn open(dir: &Path) -> Result<Sweep, Failure> {
        open(dir, SWEEP).map_err(bad_input)
    }

    /// What `rr` measured.
    pub(crate) fn open_rr(dir: &Path) -> Result<Sweep, Failure> {
        open(dir, RR).map_err(bad_input)
    }

    pub(crate) fn name(&self) -> String {
        folder_name(&self.dir)
    }
}

/// What a folder is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Or of nothing at all, which is found out when it is opened.
    Sweep,
    Rr,
    Soak,
}

impl Kind {
    pub(crate) fn of(dir: &Path) -> Kind {
        let has = |name| dir.join(name).is_file();
        if has(RR.manifest) {
            Kind::Rr
        } else if has(soak::FILE) {
            Kind::Soak
        } else {
            Kind::Sweep
        }
    }
}

/// That of the folder itself, however the way to it was typed.
fn folder_name(dir: &Path) -> String {
    file_name(&fs::canonicalize(dir).unwrap_or_else(|_| dir.to_owned()))
}

/// The files by which a folder is known.
#[derive(Clone, Copy)]
struct Names {
    manifest: &'static str,
    /// Is there as soon as anything was measured.
    table: &'static str,
}

const SWEEP: Names = Names {
    manifest: "manifest.json",
    table: "slices.csv",
};

const RR: Names = Names {
    manifest: rr::MANIFEST,
    table: rr::TABLE,
};

fn open(dir: &Path, names: Names) -> Result<Sweep> {
    let path = dir.join(names.manifest);
    if !path.is_file() {
        let verb = match Kind::of(dir) {
            Kind::Rr => "rr",
            Kind::Soak => "soak",
            Kind::Sweep => bail!(
                "{}: not the folder of a sweep (it has no manifest.json); give one as results/NAME",
                dir.display()
            ),
        };
        bail!(
            "{}: measured by `{verb}`, of which there is a report and no more (analysis report)",
            dir.display()
        );
    }
    let manifest = Manifest::read(&path)?;
    let axes = manifest.config.axes.clone().sorted();
    let mut cells: Vec<CellRuns> = axes
        .cells()
        .into_iter()
        .map(|cell| CellRuns {
            cell,
            runs: Vec::new(),
        })
        .collect();
    for cell_dir in folders(&dir.join("cells"))? {
        let name = file_name(&cell_dir);
        let Some(cell) = cells.iter_mut().find(|known| known.cell.id() == name) else {
            bail!("{}: no cell of this sweep's manifest", cell_dir.display());
        };
        cell.runs = runs(&cell_dir, &name, &manifest, names)?;
    }
    Ok(Sweep {
        dir: dir.to_owned(),
        manifest,
        cells,
    })
}

/// Those that ended, and those that were cut short and not done again.
fn runs(cell_dir: &Path, id: &str, manifest: &Manifest, names: Names) -> Result<Vec<RunFiles>> {
    let config = &manifest.config;
    let mut runs = Vec::new();
    for number in 1..=config.repeat {
        for subject in 0..config.subjects.len().max(1) {
            let asked = Asked {
                id,
                number,
                table: names.table,
                subject: (!config.subjects.is_empty()).then_some(subject),
            };
            runs.extend(asked.run(cell_dir, manifest)?);
        }
    }
    Ok(runs)
}

/// A run that there should be.
struct Asked<'a> {
    id: &'a str,
    number: u32,
    table: &'static str,
    subject: Option<usize>,
}

impl Asked<'_> {
    fn run(&self, cell_dir: &Path, manifest: &Manifest) -> Result<Option<RunFiles>> {
        let number = self.number;
        let name = match self.subject {
            None => format!("run-{number}"),
            Some(subject) => format!("s{subject}-run-{number}"),
        };
        let dir = cell_dir.join(&name);
        let partial = cell_dir.join(format!("{name}.partial"));
        let files = |dir: PathBuf, row: Option<RunRow>| RunFiles {
            dir,
            subject: self.subject.unwrap_or(0),
            number,
            row,
        };
        if dir.is_dir() {
            let path = dir.join("run.json");
            let row: RunRow = json(&path, SCHEMA)?;
            self.check(&row, manifest)
                .with_context(|| path.display().to_string())?;
            return Ok(Some(files(dir, Some(row))));
        }
        let is_there = partial.join(self.table).is_file();
        Ok(is_there.then(|| files(partial, None)))
    }

    /// A run that was copied here from elsewhere is not one of this sweep.
    fn check(&self, row: &RunRow, manifest: &Manifest) -> Result<()> {
        if row.cell != self.id || row.config.cell.id() != self.id {
            bail!("it is of the cell {}", row.cell);
        }
        if row.config.run != self.number {
            bail!("it is of run {}", row.config.run);
        }
        if row.config.subject != self.subject {
            bail!("it is of another subject");
        }
        if row.config.variants != manifest.config.variants {
            bail!("its variants are not those of the manifest");
        }
        if row.config.node != manifest.config.node {
            bail!("its workload, security or transport is not that of the manifest");
        }
        Ok(())
    }
}

fn folders(dir: &Path) -> Result<Vec<PathBuf>> {
    if !dir.is_dir() {
        return Ok(Vec::new());
    }
    let mut folders = Vec::new();
    for entry in fs::read_dir(dir).with_context(|| dir.display().to_string())? {
        let path = entry?.path();
        if path.is_dir() {
            folders.push(path);
        }
    }
    folders.sort();
    Ok(folders)
}

fn file_name(path: &Path) -> String {
    path.file_name()
        .map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

#[derive(Deserialize)]
struct SchemaOnly {
    schema: u32,
}

/// Reads a JSON file that says which schema it has.
fn json<T: DeserializeOwned>(path: &Path, schema: u32) -> Result<T> {
    let at = || path.display().to_string();
    let text = fs::read_to_string(path).with_context(at)?;
    let found: SchemaOnly = serde_json::from_str(&text).with_context(at)?;
    if found.schema != schema {
        bail!(
            "{}: schema {}, and this reads schema {schema}",
            at(),
            found.schema
        );
    }
    serde_json::from_str(&text).with_context(at)
}
