//! A search over budgets: rounds of sweeps, and the choice of budgets that stay after each round.

use std::path::Path;

use program::{Failure, bad_input};
use run_format::files::read_versioned;
use run_format::search::{self, NextRound, SEARCH};
use run_format::{BASELINE, Budgets, Cell, Site};

use crate::load::Sweep;
use crate::metrics::{Metric, MetricKey, ReportPart, Side};
use crate::options::Options;
use crate::stats::CONFIDENCE;
use crate::summary::{CellSummary, Summary};
use crate::verdict::{Candidate, QuantityChange, RANKS, Verdict};

/// The most candidates that stay after each round. No round follows the last one, so all its candidates stay.
pub(crate) const MOST_STAY: [usize; 3] = [24, 8, usize::MAX];

pub(crate) struct Search {
    pub(crate) file: search::Search,
    first_look: Option<FirstLook>,
    pub(crate) rounds: Vec<Round>,
}

/// The sweep that chose the cells, and the cells that it chose.
struct FirstLook {
    summary: Summary,
    cells: Vec<Cell>,
}

pub(crate) struct Round {
    pub(crate) summary: Summary,
    pub(crate) verdict: Verdict,
    /// The candidates that do not stay after this round.
    pub(crate) eliminated: Vec<Eliminated>,
}

impl Search {
    pub(crate) fn open(dir: &Path, options: &Options) -> Result<Search, Failure> {
        let file = read_versioned(&dir.join(SEARCH)).map_err(bad_input)?;
        let rounds = search::rounds(dir)
            .zip(MOST_STAY)
            .map(|(folder, most)| Round::open(&folder, options, most))
            .collect::<Result<_, _>>()?;
        let folder = search::first_look(dir);
        let mut first_look = None;
        if folder.is_dir() {
            let summary = Summary::read(Sweep::open(&folder)?, options)?;
            let cells = chosen(&summary, options);
            first_look = Some(FirstLook { summary, cells });
        }
        Ok(Search {
            file,
            first_look,
            rounds,
        })
    }

    /// The next round. It measures the candidates that stayed in the last one, in the same cells.
    pub(crate) fn next(&self) -> NextRound {
        if let Some(last) = self.rounds.last() {
            // Candidates that the last round ranks first come first.
            let ranked = last.verdict.ranked();
            let rank = |variant: usize| {
                ranked
                    .iter()
                    .position(|candidate| candidate.variant == variant)
            };
            let mut staying: Vec<(usize, Budgets)> = last.staying().collect();
            staying.sort_by_key(|(variant, _)| rank(*variant).unwrap_or(usize::MAX));
            let cells = last.summary.measured_cells().map(|cell| cell.cell());
            return NextRound {
                cells: cells.collect(),
                candidates: staying.into_iter().map(|(_, budgets)| budgets).collect(),
            };
        }
        let whole_grid = || self.file.config.axes.cells();
        let first_look = self.first_look.as_ref();
        let candidates = self
            .candidates()
            .filter(|budgets| !self.is_foreseen(*budgets));
        NextRound {
            cells: first_look.map_or_else(whole_grid, |look| look.cells.clone()),
            candidates: candidates.collect(),
        }
    }

    pub(crate) fn candidates(&self) -> impl Iterator<Item = Budgets> {
        let variants = self.file.config.variants.iter();
        let all = variants.map(|variant| variant.budgets);
        all.filter(|budgets| *budgets != Budgets::NONE)
    }

    /// The candidates that are left out without a measurement, because they would have ended no poll that the first look
    /// recorded.
    pub(crate) fn foreseen(&self) -> impl Iterator<Item = Budgets> {
        self.candidates()
            .filter(|budgets| self.is_foreseen(*budgets))
    }

    fn is_foreseen(&self, budgets: Budgets) -> bool {
        let Some(FirstLook { summary, cells }) = &self.first_look else {
            return false;
        };
        if !budgets.only_ends_polls_of_central() {
            return false;
        }
        let is_chosen = |cell: &&CellSummary| cells.contains(&cell.cell());
        summary.cells.iter().filter(is_chosen).all(|cell| {
            Site::BUDGETED.into_iter().all(|site| {
                let mut without_effect = cell.bounds_without_effect(site);
                let bound = budgets.at(site);
                bound.is_none_or(|bound| without_effect.any(|limit| limit == bound.limit))
            })
        })
    }
}

impl Round {
    fn open(folder: &Path, options: &Options, most: usize) -> Result<Round, Failure> {
        let summary = Summary::read(Sweep::open(folder)?, options)?;
        let verdict = Verdict::new(&summary, options);
        Ok(Round {
            eliminated: eliminate(&summary, &verdict, most),
            summary,
            verdict,
        })
    }

    pub(crate) fn staying(&self) -> impl Iterator<Item = (usize, Budgets)> {
        let stays = |variant: usize| {
            let mut eliminated = self.eliminated.iter();
            eliminated.all(|one| one.variant != variant)
        };
        let candidates = self.summary.candidates();
        let staying = candidates.filter(move |(variant, _)| stays(*variant));
        staying.map(|(variant, compared)| (variant, compared.budgets))
    }
}

/// Chooses the cells of the search: the cell with the most time beyond the threshold, the cell with the most late wake-ups of
/// another task, and the cell with the most time beyond the threshold among those with the longest round trip.
fn chosen(summary: &Summary, options: &Options) -> Vec<Cell> {
    let site = summary.judged_site(options);
    let by_time_beyond = summary.by_time_beyond(site);
    let key = MetricKey::new(site, Metric::CotenantLatePercent);
    let late = |cell: &CellSummary| cell.value(key, BASELINE).unwrap_or(0.0);
    let mut by_late = by_time_beyond.clone();
    by_late.sort_by(|a, b| late(b).total_cmp(&late(a)));
    let rtt_ms = |cell: &&CellSummary| cell.cell().rtt_ms;
    let longest = by_time_beyond.iter().map(rtt_ms).max();
    let mut long = by_time_beyond.clone();
    long.retain(|cell| Some(rtt_ms(cell)) == longest);
    let mut chosen: Vec<Cell> = Vec::new();
    for order in [by_time_beyond, by_late, long] {
        let mut cells = order.iter().map(|cell| cell.cell());
        chosen.extend(cells.find(|cell| !chosen.contains(cell)));
    }
    chosen
}

pub(crate) struct Eliminated {
    pub(crate) variant: usize,
    pub(crate) why: Why,
}

pub(crate) enum Why {
    NeverFires,
    /// A gain over another variant, or over the reference, is excluded in all quantities that decide, and a loss is shown in
    /// one of them.
    Dominated {
        by: Side,
        changes: Vec<QuantityChange>,
    },
    /// More candidates stay than the next round has time for, and this many of them have better estimates of all quantities
    /// that decide.
    Outranked(usize),
}

pub(crate) fn eliminate(summary: &Summary, verdict: &Verdict, most: usize) -> Vec<Eliminated> {
    let (never_fired, mut fired): (Vec<_>, Vec<_>) = verdict
        .candidates
        .iter()
        .partition(|candidate| candidate.never_fired);
    let eliminated = |variant, why| Eliminated { variant, why };
    let first = never_fired
        .iter()
        .map(|candidate| eliminated(candidate.variant, Why::NeverFires));
    let mut leaving: Vec<Eliminated> = first.collect();
    // Candidates with the least gain come first, so that one stays of two that dominate each other.
    let loss = |candidate| losses(candidate, RANKS.into()).next().unwrap_or(f64::MAX);
    fired.sort_by(|a, b| loss(b).total_cmp(&loss(a)));
    let mut staying: Vec<&Candidate> = fired.clone();
    for candidate in fired {
        let variant = candidate.variant;
        let stay = staying.iter().rev().map(|candidate| candidate.variant);
        let others = stay.filter(|other| *other != variant).map(Side::Variant);
        let dominated = others.chain([Side::Reference]).find_map(|by| {
            let changes = verdict.changes_between(summary, by, variant, CONFIDENCE);
            is_dominated(&changes).then_some(Why::Dominated { by, changes })
        });
        if let Some(why) = dominated {
            staying.retain(|candidate| candidate.variant != variant);
            leaving.push(eliminated(variant, why));
        }
    }
    let ranks = staying.iter().map(|candidate| {
        let ahead = staying.iter().filter(|other| is_ahead(other, candidate));
        (ahead.count(), candidate.variant)
    });
    let mut sorted: Vec<(usize, usize)> = ranks.collect();
    sorted.sort_unstable();
    let outranked = sorted.into_iter().skip(most);
    leaving.extend(outranked.map(|(ahead, variant)| eliminated(variant, Why::Outranked(ahead))));
    leaving
}

/// The changes of these metrics, turned so that positive is worse.
fn losses(candidate: &Candidate, metrics: Vec<Metric>) -> impl Iterator<Item = f64> {
    let changes = metrics
        .into_iter()
        .filter_map(|metric| candidate.overall_change(metric));
    changes.map(|change| change.quantity.loss(change.value))
}

fn is_ahead(other: &Candidate, candidate: &Candidate) -> bool {
    let losses = |candidate| losses(candidate, Metric::shown_in(ReportPart::Search));
    let mut pairs = losses(other).zip(losses(candidate));
    other.variant != candidate.variant && pairs.all(|(other, own)| other <= own)
}

/// Whether a candidate is dominated by another variant, given the changes from that variant to the candidate: none can be a
/// gain greater than the margin, and one is a loss.
fn is_dominated(changes: &[QuantityChange]) -> bool {
    let metrics = Metric::shown_in(ReportPart::Search);
    let decides = |change: &&QuantityChange| metrics.contains(&change.quantity.metric);
    let mut deciding = changes.iter().filter(decides);
    deciding.clone().any(|change| change.loss().low > 0.0)
        && deciding.all(QuantityChange::excludes_gain)
}
