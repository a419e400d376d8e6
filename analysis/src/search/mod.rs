//! A search over budgets: rounds of sweeps, and which budgets stay after each.

mod eliminate;
pub(crate) mod report;

use std::path::Path;

use anyhow::anyhow;
use program::{Failure, bad_input};
use run_format::{
    Budgets,
    files::read_versioned,
    grid::Cell,
    search::{self, NextRound, SEARCH},
};

pub(crate) use self::eliminate::{Left, Why, eliminate};
use crate::{
    load::Sweep,
    measure::metric::{Metric, What},
    options::Options,
    summary::{CellSummary, Summary},
    verdict::Verdict,
};

/// How many candidates stay after each round at most. The last one does not choose for another.
pub(crate) const MOST_STAY: [usize; 3] = [24, 8, usize::MAX];

/// The rounds that were measured.
pub(crate) struct Search {
    pub(crate) of: search::Search,
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
        let folders = (1..).map(|number| search::round(dir, number));
        let rounds = folders
            .take_while(|folder| folder.is_dir())
            .zip(MOST_STAY)
            .map(|(folder, most)| Round::of(&folder, options, most))
            .collect::<Result<_, _>>()?;
        Ok(Search { of, rounds })
    }

    /// What the next round measures: what stayed in the last one, in the same cells.
    pub(crate) fn next(&self, dir: &Path, options: &Options) -> Result<NextRound, Failure> {
        if let Some(last) = self.rounds.last() {
            // Those that the last round recommends come first.
            let ranked = last.verdict.ranked();
            let rank = |at: usize| ranked.iter().position(|it| it.variant == at);
            let mut staying: Vec<(usize, Budgets)> = last.staying().collect();
            staying.sort_by_key(|(at, _)| rank(*at).unwrap_or(usize::MAX));
            return Ok(NextRound {
                cells: last.summary.measured().map(|cell| cell.cell).collect(),
                candidates: staying.into_iter().map(|(_, budgets)| budgets).collect(),
            });
        }
        let cells = if self.of.chooses_cells {
            let sweep = Sweep::open(&search::first_look(dir))?;
            chosen(&Summary::of(&sweep, options)?, options)
        } else {
            self.of.config.axes.cells()
        };
        let variants = self.of.config.variants.iter().map(|it| it.budgets);
        Ok(NextRound {
            cells,
            candidates: variants.filter(|it| *it != Budgets::NONE).collect(),
        })
    }
}

impl Round {
    fn of(folder: &Path, options: &Options, most: usize) -> Result<Round, Failure> {
        let summary = Summary::of(&Sweep::open(folder)?, options)?;
        if summary.measured().next().is_none() {
            return Err(bad_input(anyhow!(
                "{}: no cell was measured",
                folder.display()
            )));
        }
        let verdict = Verdict::of(&summary, options);
        let left = eliminate(&summary, &verdict, most);
        Ok(Round {
            summary,
            verdict,
            left,
        })
    }

    /// The variants that the next round has, too, by index.
    pub(crate) fn staying(&self) -> impl Iterator<Item = (usize, Budgets)> {
        let candidates = self.summary.candidates();
        let candidates = candidates.map(|(at, variant)| (at, variant.budgets));
        candidates.filter(|(at, _)| self.left.iter().all(|left| left.variant != *at))
    }
}

/// The cell with the most time in slow polls, that with the most late wake-ups of the co-tenant, and of those with the
/// longest round trip the one with the most time in slow polls.
fn chosen(summary: &Summary, options: &Options) -> Vec<Cell> {
    let by_slow_time = summary.by_slow_time(options.first_site());
    let mut by_late = by_slow_time.clone();
    let late = |cell: &CellSummary| {
        let what = What::of(options.first_site(), Metric::CotenantLatePercent);
        cell.value(what, 0).unwrap_or(0.0)
    };
    by_late.sort_by(|a, b| late(b).total_cmp(&late(a)));
    let longest = by_slow_time.iter().map(|it| it.cell.rtt_ms).max();
    let mut long = by_slow_time.clone();
    long.retain(|it| Some(it.cell.rtt_ms) == longest);
    let mut chosen: Vec<Cell> = Vec::new();
    for order in [by_slow_time, by_late, long] {
        let mut cells = order.iter().map(|it| it.cell);
        chosen.extend(cells.find(|cell| !chosen.contains(cell)));
    }
    chosen
}
