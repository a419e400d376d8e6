//! Reads what `explain` wrote, as `latency-benchmark/EXPLAIN.md` describes it, and refuses what is not that.

pub(crate) mod cell;
pub(crate) mod tables;

use std::path::Path;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use self::cell::CellEvidence;
use super::{
    json,
    manifest::{Manifest, SCHEMA},
    run_row::End,
};

/// Where it is, below the folder of a sweep.
pub(crate) const FOLDER: &str = "explain";

/// `explain.json`. Only the fields that are used.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct About {
    /// Indices into the manifest's: the baseline, and the one held against it if there is one.
    pub(crate) variants: Vec<usize>,
    /// In the order in which they were chosen.
    pub(crate) cells: Vec<Chosen>,
}

/// A cell that was launched again.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Chosen {
    pub(crate) id: String,
    pub(crate) rank: u32,
    pub(crate) why: String,
    pub(crate) slow_ms_per_s: Option<f64>,
    pub(crate) slow_percent: Option<f64>,
}

/// All that `explain` left.
pub(crate) struct Explained {
    pub(crate) about: About,
    /// With the cells that were launched well.
    pub(crate) cells: Vec<(Chosen, CellEvidence)>,
    /// What became of the others.
    pub(crate) flaws: Vec<String>,
}

impl Explained {
    /// None if nothing was explained.
    pub(crate) fn read(run: &Path, manifest: &Manifest) -> Result<Option<Explained>> {
        let dir = run.join(FOLDER);
        if !dir.is_dir() {
            return Ok(None);
        }
        let path = dir.join("explain.json");
        if !path.is_file() {
            bail!(
                "{}: it has no explain.json, so it is not what `explain` writes; remove it or explain again",
                dir.display()
            );
        }
        let mut about: About = json(&path, SCHEMA)?;
        check(&about, manifest).with_context(|| path.display().to_string())?;
        about.cells.sort_by_key(|chosen| chosen.rank);
        let (mut cells, mut flaws) = (Vec::new(), Vec::new());
        for chosen in &about.cells {
            let folder = dir.join(&chosen.id);
            if !folder.is_dir() {
                flaws.push(format!("`{}` was chosen but not launched (yet)", chosen.id));
                continue;
            }
            let row = cell::row(&folder, &chosen.id, manifest)?;
            match &row.end {
                End::Ok { .. } => {
                    let evidence = CellEvidence::read(&folder, row, &about.variants)?;
                    cells.push((chosen.clone(), evidence));
                }
                End::Invalid { reason } => {
                    flaws.push(format!(
                        "the launch of `{}` is invalid: {reason}",
                        chosen.id
                    ));
                }
                End::Failed { stage, reason } => {
                    flaws.push(format!(
                        "the launch of `{}` failed: {stage}: {reason}",
                        chosen.id
                    ));
                }
            }
        }
        Ok(Some(Explained {
            about,
            cells,
            flaws,
        }))
    }
}

fn check(about: &About, manifest: &Manifest) -> Result<()> {
    let known = manifest.config.variants.len();
    match about.variants[..] {
        [0] => {}
        [0, other] if other != 0 && other < known => {}
        _ => bail!(
            "variants are {:?}, not the baseline (0) and at most one other of the manifest's {known}",
            about.variants
        ),
    }
    let cells = manifest.config.axes.cells();
    for (at, chosen) in about.cells.iter().enumerate() {
        if !cells.iter().any(|cell| cell.id() == chosen.id) {
            bail!("{} is no cell of this sweep's manifest", chosen.id);
        }
        if about.cells[..at].iter().any(|it| it.id == chosen.id) {
            bail!("{} is there twice", chosen.id);
        }
    }
    Ok(())
}
