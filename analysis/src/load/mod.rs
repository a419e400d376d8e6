//! Reads what `latency-benchmark` wrote, and refuses files that are not as `run-format/RESULTS.md` and `EXPLAIN.md` describe
//! them.

pub(crate) mod application;
pub(crate) mod compared;
pub(crate) mod explain;
mod histograms;
mod loaded_run;
mod outside;
mod plausible;
mod rows;
mod run;
mod soak;

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use program::{Failure, bad_input};
use rayon::prelude::*;
use run_format::search::SEARCH;
use run_format::{
    Cell, LONGEST_LABEL, Manifest, Plan, Role, RunConfig, RunOutcome, RunRow, SweepConfig,
    VariantConfig, files, plan,
};
use serde::Serialize;

use self::application::Application;
pub(crate) use self::compared::{ComparedRole, ComparedVariant};
pub(crate) use self::explain::{CellEvidence, CellExplained};
pub(crate) use self::loaded_run::{
    CompleteBlock, Disturbances, LoadedRun, LoadedSite, LoadedSlice, set_benchmark_cpu,
};
pub(crate) use self::run::RunFiles;
pub(crate) use self::soak::Soak;

/// A sweep or a run of `rr` on disk. Each `run.json` of it has been read, and tables have not.
pub(crate) struct Sweep {
    pub(crate) dir: PathBuf,
    pub(crate) manifest: Manifest,
    pub(crate) cells: Vec<CellRuns>,
    /// The application, if it wrote the folder about itself.
    pub(crate) application: Option<Application>,
}

pub(crate) struct CellRuns {
    pub(crate) cell: Cell,
    /// The number of launches that the plan has for this cell.
    pub(crate) wanted_launches: u32,
    pub(crate) runs: Vec<RunFiles>,
    /// Repetitions of some of these runs, while no other cell was measured.
    pub(crate) alone: Vec<RunFiles>,
}

impl CellRuns {
    pub(crate) fn all(&self) -> impl Iterator<Item = &RunFiles> {
        self.runs.iter().chain(&self.alone)
    }
}

impl Sweep {
    pub(crate) fn open(dir: &Path) -> Result<Sweep, Failure> {
        open(dir, files::MANIFEST).map_err(bad_input)
    }

    pub(crate) fn open_rr(dir: &Path) -> Result<Sweep, Failure> {
        open(dir, files::RR_MANIFEST).map_err(bad_input)
    }

    pub(crate) fn name(&self) -> String {
        folder_name(&self.dir)
    }

    /// The variants that are compared. The first one is the baseline.
    pub(crate) fn compared(&self) -> Vec<ComparedVariant> {
        compared::compared(&self.manifest.config)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FolderKind {
    Sweep,
    Application,
    Search,
    Rr,
    Soak,
    /// No verb wrote the folder. It is refused when it is opened.
    Unknown,
}

impl FolderKind {
    pub(crate) fn find(dir: &Path) -> FolderKind {
        let marks = [
            (SEARCH, FolderKind::Search),
            (files::RR_MANIFEST, FolderKind::Rr),
            (files::SOAK, FolderKind::Soak),
            (files::MANIFEST, FolderKind::Sweep),
            (files::APPLICATION, FolderKind::Application),
        ];
        let found = (marks.into_iter()).find(|(mark, _)| dir.join(mark).is_file());
        found.map_or(FolderKind::Unknown, |(_, kind)| kind)
    }
}

/// The name that a value of an enumeration has in files.
pub(crate) fn name_in_files(value: impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(name)) => name,
        _ => String::new(),
    }
}

/// The name of the folder itself, whatever path leads to it. Letters that names of runs cannot have are replaced.
pub(crate) fn folder_name(dir: &Path) -> String {
    plain_name(&fs::canonicalize(dir).unwrap_or_else(|_| dir.to_owned()))
}

fn plain_name(path: &Path) -> String {
    let is_other = |letter: char| !letter.is_alphanumeric() && !"-_.".contains(letter);
    file_name(path).replace(is_other, "_")
}

fn open(dir: &Path, manifest: &str) -> Result<Sweep> {
    let (path, shown) = (dir.join(manifest), dir.display());
    if !path.is_file() {
        let verb = match FolderKind::find(dir) {
            FolderKind::Application => return open_application(dir),
            FolderKind::Rr => "rr",
            FolderKind::Soak => "soak",
            FolderKind::Search => bail!(
                "{shown}: a search (accepted: a sweep; `report`, `comment`, `page` and `verify` also read a search)"
            ),
            FolderKind::Sweep | FolderKind::Unknown => bail!(
                "{shown}: not the folder of a sweep (it has no manifest.json); give one as results/NAME"
            ),
        };
        bail!("{shown}: measured by `{verb}`, for which there is only `analysis report`");
    }
    let manifest: Manifest = outside::read(&path)?;
    check_baseline(&manifest.config.variants)
        .and_then(|()| check_labels(&manifest.config))
        .with_context(|| path.display().to_string())?;
    let planned_cells = plan::cells::cells(&manifest.config);
    let planned: HashSet<String> = planned_cells.iter().map(Cell::id).collect();
    let cells_dir = dir.join(files::CELLS);
    for folder in folders(&cells_dir)? {
        if !planned.contains(&file_name(&folder)) {
            bail!("{}: no cell of this sweep's manifest", folder.display());
        }
    }
    let mut cells = manifest.config.axes.clone().sorted().cells();
    cells.retain(|cell| planned.contains(&cell.id()));
    let find_cell = |cell: Cell| -> Result<CellRuns> {
        let folder = cells_dir.join(cell.id());
        Ok(CellRuns {
            cell,
            wanted_launches: plan::run::launches_of_cell(&manifest.config, cell),
            runs: find_runs(&folder, &manifest, false)?,
            alone: find_runs(&folder, &manifest, true)?,
        })
    };
    let found: Vec<CellRuns> = cells.into_iter().map(find_cell).collect::<Result<_>>()?;
    check_lengths(&manifest.config, &found)?;
    let runs: Vec<&RunFiles> = found.iter().flat_map(CellRuns::all).collect();
    runs.par_iter()
        .try_for_each(|run| run.check_files().map(drop))?;
    Ok(Sweep {
        dir: dir.to_owned(),
        manifest,
        cells: found,
        application: None,
    })
}

fn open_application(dir: &Path) -> Result<Sweep> {
    let (application, manifest, files) = application::open(dir)?;
    check_baseline(&manifest.config.variants)?;
    if let Some(run) = &files {
        run.check_files()?;
    }
    Ok(Sweep {
        dir: dir.to_owned(),
        manifest,
        cells: vec![CellRuns {
            cell: Cell::default(),
            wanted_launches: 1,
            runs: Vec::from_iter(files),
            alone: Vec::new(),
        }],
        application: Some(application),
    })
}

/// Says what is wrong with a launch that ended like this, such as "was interrupted". The launch is the subject of the
/// sentence. None if nothing is wrong.
pub(crate) fn flaw(end: &RunOutcome) -> Option<String> {
    match end {
        &RunOutcome::INTERRUPTED => Some("was interrupted".to_owned()),
        RunOutcome::Ok { .. } => None,
        RunOutcome::Invalid { reason } => Some(format!("is invalid: {reason}")),
        RunOutcome::Failed { stage, reason } => Some(format!("failed: {stage}: {reason}")),
    }
}

fn check_baseline(variants: &[VariantConfig]) -> Result<()> {
    let is_baseline = |variant: &VariantConfig| variant.role == Role::Baseline;
    if !variants.first().is_some_and(is_baseline) || variants[1..].iter().any(is_baseline) {
        bail!("the first variant, and no other, is the baseline");
    }
    Ok(())
}

/// Refuses long labels, because labels are parts of file names.
fn check_labels(config: &SweepConfig) -> Result<()> {
    let variants = config.variants.iter().map(|variant| &variant.label);
    let mut labels = variants.chain(config.subjects.iter().map(|subject| &subject.label));
    match labels.find(|label| label.chars().count() > LONGEST_LABEL) {
        None => Ok(()),
        Some(label) => bail!("a label is longer than {LONGEST_LABEL} characters: {label}"),
    }
}

/// Finds the runs that ended, and those that were cut short and not repeated.
fn find_runs(cell_dir: &Path, manifest: &Manifest, is_alone: bool) -> Result<Vec<RunFiles>> {
    let subjects: Vec<Option<usize>> = match manifest.config.subjects.len() {
        0 => vec![None],
        count => (0..count).map(Some).collect(),
    };
    let mut found = Vec::new();
    for number in 1..=manifest.config.repeat {
        for subject in &subjects {
            let mut name = files::run_folder(number, *subject);
            if is_alone {
                name = files::alone_folder(&name);
            }
            let run_files = |dir: PathBuf, row: Option<RunRow>| RunFiles {
                dir,
                subject: subject.unwrap_or(0),
                number,
                row,
                is_application: false,
            };
            let (dir, partial) = (cell_dir.join(&name), cell_dir.join(name + ".partial"));
            if dir.is_dir() {
                let path = dir.join(files::RUN);
                let row: RunRow = outside::read(&path)?;
                check_cell(&row, &file_name(cell_dir), manifest)
                    .and_then(|()| check_run(&row.config, (number, *subject), manifest))
                    .with_context(|| path.display().to_string())?;
                found.push(run_files(dir, Some(row)));
            } else if partial.join(files::SLICES).is_file() {
                // The table is written as soon as anything was measured.
                found.push(run_files(partial, None));
            }
        }
    }
    Ok(found)
}

/// Refuses a run of another sweep.
fn check_run(
    launch: &RunConfig,
    (number, subject): (u32, Option<usize>),
    manifest: &Manifest,
) -> Result<()> {
    if launch.run != number {
        bail!("it is of run {}", launch.run);
    }
    if launch.subject != subject {
        bail!("it is of another subject");
    }
    check_options(&manifest.config, launch)
}

/// The plan that a launch of a sweep should have. If the manifest sets no turn or settling time, the launch's own is accepted.
fn expected_plan(config: &SweepConfig, launch: &RunConfig) -> Plan {
    let ours = plan::run::plan_of_cell(config, launch.cell);
    let mut plan = launch.plan;
    plan.precision = ours.precision;
    if config.settle_ms.is_some() {
        plan.settle_ms = ours.settle_ms;
    }
    if config.turn_ms.is_some() {
        plan.turn_ms = ours.turn_ms;
    }
    plan
}

fn check_options(config: &SweepConfig, launch: &RunConfig) -> Result<()> {
    match plan::run::differs_in(config, launch, expected_plan(config, launch)) {
        Some(field) => bail!("its `{field}` is not that of the manifest"),
        None => Ok(()),
    }
}

/// Refuses launches of several versions. Turn lengths depend on the version of the tool, so launches with our lengths must
/// not be mixed with launches without.
fn check_lengths(config: &SweepConfig, cells: &[CellRuns]) -> Result<()> {
    let mut is_first_ours = None;
    for run in cells.iter().flat_map(CellRuns::all) {
        let Some(row) = &run.row else { continue };
        let ours = Plan {
            max_ms: row.config.plan.max_ms,
            ..plan::run::plan_of_cell(config, row.config.cell)
        };
        let is_ours = row.config.plan == ours;
        if *is_first_ours.get_or_insert(is_ours) != is_ours {
            let path = run.dir.join(files::RUN);
            bail!("{}: its plan is not that of the other runs", path.display());
        }
    }
    Ok(())
}

fn check_cell(row: &RunRow, id: &str, manifest: &Manifest) -> Result<()> {
    if row.cell != id || row.config.cell.id() != id {
        bail!("it is of the cell {}", row.cell);
    }
    if row.config.node != manifest.config.node {
        bail!("its workload, security or transport is not that of the manifest");
    }
    Ok(())
}

fn folders(dir: &Path) -> Result<Vec<PathBuf>> {
    if !dir.is_dir() {
        return Ok(Vec::new());
    }
    let entries = fs::read_dir(dir).with_context(|| dir.display().to_string())?;
    let mut paths: Vec<PathBuf> = entries
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<_>>()?;
    paths.retain(|path| path.is_dir());
    paths.sort();
    Ok(paths)
}

fn file_name(path: &Path) -> String {
    path.file_name()
        .map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}
