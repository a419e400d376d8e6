//! What a budget did: over all cells, and in each. Numbers here, words in [`words`].

pub(crate) mod holders;
pub(crate) mod words;

use std::collections::BTreeMap;

use crate::{
    budget::Budget,
    measure::metric::{Better, Metric, What},
    site::Site,
    stats::{self, Middle, Uncertain},
    summary::{CONFIDENCE, CellSummary, Resolved, Summary},
};

/// The quantities that decide about a budget: slow polls, what another task has of it, and the price.
/// Extra polls are no price by themselves; the CPU time that they take is.
const DECIDING: [Metric; 9] = [
    Metric::SlowPercent,
    Metric::SlowPerRequest,
    Metric::CotenantLatePercent,
    Metric::CotenantP90Us,
    Metric::CotenantP99Us,
    Metric::RequestsPerS,
    Metric::CpuUsPerRequest,
    Metric::LatencyP50Ms,
    Metric::LatencyP99Ms,
];

/// Those of them that are a co-tenant's.
const COTENANT: [Metric; 3] = [
    Metric::CotenantLatePercent,
    Metric::CotenantP90Us,
    Metric::CotenantP99Us,
];

/// What is shown of a budget, whether it decides or not.
const TOLD: [Metric; 1] = [Metric::PollsPerRequest];

/// What is said of a sweep.
pub(crate) struct Verdict {
    /// The site whose slow polls it is about.
    pub(crate) site: Site,
    /// How many cells there are to go by.
    pub(crate) cells: usize,
    pub(crate) candidates: Vec<Judged>,
    /// The twin of the baseline, judged as if it were a candidate.
    pub(crate) twin: Option<Judged>,
    /// The one that does most at the least price: an index into `candidates`.
    pub(crate) leading: Option<usize>,
    /// The one that intervenes least of those with a gain and no loss: likewise.
    pub(crate) smallest: Option<usize>,
}

/// A variant against the baseline.
pub(crate) struct Judged {
    pub(crate) variant: usize,
    pub(crate) label: String,
    pub(crate) fired: Vec<Fired>,
    pub(crate) effects: BTreeMap<Metric, Effect>,
    pub(crate) by_rtt: Vec<AtRtt>,
    pub(crate) class: Class,
}

/// What a variant does at one round trip: mean changes over its cells, in percentage points.
pub(crate) struct AtRtt {
    pub(crate) rtt_ms: f64,
    pub(crate) slow: Option<Uncertain>,
    pub(crate) late: Option<Uncertain>,
    /// Cells in which a co-tenant is resolved to wait less.
    pub(crate) waits_less: usize,
}

/// How a bound at one site was spent.
pub(crate) struct Fired {
    pub(crate) site: Site,
    /// Yields of 1,000 polls: mean over cells, and the most of any. None if there is no such site.
    pub(crate) yields_per_1000: Option<(f64, f64)>,
    /// Of all slow polls there without a budget: how many had one iteration over the threshold.
    pub(crate) single_iteration_percent: Option<f64>,
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
    /// There is no poll that it could bound.
    NoSite,
    /// It was never spent, so that it can have changed nothing.
    NeverFires,
    /// Slow polls are fewer, and another task on the worker waits less.
    Helps,
    /// Another task waits less, and slow polls are not fewer.
    CotenantOnly,
    /// Slow polls are fewer, and nothing shows that another task waits less.
    RatioOnly,
    /// Slow polls or a co-tenant's delay are better in one way and worse in another.
    Mixed,
    /// Something is worse, and nothing better.
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
        Verdict {
            site,
            cells: summary.measured().count(),
            leading: leading(&candidates),
            smallest: smallest(&candidates),
            candidates,
            twin,
        }
    }
}

impl Judged {
    fn of(summary: &Summary, site: Site, variant: usize) -> Judged {
        let budgets = Budget::all(&summary.variants[variant].budgets);
        let effects = DECIDING.into_iter().chain(TOLD).map(|metric| {
            let what = What::of(site, metric);
            (metric, Effect::of(summary, what, variant))
        });
        Judged {
            variant,
            label: summary.variants[variant].label.clone(),
            fired: budgets
                .iter()
                .map(|budget| Fired::of(summary, budget.site, variant))
                .collect(),
            effects: effects.collect(),
            by_rtt: summary
                .axes
                .rtt_ms
                .iter()
                .map(|rtt_ms| AtRtt::of(summary, site, variant, *rtt_ms))
                .collect(),
            class: Class::Unresolved,
        }
    }

    pub(crate) fn effect(&self, metric: Metric) -> Option<&Effect> {
        self.effects.get(&metric)
    }

    /// The quantities that are resolved to be worse.
    pub(crate) fn losses(&self) -> Vec<Metric> {
        self.resolved(Resolved::is_bad)
    }

    /// Those that are resolved to be better.
    pub(crate) fn gains(&self) -> Vec<Metric> {
        self.resolved(Resolved::is_good)
    }

    fn resolved(&self, is_so: impl Fn(Resolved, Better) -> bool) -> Vec<Metric> {
        DECIDING
            .into_iter()
            .filter(|metric| {
                self.effect(*metric)
                    .is_some_and(|effect| is_so(effect.resolved, metric.better()))
            })
            .collect()
    }

    /// Yields at all of its sites; none if it has none to go by.
    pub(crate) fn most_yields_per_1000(&self) -> Option<f64> {
        let most = self.fired.iter().filter_map(|fired| fired.yields_per_1000);
        most.map(|(_, most)| most).reduce(f64::max)
    }

    fn class(&self) -> Class {
        const SLOW: [Metric; 2] = [Metric::SlowPercent, Metric::SlowPerRequest];
        let any = |of: &[Metric], among: &[Metric]| of.iter().any(|it| among.contains(it));
        let (gains, losses) = (self.gains(), self.losses());
        let fewer = gains.contains(&Metric::SlowPercent);
        let worse = any(&SLOW, &losses) || any(&COTENANT, &losses);
        let waits_less = any(&COTENANT, &gains);
        match self.most_yields_per_1000() {
            None if !self.fired.is_empty() => Class::NoSite,
            Some(0.0) => Class::NeverFires,
            _ if worse && (fewer || waits_less) => Class::Mixed,
            _ if fewer && self.is_two_edged() => Class::Mixed,
            _ if fewer && waits_less => Class::Helps,
            _ if waits_less => Class::CotenantOnly,
            _ if fewer => Class::RatioOnly,
            _ if !losses.is_empty() => Class::Harms,
            _ => Class::Unresolved,
        }
    }

    /// Whether a co-tenant would be said to wait less, had nothing else been looked at.
    fn hints_at_less_waiting(&self) -> bool {
        COTENANT.into_iter().any(|metric| {
            let judged = self.effect(metric).and_then(|it| it.judged(metric));
            judged.is_some_and(|(value, p_value)| value < 0.0 && stats::is_resolved(p_value))
        })
    }

    /// Whether slow polls per request are resolved to be more in one of ten cells or more: then a lower
    /// ratio is, there, one of more polls.
    fn is_two_edged(&self) -> bool {
        self.effect(Metric::SlowPerRequest).is_some_and(|effect| {
            10 * effect.higher > effect.lower + effect.higher + effect.unresolved
        })
    }
}

impl AtRtt {
    fn of(summary: &Summary, site: Site, variant: usize, rtt_ms: f64) -> AtRtt {
        let cells: Vec<&CellSummary> = summary
            .measured()
            .filter(|cell| cell.cell.rtt_ms == rtt_ms)
            .collect();
        let mean = |metric: Metric| {
            let changes = cells
                .iter()
                .filter_map(|cell| cell.change(What::of(site, metric), variant)?.difference);
            stats::mean_over_cells(&changes.collect::<Vec<_>>())
        };
        let waits_less = |cell: &&&CellSummary| {
            let gains = in_cell(cell, site, variant).gains;
            COTENANT.iter().any(|metric| gains.contains(metric))
        };
        AtRtt {
            rtt_ms,
            slow: mean(Metric::SlowPercent),
            late: mean(Metric::CotenantLatePercent),
            waits_less: cells.iter().filter(waits_less).count(),
        }
    }
}

impl Fired {
    fn of(summary: &Summary, site: Site, variant: usize) -> Fired {
        let what = What::of(site, Metric::YieldsPer1000);
        let yields: Vec<f64> = summary
            .measured()
            .filter_map(|cell| cell.value(what, variant))
            .collect();
        let most = yields.iter().copied().reduce(f64::max);
        let mean = yields.iter().sum::<f64>() / yields.len() as f64;
        let slow = summary.measured().filter_map(|cell| cell.slow_polls(site));
        let (single, all) = slow.fold((0, 0), |(single, all), slow| {
            (single + slow.by_one_iteration, all + slow.polls)
        });
        Fired {
            site,
            yields_per_1000: most.map(|most| (mean, most)),
            single_iteration_percent: (all > 0).then(|| 100.0 * single as f64 / all as f64),
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

    /// Cells in which it is resolved to be worse.
    pub(crate) fn worse(&self, metric: Metric) -> usize {
        match metric.better() {
            Better::Lower => self.higher,
            Better::Higher => self.lower,
            Better::Neither => 0,
        }
    }
}

/// Shares are averaged over cells; all else differs between cells by orders of magnitude, and so do its
/// errors, so that the median relative change stands for it.
pub(crate) fn is_share(metric: Metric) -> bool {
    matches!(metric, Metric::SlowPercent | Metric::CotenantLatePercent)
}

/// Decides what is resolved over all cells, over all variants and quantities at once, and what that makes
/// of each variant.
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

/// The classes that a reader may want, the best first.
const WANTED: [Class; 3] = [Class::Helps, Class::CotenantOnly, Class::RatioOnly];

/// Of the best class there is the one with the fewest losses, and of those the one that does most to slow
/// polls.
fn leading(candidates: &[Judged]) -> Option<usize> {
    let lowers = |judged: &Judged| {
        let mean = judged
            .effect(Metric::SlowPercent)
            .and_then(|effect| effect.mean);
        mean.map_or(0.0, |mean| mean.value)
    };
    of_best_class(
        candidates,
        |_| true,
        |a, b| {
            let losses = a.losses().len().cmp(&b.losses().len());
            losses.then(lowers(a).total_cmp(&lowers(b)))
        },
    )
}

/// Among those without a loss the one that yields least.
fn smallest(candidates: &[Judged]) -> Option<usize> {
    let yields = |judged: &Judged| -> f64 {
        let fired = judged
            .fired
            .iter()
            .filter_map(|fired| fired.yields_per_1000);
        fired.map(|(mean, _)| mean).sum()
    };
    let is_free = |judged: &Judged| judged.losses().is_empty();
    of_best_class(candidates, is_free, |a, b| yields(a).total_cmp(&yields(b)))
}

fn of_best_class(
    candidates: &[Judged],
    is_wanted: impl Fn(&Judged) -> bool,
    order: impl Fn(&Judged, &Judged) -> std::cmp::Ordering,
) -> Option<usize> {
    WANTED.into_iter().find_map(|class| {
        let of_class = candidates.iter().enumerate();
        of_class
            .filter(|(_, judged)| judged.class == class && is_wanted(judged))
            .min_by(|(_, a), (_, b)| order(a, b))
            .map(|(at, _)| at)
    })
}

/// What a candidate gains or loses that is resolved in one cell.
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
    in_cell
}

/// What is resolved in one cell.
#[derive(Clone, Debug, Default)]
pub(crate) struct InCell {
    pub(crate) gains: Vec<Metric>,
    pub(crate) losses: Vec<Metric>,
}
