//! What a variant did: over all cells and at each round trip.

use std::collections::BTreeMap;

use run_format::{Site, network::Rtt};

use super::outcome::{self, Judged, Outcome};
use crate::{
    measure::{
        metric::{Metric, MetricKey},
        metric_info::Place,
        quantity::is_share,
    },
    stats::{self, MeanChange, Uncertain},
    summary::{CellSummary, ChangeFigure, Summary},
};

pub(crate) struct Candidate {
    pub(crate) variant: usize,
    pub(crate) label: String,
    /// For each of its budgets.
    pub(crate) yields: Vec<SiteYields>,
    /// The quantities that decide, as far as they were measured.
    pub(crate) judged: Vec<Judged>,
    pub(crate) details: BTreeMap<Metric, MeanChange>,
    pub(crate) by_rtt: Vec<AtRtt>,
    /// Whether it can differ from the baseline by noise only: no poll yielded because of it.
    pub(crate) is_idle: bool,
}

/// What a variant does at one round trip: mean changes over the cells there, in percentage points.
pub(crate) struct AtRtt {
    pub(crate) rtt_ms: Rtt,
    pub(crate) slow: Option<Uncertain>,
    pub(crate) late: Option<Uncertain>,
}

/// How often a budget of one site made polls yield.
#[derive(Clone)]
pub(crate) struct SiteYields {
    pub(crate) site: Site,
    /// Yields of 1,000 polls: the mean over cells, and the most of any cell. None if no poll was recorded.
    pub(crate) per_1000: Option<(f64, f64)>,
    /// Share of the slow polls without a budget that have a single slow iteration.
    pub(crate) single_iteration_percent: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Class {
    /// Something is better, nothing is worse, and a greater loss than the margin is excluded for every cost.
    Helps,
    /// The same, but a cost is unknown.
    HelpsCostUnknown,
    /// Something is better and something is worse.
    TradeOff,
    Unknown,
    /// Greater gains than the margins are excluded, and nothing is worse.
    NoGain,
    /// Something is worse and nothing is better.
    Harms,
    /// No poll yielded because of it, so it cannot have changed anything.
    NeverFires,
    /// No poll of its site was recorded.
    NoSite,
}

impl Candidate {
    /// Without what decides.
    pub(super) fn of(summary: &Summary, site: Site, variant: usize) -> Candidate {
        let compared = &summary.variants[variant];
        let yields = compared.bounds();
        let yields: Vec<SiteYields> = yields
            .map(|(site, _)| SiteYields::of(summary, site, variant))
            .collect();
        let detail = |metric: Metric| {
            let change = over_cells(metric, &from_baseline(summary, site, metric, variant))?;
            Some((metric, change))
        };
        let details = Metric::shown_in(Place::Details).into_iter();
        Candidate {
            variant,
            label: compared.label.clone(),
            judged: Vec::new(),
            details: details.filter_map(detail).collect(),
            by_rtt: AtRtt::all(summary, site, variant),
            is_idle: compared.acts_by_firing() && yields.iter().all(|it| it.most() == 0.0),
            yields,
        }
    }

    pub(crate) fn class(&self) -> Class {
        let any = |outcome| outcome::any(&self.judged, outcome);
        let all = |is_benefit, holds: fn(&Judged) -> bool| {
            let mut of_kind = self.judged.iter();
            of_kind.all(|it| it.quantity.is_benefit != is_benefit || holds(it))
        };
        let has_benefits = self.judged.iter().any(|it| it.quantity.is_benefit);
        match (any(Outcome::Better), any(Outcome::Worse)) {
            _ if self.is_idle && self.yields.iter().all(|it| it.per_1000.is_none()) => {
                Class::NoSite
            }
            _ if self.is_idle => Class::NeverFires,
            (true, true) => Class::TradeOff,
            (true, false) if all(false, |it| !it.is(Outcome::Unknown)) => Class::Helps,
            (true, false) => Class::HelpsCostUnknown,
            (false, true) => Class::Harms,
            (false, false) if has_benefits && all(true, Judged::excludes_gain) => Class::NoGain,
            (false, false) => Class::Unknown,
        }
    }

    pub(crate) fn gains(&self) -> bool {
        self.class() <= Class::TradeOff
    }

    pub(crate) fn of_metric(&self, metric: Metric) -> Option<&Judged> {
        self.judged.iter().find(|it| it.quantity.metric == metric)
    }
}

/// In every cell where it is known.
pub(super) fn from_baseline(
    summary: &Summary,
    site: Site,
    metric: Metric,
    variant: usize,
) -> Vec<ChangeFigure> {
    let what = MetricKey::new(site, metric);
    let changes = summary.measured().map(|cell| cell.change(what, variant));
    changes.flatten().collect()
}

/// The mean change of a share, the mean relative change of anything else.
pub(super) fn over_cells(metric: Metric, changes: &[ChangeFigure]) -> Option<MeanChange> {
    let all = |of: fn(&ChangeFigure) -> Option<Uncertain>| -> Vec<Uncertain> {
        changes.iter().filter_map(of).collect()
    };
    if is_share(metric) {
        MeanChange::of_differences(&all(|it| it.difference))
    } else {
        MeanChange::of_relatives(&all(|it| it.relative))
    }
}

impl AtRtt {
    fn all(summary: &Summary, site: Site, variant: usize) -> Vec<AtRtt> {
        let at = |rtt_ms: &Rtt| {
            let cells = summary.measured();
            let cells = cells.filter(|cell| cell.measured.cell.rtt_ms == *rtt_ms);
            let cells: Vec<&CellSummary> = cells.collect();
            let mean = |metric: Metric| {
                let what = MetricKey::new(site, metric);
                let changes = cells.iter().map(|it| it.change(what, variant)?.difference);
                stats::mean_over_cells(&changes.flatten().collect::<Vec<_>>())
            };
            AtRtt {
                rtt_ms: *rtt_ms,
                slow: mean(Metric::SlowPercent),
                late: mean(Metric::CotenantLatePercent),
            }
        };
        summary.axes.rtt_ms.iter().map(at).collect()
    }
}

impl SiteYields {
    fn of(summary: &Summary, site: Site, variant: usize) -> SiteYields {
        let what = MetricKey::new(site, Metric::YieldsPer1000);
        let yields = summary
            .measured()
            .filter_map(|cell| cell.value(what, variant));
        let yields: Vec<f64> = yields.collect();
        let most = yields.iter().copied().reduce(f64::max);
        let mean = yields.iter().sum::<f64>() / yields.len() as f64;
        let slow = summary.measured().filter_map(|cell| cell.slow_polls(site));
        let (single, all) = slow.fold((0, 0), |(single, all), slow| {
            (single + slow.by_one_iteration, all + slow.polls)
        });
        SiteYields {
            site,
            per_1000: most.map(|most| (mean, most)),
            single_iteration_percent: (all > 0).then(|| 100.0 * single as f64 / all as f64),
        }
    }

    fn most(&self) -> f64 {
        self.per_1000.map_or(0.0, |(_, most)| most)
    }
}
