//! A search over budgets: rounds of sweeps, and which budgets stay after each.

use std::path::Path;

use program::{Failure, bad_input};
use run_format::files::read_versioned;
use run_format::search::{self, NextRound, SEARCH};
use run_format::{Budgets, Cell, Site};

use crate::load::Sweep;
use crate::measure::{Metric, MetricKey, Place};
use crate::options::Options;
use crate::summary::{CONFIDENCE, CellSummary, Summary};
use crate::verdict::{Candidate, Judged, RANKS, Verdict};

/// How many candidates stay after each round at most. The last one does not choose for another.
pub(crate) const MOST_STAY: [usize; 3] = [24, 8, usize::MAX];

pub(crate) struct Search {
    pub(crate) of: search::Search,
    /// The sweep that chose the cells, and those cells.
    first_look: Option<(Summary, Vec<Cell>)>,
    pub(crate) rounds: Vec<Round>,
}

pub(crate) struct Round {
    pub(crate) summary: Summary,
    pub(crate) verdict: Verdict,
    pub(crate) left: Vec<Left>,
}

impl Search {
    pub(crate) fn open(dir: &Path, options: &Options) -> Result<Search, Failure> {
        let of = read_versioned(&dir.join(SEARCH)).map_err(bad_input)?;
        let rounds = search::rounds(dir).zip(MOST_STAY);
        let rounds = rounds.map(|(folder, most)| Round::of(&folder, options, most));
        let rounds = rounds.collect::<Result<_, _>>()?;
        let folder = search::first_look(dir);
        let mut first_look = None;
        if folder.is_dir() {
            let summary = Summary::of(&mut Sweep::open(&folder)?, options)?;
            let cells = chosen(&summary, options);
            first_look = Some((summary, cells));
        }
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
            let cells = last.summary.measured().map(|cell| cell.measured.cell);
            return NextRound {
                cells: cells.collect(),
                candidates: staying.into_iter().map(|(_, budgets)| budgets).collect(),
            };
        }
        let of_grid = || self.of.config.axes.cells();
        let first_look = self.first_look.as_ref();
        let candidates = self.candidates().filter(|it| !self.is_foreseen(*it));
        NextRound {
            cells: first_look.map_or_else(of_grid, |(_, cells)| cells.clone()),
            candidates: candidates.collect(),
        }
    }

    fn candidates(&self) -> impl Iterator<Item = Budgets> {
        let variants = self.of.config.variants.iter().map(|it| it.budgets);
        variants.filter(|it| *it != Budgets::NONE)
    }

    /// The candidates that never end a poll of those recorded at the first look, whatever the cell, and leave unmeasured.
    pub(crate) fn foreseen(&self) -> impl Iterator<Item = Budgets> {
        self.candidates().filter(|it| self.is_foreseen(*it))
    }

    pub(crate) fn is_foreseen(&self, budgets: Budgets) -> bool {
        let Some((summary, cells)) = &self.first_look else {
            return false;
        };
        if !budgets.acts_by_ending_polls() {
            return false;
        }
        let is_chosen = |cell: &&CellSummary| cells.contains(&cell.measured.cell);
        summary.cells.iter().filter(is_chosen).all(|cell| {
            Site::BUDGETED.into_iter().all(|site| {
                let mut idle = cell.bounds_without_effect(site);
                let bound = budgets.at(site);
                bound.is_none_or(|bound| idle.any(|limit| limit == bound.limit))
            })
        })
    }
}

impl Round {
    fn of(folder: &Path, options: &Options, most: usize) -> Result<Round, Failure> {
        let summary = Summary::of(&mut Sweep::open(folder)?, options)?;
        let verdict = Verdict::new(&summary, options);
        Ok(Round {
            left: eliminate(&summary, &verdict, most),
            summary,
            verdict,
        })
    }

    pub(crate) fn staying(&self) -> impl Iterator<Item = (usize, Budgets)> {
        let candidates = self.summary.candidates();
        let candidates = candidates.map(|(at, variant)| (at, variant.budgets));
        candidates.filter(|(at, _)| self.left.iter().all(|left| left.variant != *at))
    }
}

/// The cell with the most time beyond the threshold, that with the most late wake-ups of another task, and of those with the
/// longest round trip the one with the most time beyond the threshold.
fn chosen(summary: &Summary, options: &Options) -> Vec<Cell> {
    let site = summary.first_site(options);
    let by_time_beyond = summary.by_time_beyond(site);
    let late = MetricKey::new(site, Metric::CotenantLatePercent);
    let late = |cell: &CellSummary| cell.value(late, 0).unwrap_or(0.0);
    let mut by_late = by_time_beyond.clone();
    by_late.sort_by(|a, b| late(b).total_cmp(&late(a)));
    let rtt_ms = |cell: &&CellSummary| cell.measured.cell.rtt_ms;
    let longest = by_time_beyond.iter().map(rtt_ms).max();
    let mut long = by_time_beyond.clone();
    long.retain(|cell| Some(rtt_ms(cell)) == longest);
    let mut chosen: Vec<Cell> = Vec::new();
    for order in [by_time_beyond, by_late, long] {
        let mut cells = order.iter().map(|it| it.measured.cell);
        chosen.extend(cells.find(|cell| !chosen.contains(cell)));
    }
    chosen
}

pub(crate) struct Left {
    pub(crate) variant: usize,
    pub(crate) why: Why,
}

pub(crate) enum Why {
    NeverFires,
    /// A variant, the baseline included, is as good in all that decides, and better in something.
    Dominated {
        by: usize,
        judged: Vec<Judged>,
    },
    /// More stay than the next round has time for, and so many of them have better estimates of all that decides.
    Outranked(usize),
}

pub(crate) fn eliminate(summary: &Summary, verdict: &Verdict, most: usize) -> Vec<Left> {
    let (idle, mut fired): (Vec<_>, Vec<_>) = verdict.candidates.iter().partition(|it| it.is_idle);
    let left = |variant, why| Left { variant, why };
    let idle = idle.iter().map(|it| left(it.variant, Why::NeverFires));
    let mut leaving: Vec<Left> = idle.collect();
    // The one with the least gain first: of two that dominate each other by a hair, one stays.
    let first = |candidate| losses(candidate, RANKS.into()).next().unwrap_or(f64::MAX);
    fired.sort_by(|a, b| first(b).total_cmp(&first(a)));
    let mut staying: Vec<&Candidate> = fired.clone();
    // Both copies of the baseline together.
    let reference = summary.variants.len();
    for candidate in fired {
        let variant = candidate.variant;
        let others = staying.iter().rev().map(|it| it.variant);
        let mut others = others.filter(|it| *it != variant).chain([reference]);
        let dominated = others.find_map(|by| {
            let judged = verdict.changes(summary, [by, variant], CONFIDENCE);
            is_dominated(&judged).then_some(Why::Dominated { by, judged })
        });
        if let Some(why) = dominated {
            staying.retain(|it| it.variant != variant);
            leaving.push(left(variant, why));
        }
    }
    let ranks = staying.iter().map(|candidate| {
        let ahead = staying.iter().filter(|other| is_ahead(other, candidate));
        (ahead.count(), candidate.variant)
    });
    let mut ranks: Vec<(usize, usize)> = ranks.collect();
    ranks.sort_unstable();
    let outranked = ranks.into_iter().skip(most);
    leaving.extend(outranked.map(|(ahead, variant)| left(variant, Why::Outranked(ahead))));
    leaving
}

/// The changes of these metrics, turned so that positive is worse.
fn losses(candidate: &Candidate, metrics: Vec<Metric>) -> impl Iterator<Item = f64> {
    let metrics = metrics.into_iter();
    let judged = metrics.filter_map(|metric| candidate.of_metric(metric));
    judged.map(|it| it.quantity.loss(it.value))
}

fn is_ahead(other: &Candidate, candidate: &Candidate) -> bool {
    let losses = |candidate| losses(candidate, Metric::shown_in(Place::Search));
    let mut pairs = losses(other).zip(losses(candidate));
    other.variant != candidate.variant && pairs.all(|(other, own)| other <= own)
}

/// Of changes to a candidate from another variant: whether none can be a gain greater than the margin, and one is a loss.
fn is_dominated(judged: &[Judged]) -> bool {
    let metrics = Metric::shown_in(Place::Search);
    let decides = |judged: &&Judged| metrics.contains(&judged.quantity.metric);
    let mut deciding = judged.iter().filter(decides);
    deciding.clone().any(|judged| judged.loss().low > 0.0) && deciding.all(Judged::excludes_gain)
}
