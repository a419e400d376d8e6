//! Runs beside others, and the same runs alone.

use std::collections::BTreeMap;

use anyhow::Result;
use plan::sums::{SliceSums, of_run};

use crate::load::{CellRuns, RunFiles};

#[derive(Clone, Debug, Default)]
pub(crate) struct JobsOfCell {
    /// How many runs were measured beside so many others, themselves included.
    pub(crate) runs: BTreeMap<usize, usize>,
    /// Beside others and alone, by variant. The number is that of the jobs.
    pub(crate) pairs: Vec<(usize, [Vec<SliceSums>; 2])>,
}

pub(super) fn of(files: &CellRuns, variants: usize) -> Result<JobsOfCell> {
    let jobs = |file: &RunFiles| {
        let row = file.row.as_ref().filter(|row| row.is_measured());
        row.and_then(|row| row.config.jobs)
    };
    let mut of = JobsOfCell::default();
    for beside in &files.runs {
        let Some(jobs_beside) = jobs(beside) else {
            continue;
        };
        *of.runs.entry(jobs_beside).or_default() += 1;
        let is_same = |it: &&RunFiles| (it.subject, it.number) == (beside.subject, beside.number);
        let alone = files.alone.iter().find(is_same);
        if let Some(alone) = alone.filter(|it| jobs(it).is_some()) {
            let sums = |file: &RunFiles| of_run(&file.dir, variants);
            of.pairs.push((jobs_beside, [sums(beside)?, sums(alone)?]));
        }
    }
    Ok(of)
}
