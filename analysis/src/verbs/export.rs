//! `export`: the figures of sweeps as Parquet files, a folder for each sweep and metric.

use std::fs;
use std::path::PathBuf;

use anyhow::Context;
use program::{Failure, print, reject};

use super::report::check_budgets;
use crate::load::Sweep;
use crate::measure::Metric;
use crate::new_folder;
use crate::options::{FigureOptions, Options};
use crate::summary::{Summary, Tables, tables};

pub(crate) fn run(runs: &[PathBuf], options: &Options) -> Result<(), Failure> {
    let out = options.out("dataset");
    new_folder::refuse_inside(&out, runs.iter().map(PathBuf::as_path))?;
    let folder = |name: &str| out.join(format!("sweep={name}"));
    let mut sweeps: Vec<Sweep> = Vec::new();
    for run in runs {
        let sweep = Sweep::open(run)?;
        let folder = folder(&sweep.name());
        let is_known = sweeps.iter().any(|other| other.name() == sweep.name());
        if is_known || folder.exists() {
            let folder = folder.display();
            reject!("--out: {folder} is there already (remove it, or choose another folder)");
        }
        check_budgets(&sweep, options)?;
        sweeps.push(sweep);
    }
    for mut sweep in sweeps {
        let summary = Summary::of(&mut sweep, options)?;
        let asked = &options.figures.metric;
        let is_asked = |metric: &&Metric| asked.is_empty() || asked.contains(metric);
        for &metric in Metric::ALL.iter().filter(is_asked) {
            let options = Options::from(FigureOptions {
                metric: vec![metric],
                ..options.figures.clone()
            });
            // Its name is that of the folder.
            let parts = tables(&summary, &options).map(|part| Ok(part?.drop("metric")?));
            let tables = Tables::of(parts)?;
            if tables.rows == 0 {
                continue;
            }
            let dir = folder(&sweep.name()).join(format!("metric={}", metric.info().name));
            let file = dir.join("figures.parquet");
            fs::create_dir_all(&dir)
                .and_then(|()| fs::write(&file, tables.parquet))
                .with_context(|| file.display().to_string())?;
        }
        print(folder(&sweep.name()).display());
    }
    Ok(())
}
