//! The changes that a variant made in each group of cells and over all cells, and the class that they give it.

use std::collections::BTreeMap;

use run_format::{Cell, Ends, Site};

use super::delay_group::DelayGroup;
use super::outcome::{self, Outcome, QuantityChange};
use super::threshold::AtThreshold;
use crate::metrics::{Metric, MetricKey, Quantity};
use crate::stats::{self, MeanChange, Uncertain, percent};
use crate::summary::{CellSummary, ChangeFigure, Resolved, Summary};
use crate::text::count;

pub(crate) struct Candidate {
    pub(crate) variant: usize,
    pub(crate) label: String,
    pub(crate) ends: Ends,
    pub(crate) yields: Vec<SiteYields>,
    /// The changes of the measured quantities over all cells.
    pub(crate) changes: Vec<QuantityChange>,
    /// The changes in each group of cells. Empty if all cells are in one group.
    pub(crate) groups: Vec<GroupChanges>,
    pub(crate) curve: Vec<AtThreshold>,
    /// The change of the time beyond each threshold over all cells. The keys are thresholds in nanoseconds.
    pub(crate) beyond: BTreeMap<u64, QuantityChange>,
    /// The thresholds at which the time beyond them changes in the other direction than at the report's threshold.
    pub(crate) opposite: Vec<u64>,
    /// The cells in which a loss is resolved that exceeds the margin, the greatest first.
    pub(crate) worse_cells: Vec<WorseCell>,
    /// Whether no poll yielded because of the candidate, so that it differs from the baseline by noise only.
    pub(crate) never_fired: bool,
    /// Whether the candidate was compared in an application, which decides itself what it counts.
    pub(crate) is_of_application: bool,
}

pub(crate) struct GroupChanges {
    pub(crate) group: DelayGroup,
    /// The name of the group in sentences, such as "without delay".
    pub(crate) words: String,
    pub(crate) cells: usize,
    pub(crate) changes: Vec<QuantityChange>,
    /// The change of the time beyond each threshold. The keys are thresholds in nanoseconds.
    pub(crate) beyond: BTreeMap<u64, QuantityChange>,
}

pub(crate) struct WorseCell {
    pub(crate) cell: Cell,
    pub(crate) quantity: Quantity,
    /// The change in percentage points if the quantity is a share, else in percent.
    pub(crate) change: Uncertain,
    loss_in_margins: f64,
}

#[derive(Clone)]
pub(crate) struct SiteYields {
    pub(crate) site: Site,
    /// False if the stack has the site but no poll of it was recorded. A packed sweep has one site only.
    pub(crate) is_known: bool,
    /// None if no poll was recorded.
    pub(crate) per_1000: Option<YieldsPer1000>,
    /// The share of slow polls without a budget that have a single slow iteration.
    pub(crate) single_iteration_percent: Option<f64>,
}

/// The number of yields per 1,000 polls.
#[derive(Clone, Copy)]
pub(crate) struct YieldsPer1000 {
    /// The mean over cells.
    pub(crate) mean: f64,
    /// The value of the cell with the most.
    pub(crate) most: f64,
}

/// What a candidate does, from best to worst. The ranking uses this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Class {
    /// Something is better, nothing is worse, and a greater loss than the margin is excluded for every cost.
    Helps,
    /// Something is better and nothing is worse, but a cost is unknown.
    HelpsCostUnknown,
    /// Something is better and something is worse.
    TradeOff,
    /// Something is better in an application, but no other task is shown to wait less, or no cost was measured.
    Unadvised,
    Unknown,
    /// Greater gains than the margins are excluded, and nothing is worse.
    NoGain,
    /// Something is worse and nothing is better.
    Harms,
    /// No poll yielded because of the budget, so it cannot have changed anything.
    NeverFires,
    NoSite,
}

impl GroupChanges {
    pub(crate) fn class(&self) -> Class {
        Class::from_changes(&self.changes)
    }

    /// Returns words such as "without delay, 20 cells".
    pub(crate) fn words_with_cells(&self) -> String {
        format!("{}, {}", self.words, count(self.cells, "cell"))
    }
}

impl Class {
    /// Whether something is better and nothing is worse.
    pub(super) fn helps(self) -> bool {
        matches!(self, Class::Helps | Class::HelpsCostUnknown)
    }

    /// Whether something is better. It may be advised, even if something is worse.
    fn gains(self) -> bool {
        self.helps() || self == Class::TradeOff
    }

    /// The class of a candidate that fired and changed these quantities.
    fn from_changes(changes: &[QuantityChange]) -> Class {
        let any = |outcome| outcome::any(changes, outcome);
        let all = |is_benefit, holds: fn(&QuantityChange) -> bool| {
            let alike = |change: &&QuantityChange| change.quantity.is_benefit() == is_benefit;
            changes.iter().filter(alike).all(holds)
        };
        let has_benefits = changes.iter().any(|change| change.quantity.is_benefit());
        match (any(Outcome::Better), any(Outcome::Worse)) {
            (true, true) => Class::TradeOff,
            (true, false) if all(false, |cost| !cost.is(Outcome::Unknown)) => Class::Helps,
            (true, false) => Class::HelpsCostUnknown,
            (false, true) => Class::Harms,
            (false, false) if has_benefits && all(true, QuantityChange::excludes_gain) => {
                Class::NoGain
            }
            (false, false) => Class::Unknown,
        }
    }
}

impl Candidate {
    /// The changes that decide. They are those of every group if there are several, else those over all cells.
    pub(crate) fn deciding(&self) -> Vec<QuantityChange> {
        let changes = self.deciding_by_group().into_iter();
        changes.map(|(_, change)| change).collect()
    }

    /// The changes that decide, each with the words for its group. The words are empty if all cells are in one group.
    pub(super) fn deciding_by_group(&self) -> Vec<(&str, QuantityChange)> {
        let by_group = self.groups.iter().flat_map(|group| {
            let changes = group.changes.iter();
            changes.map(|change| (&*group.words, *change))
        });
        match self.groups.is_empty() {
            true => self.changes.iter().map(|change| ("", *change)).collect(),
            false => by_group.collect(),
        }
    }

    pub(crate) fn class(&self) -> Class {
        match self.never_fired {
            true if self.yields.iter().all(|bound| bound.per_1000.is_none()) => Class::NoSite,
            true => Class::NeverFires,
            false => match Class::from_changes(&self.deciding()) {
                class if class.gains() && !self.lacks().is_empty() => Class::Unadvised,
                class => class,
            },
        }
    }

    /// The reasons not to use the candidate although it gains something in an application. Empty if there is nothing against
    /// it.
    pub(crate) fn lacks(&self) -> Vec<&'static str> {
        let deciding = self.deciding();
        let is_wait = |change: &&QuantityChange| {
            let waits = [Metric::CotenantP90Us, Metric::CotenantLatePercent];
            waits.contains(&change.quantity.metric)
        };
        let helps_others = deciding
            .iter()
            .filter(is_wait)
            .any(|change| change.is(Outcome::Better));
        let has_cost = deciding.iter().any(|change| !change.quantity.is_benefit());
        let lacks = [
            (helps_others, "no other task is shown to wait less"),
            (has_cost, "no cost was measured"),
        ];
        lacks
            .into_iter()
            .filter(|(is_there, _)| self.is_of_application && !is_there)
            .map(|(_, words)| words)
            .collect()
    }

    /// The outcome of all quantities that decide together: worse if one is worse, and better if the candidate helps.
    pub(crate) fn outcome(&self) -> Outcome {
        let outcomes = self.deciding();
        let worst = outcomes.iter().map(QuantityChange::outcome).max();
        let worst = worst.unwrap_or(Outcome::Unknown);
        match self.class() {
            Class::Helps => Outcome::Better,
            // Something is better, but the candidate is not advised.
            Class::Unadvised => worst.max(Outcome::NotWorse),
            _ => worst,
        }
    }

    /// Whether polls or the waits of another task get shorter. A candidate may gain throughput or CPU time only.
    pub(super) fn shortens(&self) -> bool {
        let mut deciding = self.deciding().into_iter();
        deciding.any(|change| change.quantity.is_benefit() && change.is(Outcome::Better))
    }

    pub(crate) fn gains(&self) -> bool {
        self.class().gains()
    }

    /// The change of a quantity in one group of cells, or in all cells.
    pub(crate) fn change_in(
        &self,
        group: Option<usize>,
        quantity: Quantity,
    ) -> Option<&QuantityChange> {
        let changes = match group {
            Some(group) => &self.groups.get(group)?.changes,
            None => &self.changes,
        };
        changes.iter().find(|change| change.quantity == quantity)
    }

    /// The change of the time beyond a threshold in one group of cells, or in all cells.
    pub(crate) fn beyond_in(
        &self,
        group: Option<usize>,
        threshold_ns: u64,
    ) -> Option<&QuantityChange> {
        let beyond = match group {
            Some(group) => &self.groups.get(group)?.beyond,
            None => &self.beyond,
        };
        beyond.get(&threshold_ns)
    }

    /// The change of a metric over all cells.
    pub(crate) fn overall_change(&self, metric: Metric) -> Option<&QuantityChange> {
        self.changes
            .iter()
            .find(|change| change.quantity.metric == metric)
    }
}

pub(super) fn from_baseline<'a>(
    cells: impl Iterator<Item = &'a CellSummary>,
    site: Site,
    metric: Metric,
    variant: usize,
) -> Vec<ChangeFigure> {
    let key = MetricKey::new(site, metric);
    let changes = cells.map(|cell| cell.change(key, variant));
    changes.flatten().collect()
}

/// The mean change over cells: the difference for a share, and the relative change for any other metric.
pub(super) fn over_cells(metric: Metric, changes: &[ChangeFigure]) -> Option<MeanChange> {
    let changes: Vec<Uncertain> = changes
        .iter()
        .filter_map(|change| averaged_change(metric, change))
        .collect();
    match metric.info().is_share {
        true => MeanChange::from_differences(&changes),
        false => MeanChange::from_relatives(&changes),
    }
}

fn averaged_change(metric: Metric, change: &ChangeFigure) -> Option<Uncertain> {
    match metric.info().is_share {
        true => change.difference,
        false => change.relative,
    }
}

/// The cells in which a loss greater than the margin is resolved. The loss of the most margins comes first.
pub(super) fn worse_cells(
    summary: &Summary,
    site: Site,
    quantities: &[Quantity],
    variant: usize,
) -> Vec<WorseCell> {
    let worse = |&quantity: &Quantity| {
        let key = MetricKey::new(site, quantity.metric);
        let cells = summary.measured_cells().filter_map(move |cell| {
            let figure = cell.change(key, variant)?;
            let change = averaged_change(quantity.metric, &figure)?;
            let loss_in_margins = quantity.loss(change.value) / quantity.margin;
            (figure.resolved != Resolved::No && loss_in_margins > 1.0).then_some(WorseCell {
                cell: cell.cell(),
                quantity,
                change,
                loss_in_margins,
            })
        });
        cells.collect::<Vec<_>>()
    };
    let mut cells: Vec<WorseCell> = quantities.iter().flat_map(worse).collect();
    cells.sort_by(|a, b| b.loss_in_margins.total_cmp(&a.loss_in_margins));
    cells
}

/// Whether polls yielded because of a variant. This is known before anything is judged.
pub(super) struct Firing {
    pub(super) yields: Vec<SiteYields>,
    pub(super) never_fired: bool,
}

impl Firing {
    pub(super) fn find(summary: &Summary, variant: usize) -> Firing {
        let compared = &summary.variants[variant];
        let yields: Vec<SiteYields> = compared
            .bounds()
            .map(|(site, _)| SiteYields::new(summary, site, variant))
            .collect();
        Firing {
            never_fired: compared.changes_nothing_unless_it_fires()
                && yields.iter().all(|bound| bound.is_known && !bound.fired()),
            yields,
        }
    }
}

impl SiteYields {
    fn new(summary: &Summary, site: Site, variant: usize) -> SiteYields {
        let key = MetricKey::new(site, Metric::YieldsPer1000);
        let yields = || summary.values(key, variant);
        let slow = summary
            .measured_cells()
            .filter_map(|cell| cell.slow_polls(site));
        let (single, all) = slow.fold((0, 0), |(single, all), slow| {
            (single + slow.by_one_iteration, all + slow.polls)
        });
        SiteYields {
            site,
            is_known: !summary.identity.sites.has(site)
                || summary.has(MetricKey::new(site, Metric::PollsPerRequest)),
            per_1000: stats::mean(yields())
                .zip(yields().reduce(f64::max))
                .map(|(mean, most)| YieldsPer1000 { mean, most }),
            single_iteration_percent: percent(single as f64, all as f64),
        }
    }

    fn fired(&self) -> bool {
        self.per_1000.is_some_and(|yields| yields.most > 0.0)
    }
}
