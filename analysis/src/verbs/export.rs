//! The verb `export`. It writes the figures of sweeps as Parquet.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use program::{Failure, print_line, reject};

use crate::load::Sweep;
use crate::make::refuse_unknown_budgets;
use crate::metrics::Metric;
use crate::new_folder::refuse_inside;
use crate::options::{FigureOptions, Options};
use crate::summary::table::parquet;
use crate::summary::{Summary, tables};

pub(crate) fn run(runs: &[PathBuf], options: &Options) -> Result<(), Failure> {
    let out = options.out("dataset");
    refuse_inside(&out, runs.iter().map(PathBuf::as_path))?;
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
        refuse_unknown_budgets(&sweep, options)?;
        sweeps.push(sweep);
    }
    for sweep in sweeps {
        let folder = folder(&sweep.name());
        write(&Summary::read(sweep, options)?, options, &folder)?;
        print_line(folder.display());
    }
    Ok(())
}

/// Writes a table for each metric into its own folder.
fn write(summary: &Summary, options: &Options, folder: &Path) -> Result<(), Failure> {
    let asked = &options.figures.metric;
    let is_asked = |metric: &&Metric| asked.is_empty() || asked.contains(metric);
    for &metric in Metric::ALL.iter().filter(is_asked) {
        let options = Options::from(FigureOptions {
            metric: vec![metric],
            ..options.figures.clone()
        });
        // The folder has the name of the metric, so the table does not repeat it.
        let parts = tables(summary, &options).map(|part| Ok(part?.drop("metric")?));
        if let Some(table) = parquet(parts)? {
            let dir = folder.join(format!("metric={}", metric.info().name));
            let file = dir.join("figures.parquet");
            fs::create_dir_all(&dir)
                .and_then(|()| fs::write(&file, table))
                .with_context(|| file.display().to_string())?;
        }
    }
    Ok(())
}
