//! What a budget did: over all cells, and in each. Numbers here, words in [`words`].

pub(crate) mod holders;
pub(crate) mod words;

use std::collections::BTreeMap;

use crate::{
    budget::Budget,
    measure::metric::{Better, Metric, Site, What},
    stats::{self, Middle, Uncertain},
    summary::{CONFIDENCE, CellSummary, Resolved, Summary},
};

/// The quantities that decide about a budget: the ratio, what another task has of it, and the price.
const DECIDING: [Metric; 7] = [
    Metric::SlowPercent,
    Metric::CotenantLatePercent,
    Metric::CotenantP90Us,
    Metric::CotenantP99Us,
    Metric::RequestsPerS,
    Metric::LatencyP50Ms,
    Metric::LatencyP99Ms,
];

/// Those of them that are a co-tenant's.
const COTENANT: [Metric; 3] = [
    Metric::CotenantLatePercent,
    Metric::CotenantP90Us,
    Metric::CotenantP99Us,
];

/// What is said of a sweep.
pub(crate) struct Verdict {
    /// The site whose slow polls it is about.
    pub(crate) site: Site,
    /// How many cells there are to go by.
    pub(crate) cells: usize,
    pub(crate) candidates: Vec<Judged>,
    /// The twin of the baseline, judged as if it were a candidate.
    pub(crate) twin: Option<Judged>,
    /// The least bound with a gain and no loss: an index into `candidates`.
    pub(crate) best: Option<usize>,
}

/// A variant against the baseline.
pub(crate) struct Judged {
    pub(crate) variant: usize,
    pub(crate) label: String,
    pub(crate) budgets: Vec<Budget>,
    /// Of the sites that have a bound: yields of all polls, mean over cells, and the most of any cell.
    pub(crate) yields_per_1000: Option<(f64, f64)>,
    /// Of the baseline's slow polls at the site that has the bound: the share that has a single
    /// iteration over the threshold, mean over cells.
    pub(crate) single_iteration_percent: Option<f64>,
    /// Polls of the verdict's site per request against the baseline, in the median cell.
    pub(crate) extra_polls_percent: Option<f64>,
    pub(crate) effects: BTreeMap<Metric, Effect>,
    pub(crate) class: Class,
}

/// What happened to a quantity.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effect {
    /// Cells in which it is resolved to be lower, to be higher, or is neither.
    pub(crate) lower: usize,
    pub(crate) higher: usize,
    pub(crate) unresolved: usize,
    /// The mean change over cells, in the metric's unit.
    pub(crate) mean: Option<Uncertain>,
    /// The relative change in the median cell, in percent.
    pub(crate) relative: Option<Middle>,
    /// Whether what [`is_share`] chooses of the two is resolved, all that are judged having been looked at.
    pub(crate) resolved: Resolved,
}

/// A budget in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// It was never spent, so that it can have changed nothing.
    NeverFires,
    /// Slow polls are fewer, and another task on the worker waits less.
    Helps,
    /// Slow polls are fewer, and nothing shows that another task waits less.
    RatioOnly,
    /// Something is worse, and slow polls are not fewer.
    Harms,
    Unresolved,
}

impl Verdict {
    pub(crate) fn of(summary: &Summary, site: Site) -> Verdict {
        let judged = summary
            .candidates()
            .map(|(variant, _)| Judged::of(summary, site, variant));
        let mut candidates: Vec<Judged> = judged.collect();
        let mut twin = summary
            .twin()
            .map(|(variant, _)| Judged::of(summary, site, variant));
        resolve(&mut candidates);
        resolve(twin.as_mut_slice());
        let best = best(&candidates);
        Verdict {
            site,
            cells: summary.measured().count(),
            candidates,
            twin,
            best,
        }
    }
}

impl Judged {
    fn of(summary: &Summary, site: Site, variant: usize) -> Judged {
        let budgets = Budget::all(&summary.variants[variant].budgets);
        let effects = DECIDING.into_iter().map(|metric| {
            let what = What::of(site, metric);
            (metric, Effect::of(summary, what, variant))
        });
        Judged {
            variant,
            label: summary.variants[variant].label.clone(),
            yields_per_1000: yields(summary, &budgets, variant),
            single_iteration_percent: single_iteration(summary, &budgets),
            extra_polls_percent: extra_polls(summary, site, variant),
            effects: effects.collect(),
            budgets,
            class: Class::Unresolved,
        }
    }

    pub(crate) fn effect(&self, metric: Metric) -> Option<&Effect> {
        self.effects.get(&metric)
    }

    fn is_resolved(&self, metric: Metric, good: bool) -> bool {
        self.effect(metric).is_some_and(|effect| {
            if good {
                effect.resolved.is_good(metric.better())
            } else {
                effect.resolved.is_bad(metric.better())
            }
        })
    }

    /// The quantities that are resolved to be worse.
    pub(crate) fn losses(&self) -> Vec<Metric> {
        let metrics = DECIDING.into_iter();
        metrics
            .filter(|metric| self.is_resolved(*metric, false))
            .collect()
    }

    /// Those that are resolved to be better.
    pub(crate) fn gains(&self) -> Vec<Metric> {
        let metrics = DECIDING.into_iter();
        metrics
            .filter(|metric| self.is_resolved(*metric, true))
            .collect()
    }

    fn class(&self) -> Class {
        let helps = COTENANT.iter().any(|it| self.is_resolved(*it, true))
            && !COTENANT.iter().any(|it| self.is_resolved(*it, false));
        let fewer = self.is_resolved(Metric::SlowPercent, true);
        if self.yields_per_1000.is_some_and(|(_, most)| most == 0.0) {
            Class::NeverFires
        } else if fewer && helps {
            Class::Helps
        } else if fewer {
            Class::RatioOnly
        } else if !self.losses().is_empty() {
            Class::Harms
        } else {
            Class::Unresolved
        }
    }
}

impl Effect {
    fn of(summary: &Summary, what: What, variant: usize) -> Effect {
        let changes: Vec<_> = summary
            .measured()
            .filter_map(|cell| cell.change(what, variant))
            .collect();
        let count = |resolved| {
            changes
                .iter()
                .filter(|change| change.resolved == resolved)
                .count()
        };
        let differences: Vec<Uncertain> = changes
            .iter()
            .filter_map(|change| change.difference)
            .collect();
        let relatives: Vec<Uncertain> = changes
            .iter()
            .filter_map(|change| change.relative)
            .collect();
        Effect {
            lower: count(Resolved::Lower),
            higher: count(Resolved::Higher),
            unresolved: count(Resolved::No),
            mean: stats::mean_over_cells(&differences),
            relative: stats::middle_of_cells(&relatives, CONFIDENCE),
            resolved: Resolved::No,
        }
    }

    /// The value that is judged, and how likely chance alone is to give it.
    fn judged(&self, metric: Metric) -> Option<(f64, f64)> {
        if is_share(metric) {
            self.mean.map(|mean| (mean.value, mean.p_value()))
        } else {
            self.relative.map(|middle| (middle.value, middle.p_value))
        }
    }
}

/// Shares are averaged over cells; all else differs between cells by orders of magnitude, and so do its
/// errors, so that the median relative change stands for it.
pub(crate) fn is_share(metric: Metric) -> bool {
    matches!(metric, Metric::SlowPercent | Metric::CotenantLatePercent)
}

/// Decides what is resolved over all cells, over all variants and quantities at once, and what that makes of
/// each variant.
fn resolve(judged: &mut [Judged]) {
    let p_values: Vec<Option<f64>> = judged
        .iter()
        .flat_map(|it| &it.effects)
        .map(|(metric, effect)| effect.judged(*metric).map(|(_, p_value)| p_value))
        .collect();
    let mut adjusted = stats::adjusted_p_values(&p_values).into_iter();
    for it in &mut *judged {
        for (metric, effect) in &mut it.effects {
            let p_value = adjusted.next().flatten();
            if let (Some(p_value), Some((value, _))) = (p_value, effect.judged(*metric)) {
                effect.resolved = Resolved::new(stats::is_resolved(p_value), value);
            }
        }
    }
    for it in judged {
        it.class = it.class();
    }
}

/// What helps and costs nothing that is resolved; else what lowers the ratio and costs nothing; and
/// among several that with the most room.
fn best(candidates: &[Judged]) -> Option<usize> {
    let room = |judged: &Judged| judged.budgets.iter().map(|it| it.limit.room()).max();
    [Class::Helps, Class::RatioOnly]
        .into_iter()
        .find_map(|class| {
            candidates
                .iter()
                .enumerate()
                .filter(|(_, judged)| judged.class == class && judged.losses().is_empty())
                .max_by_key(|(_, judged)| room(judged))
                .map(|(at, _)| at)
        })
}

fn yields(summary: &Summary, budgets: &[Budget], variant: usize) -> Option<(f64, f64)> {
    let of_cell = |cell: &CellSummary| {
        let of_sites = budgets
            .iter()
            .map(|budget| cell.value(What::of(budget.site, Metric::YieldsPer1000), variant));
        of_sites.flatten().reduce(f64::max)
    };
    let yields: Vec<f64> = summary.measured().filter_map(of_cell).collect();
    let most = yields.iter().copied().reduce(f64::max)?;
    Some((yields.iter().sum::<f64>() / yields.len() as f64, most))
}

fn single_iteration(summary: &Summary, budgets: &[Budget]) -> Option<f64> {
    let site = budgets.first()?.site;
    mean(
        summary
            .measured()
            .filter_map(|cell| cell.value(What::of(site, Metric::SingleIterationPercent), 0)),
    )
}

fn extra_polls(summary: &Summary, site: Site, variant: usize) -> Option<f64> {
    let what = What::of(site, Metric::PollsPerRequest);
    let relatives = summary
        .measured()
        .filter_map(|cell| cell.change(what, variant)?.relative);
    let relatives: Vec<Uncertain> = relatives.collect();
    stats::middle_of_cells(&relatives, CONFIDENCE).map(|middle| middle.value)
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let values: Vec<f64> = values.collect();
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Whether a candidate gains or loses anything that is resolved in one cell.
pub(crate) fn in_cell(cell: &CellSummary, site: Site, variant: usize) -> InCell {
    let mut in_cell = InCell::default();
    for metric in DECIDING {
        let Some(change) = cell.change(What::of(site, metric), variant) else {
            continue;
        };
        if change.resolved.is_good(metric.better()) {
            in_cell.gains.push(metric);
        } else if change.resolved.is_bad(metric.better()) {
            in_cell.losses.push(metric);
        }
    }
    debug_assert!(DECIDING.iter().all(|it| it.better() != Better::Neither));
    in_cell
}

/// What is resolved in one cell.
#[derive(Clone, Debug, Default)]
pub(crate) struct InCell {
    pub(crate) gains: Vec<Metric>,
    pub(crate) losses: Vec<Metric>,
}
