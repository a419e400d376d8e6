//! A search over budgets: rounds of sweeps, and which budgets stay after each.

mod eliminate;

use std::path::Path;

use program::{Failure, bad_input, reject};
use run_format::{
    Budgets, Site,
    files::read_versioned,
    grid::Cell,
    search::{self, NextRound, SEARCH},
};

pub(crate) use self::eliminate::{Left, Why, eliminate};
use crate::{
    load::Sweep,
    measure::metric::{Metric, MetricKey},
    options::Options,
    summary::{CellSummary, Summary},
    verdict::Verdict,
};

/// How many candidates stay after each round at most. The last one does not choose for another.
pub(crate) const MOST_STAY: [usize; 3] = [24, 8, usize::MAX];

/// The rounds that were measured.
pub(crate) struct Search {
    pub(crate) of: search::Search,
    /// The sweep that chose the cells, and those cells.
    first_look: Option<(Summary, Vec<Cell>)>,
    pub(crate) rounds: Vec<Round>,
}

/// A sweep of a search, and what follows from it.
pub(crate) struct Round {
    pub(crate) summary: Summary,
    pub(crate) verdict: Verdict,
    pub(crate) left: Vec<Left>,
}

impl Search {
    pub(crate) fn open(dir: &Path, options: &Options) -> Result<Search, Failure> {
        let of = read_versioned(&dir.join(SEARCH)).map_err(bad_input)?;
        let rounds = search::rounds(dir)
            .zip(MOST_STAY)
            .map(|(folder, most)| Round::of(&folder, options, most))
            .collect::<Result<_, _>>()?;
        let folder = search::first_look(dir);
        let first_look = if folder.is_dir() {
            let summary = Summary::of(&mut Sweep::open(&folder)?, options)?;
            let cells = chosen(&summary, options);
            Some((summary, cells))
        } else {
            None
        };
        Ok(Search {
            of,
            first_look,
            rounds,
        })
    }

    /// What the next round measures: what stayed in the last one, in the same cells.
    pub(crate) fn next(&self) -> NextRound {
        if let Some(last) = self.rounds.last() {
            // Those that the last round recommends come first.
            let ranked = last.verdict.ranked();
            let rank = |at: usize| ranked.iter().position(|it| it.variant == at);
            let mut staying: Vec<(usize, Budgets)> = last.staying().collect();
            staying.sort_by_key(|(at, _)| rank(*at).unwrap_or(usize::MAX));
            return NextRound {
                cells: last
                    .summary
                    .measured()
                    .map(|cell| cell.measured.cell)
                    .collect(),
                candidates: staying.into_iter().map(|(_, budgets)| budgets).collect(),
            };
        }
        let of_grid = || self.of.config.axes.cells();
        let first_look = self.first_look.as_ref();
        NextRound {
            cells: first_look.map_or_else(of_grid, |(_, cells)| cells.clone()),
            candidates: self
                .candidates()
                .filter(|it| !self.is_foreseen(*it))
                .collect(),
        }
    }

    fn candidates(&self) -> impl Iterator<Item = Budgets> {
        let variants = self.of.config.variants.iter().map(|it| it.budgets);
        variants.filter(|it| *it != Budgets::NONE)
    }

    /// The candidates that never end a poll of those recorded at the first look, whatever the cell, and leave unmeasured.
    pub(crate) fn foreseen(&self) -> Vec<Budgets> {
        self.candidates()
            .filter(|it| self.is_foreseen(*it))
            .collect()
    }

    pub(crate) fn is_foreseen(&self, budgets: Budgets) -> bool {
        let Some((summary, cells)) = &self.first_look else {
            return false;
        };
        let mut chosen = summary
            .cells
            .iter()
            .filter(|it| cells.contains(&it.measured.cell));
        chosen.all(|cell| {
            let mut bounds = Site::BUDGETED
                .into_iter()
                .filter_map(|site| Some((site, budgets.at(site)?)));
            bounds.all(|(site, bound)| {
                cell.bounds_without_effect(site)
                    .any(|limit| limit == bound.limit)
            })
        })
    }
}

impl Round {
    fn of(folder: &Path, options: &Options, most: usize) -> Result<Round, Failure> {
        let summary = Summary::of(&mut Sweep::open(folder)?, options)?;
        if summary.measured().next().is_none() {
            reject!("{}: no cell was measured", folder.display());
        }
        let verdict = Verdict::of(&summary, options);
        let left = eliminate(&summary, &verdict, most);
        Ok(Round {
            summary,
            verdict,
            left,
        })
    }

    pub(crate) fn staying(&self) -> impl Iterator<Item = (usize, Budgets)> {
        let candidates = self.summary.candidates();
        let candidates = candidates.map(|(at, variant)| (at, variant.budgets));
        candidates.filter(|(at, _)| self.left.iter().all(|left| left.variant != *at))
    }
}

/// The cell with the most time beyond the threshold, that with the most late wake-ups of the co-tenant, and of those with the
/// longest round trip the one with the most time beyond the threshold.
fn chosen(summary: &Summary, options: &Options) -> Vec<Cell> {
    let by_time_beyond = summary.by_time_beyond(summary.first_site(options));
    let mut by_late = by_time_beyond.clone();
    let late = |cell: &CellSummary| {
        let what = MetricKey::new(summary.first_site(options), Metric::CotenantLatePercent);
        cell.value(what, 0).unwrap_or(0.0)
    };
    by_late.sort_by(|a, b| late(b).total_cmp(&late(a)));
    let longest = by_time_beyond
        .iter()
        .map(|it| it.measured.cell.rtt_ms)
        .max();
    let mut long = by_time_beyond.clone();
    long.retain(|it| Some(it.measured.cell.rtt_ms) == longest);
    let mut chosen: Vec<Cell> = Vec::new();
    for order in [by_time_beyond, by_late, long] {
        let mut cells = order.iter().map(|it| it.measured.cell);
        chosen.extend(cells.find(|cell| !chosen.contains(cell)));
    }
    chosen
}
