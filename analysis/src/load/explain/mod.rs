//! Reads what `explain` wrote.

pub(crate) mod cell;

use std::path::Path;

use anyhow::{Context, Result, bail};
use run_format::{
    config::{Measurement, RunConfig, SweepConfig},
    evidence::{ChosenCell, ExplainFile},
    files,
    manifest::Manifest,
    run_row::{End, RunRow, Stop},
};

use self::cell::CellEvidence;
use super::outside;

pub(crate) struct CellExplained {
    pub(crate) chosen: ChosenCell,
    pub(crate) evidence: CellEvidence,
}

pub(crate) struct Explained {
    pub(crate) file: ExplainFile,
    /// Those whose launch is `ok`, in the order in which they were chosen.
    pub(crate) cells: Vec<CellExplained>,
    /// What became of the others.
    pub(crate) flaws: Vec<String>,
}

impl Explained {
    pub(crate) fn read(run: &Path, manifest: &Manifest) -> Result<Option<Explained>> {
        let dir = run.join(files::EXPLAIN);
        if !dir.is_dir() {
            return Ok(None);
        }
        let path = dir.join(files::EXPLAIN).with_extension("json");
        if !path.is_file() {
            bail!(
                "{}: it has no explain.json, so it is not what `explain` writes; remove it or explain again",
                dir.display()
            );
        }
        let mut file: ExplainFile = outside::read(&path)?;
        check(&file, manifest).with_context(|| path.display().to_string())?;
        file.cells.sort_by_key(|chosen| chosen.rank);
        let (mut cells, mut flaws) = (Vec::new(), Vec::new());
        for chosen in &file.cells {
            let id = &chosen.id;
            let folder = dir.join(id);
            if !folder.is_dir() {
                flaws.push(format!("`{id}` was chosen but not launched (yet)"));
                continue;
            }
            let path = folder.join(files::RUN);
            let row: RunRow = outside::read(&path)?;
            super::check_cell(&row, id, manifest)
                .and_then(|()| check_options(&row.config, manifest))
                .with_context(|| path.display().to_string())?;
            row.check_files(&folder)?;
            match &row.end {
                End::Ok { stop } => {
                    if *stop == Stop::Interrupted {
                        flaws.push(format!("the launch of `{id}` was interrupted"));
                    }
                    let evidence = CellEvidence::read(&folder, row, &file.variants)?;
                    let chosen = chosen.clone();
                    cells.push(CellExplained { chosen, evidence });
                }
                End::Invalid { reason } => {
                    flaws.push(format!("the launch of `{id}` is invalid: {reason}"));
                }
                End::Failed { stage, reason } => {
                    flaws.push(format!("the launch of `{id}` failed: {stage}: {reason}"));
                }
            }
        }
        Ok(Some(Explained { file, cells, flaws }))
    }
}

fn check_options(launch: &RunConfig, manifest: &Manifest) -> Result<()> {
    if !matches!(launch.measurement, Measurement::Explain(_)) {
        bail!("it explains nothing");
    }
    let config = SweepConfig {
        measurement: launch.measurement.clone(),
        turn_ms: None,
        max_cell_ms: None,
        ..manifest.config.clone()
    };
    super::check_options(&config, launch)
}

fn check(file: &ExplainFile, manifest: &Manifest) -> Result<()> {
    let known = manifest.config.variants.len();
    match file.variants[..] {
        [0] => {}
        [0, other] if other != 0 && other < known => {}
        _ => bail!(
            "variants are {:?}, not the baseline (0) and at most one other of the manifest's {known}",
            file.variants
        ),
    }
    let cells = manifest.config.axes.cells();
    for (at, chosen) in file.cells.iter().enumerate() {
        if !cells.iter().any(|cell| cell.id() == chosen.id) {
            bail!("{} is no cell of this sweep's manifest", chosen.id);
        }
        if file.cells[..at].iter().any(|it| it.id == chosen.id) {
            bail!("{} is there twice", chosen.id);
        }
    }
    Ok(())
}
