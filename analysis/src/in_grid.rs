//! Finds an application in the grid of a lab: the cells whose polls last about as long as those of the application.

use std::mem;
use std::path::Path;

use program::{Failure, reject};
use run_format::{BASELINE, HistogramOf, Site};

use crate::load::Sweep;
use crate::measure::details::edges;
use crate::options::Options;
use crate::summary::{CellSummary, Summary};

/// Cells whose durations differ by this factor or more are not called similar.
pub(crate) const TOO_FAR: f64 = 2.0;

pub(crate) struct InGrid {
    pub(crate) site: Site,
    pub(crate) application: Summary,
    /// The lab with only the cells that resemble the application most. The most similar cell comes first.
    pub(crate) lab: Summary,
    /// The factor by which durations of polls differ in each of these cells.
    pub(crate) factors: Vec<f64>,
    /// The number of cells of the lab that were compared with the application.
    pub(crate) compared: usize,
}

impl InGrid {
    pub(crate) fn find(folder: &Path, lab: &Path, options: &Options) -> Result<InGrid, Failure> {
        const MOST: usize = 3;
        let lab_folder = lab.display();
        let application = Summary::read(Sweep::open(folder)?, options)?;
        let site = application.first_site(options);
        let mut same_site = options.clone();
        same_site.figures.site = vec![site];
        let mut lab = Summary::read(Sweep::open(lab)?, &same_site)?;
        let polls_of_application = longer_polls(&application.cells[0], site, options);
        let cells = mem::take(&mut lab.cells).into_iter().filter_map(|cell| {
            let polls_of_cell = longer_polls(&cell, site, options)?;
            Some((factor(polls_of_application.as_ref()?, &polls_of_cell), cell))
        });
        let mut by_factor: Vec<(f64, CellSummary)> = cells.collect();
        let compared = by_factor.len();
        if compared == 0 {
            let folder = folder.display();
            reject!(
                "--site {site}: no poll of it was recorded in {folder}, or none in {lab_folder}"
            );
        }
        by_factor.sort_by(|(one, _), (other, _)| one.total_cmp(other));
        let similar = by_factor.partition_point(|(factor, _)| *factor < TOO_FAR);
        by_factor.truncate(similar.clamp(1, MOST));
        let factors;
        (factors, lab.cells) = by_factor.into_iter().unzip();
        Ok(InGrid {
            site,
            application,
            lab,
            factors,
            compared,
        })
    }

    pub(crate) fn cells(&self) -> impl Iterator<Item = &CellSummary> {
        self.application.cells.iter().chain(&self.lab.cells)
    }
}

/// The share of the baseline's polls that last longer than a duration.
pub(crate) struct LongerPolls {
    pub(crate) than_ns: u64,
    pub(crate) share: f64,
}

/// The share for each duration at which polls are counted. None if no poll was recorded.
pub(crate) fn longer_polls(
    cell: &CellSummary,
    site: Site,
    options: &Options,
) -> Option<Vec<LongerPolls>> {
    let durations = &cell.data.details.durations;
    let by_variant = durations.get(&HistogramOf::Polls(site))?;
    let counts = by_variant.get(BASELINE)?.as_ref()?;
    let all: u64 = counts.iter().sum();
    let mut left = all;
    let edges = edges(options.figures.threshold).into_iter().zip(counts);
    let longer = edges.map(|(than_ns, count)| {
        left -= count;
        let share = left as f64 / all as f64;
        LongerPolls { than_ns, share }
    });
    (all > 0).then(|| longer.collect())
}

/// The factor by which two distributions of durations differ. It follows from the area between them over the logarithm of the
/// duration.
fn factor(one: &[LongerPolls], other: &[LongerPolls]) -> f64 {
    let apart = |index: usize| (one[index].share - other[index].share).abs();
    let area = |index: usize| {
        let width = (one[index + 1].than_ns as f64 / one[index].than_ns as f64).log10();
        width * (apart(index) + apart(index + 1)) / 2.0
    };
    10_f64.powf((0..one.len() - 1).map(area).sum())
}
