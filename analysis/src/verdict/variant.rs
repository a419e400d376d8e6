//! What a variant did: over all cells, at each round trip and in one cell.

use std::collections::BTreeMap;

use run_format::{Site, network::Rtt};

use crate::{
    load::compared::ComparedVariant,
    measure::metric::{Better, Metric, What},
    stats::{self, Middle, Uncertain},
    summary::{CONFIDENCE, CellSummary, ChangeFigure, Resolved, Summary},
};

/// The metrics that decide about a budget: slow polls, the co-tenant's latency, and costs. Extra polls are not a
/// cost by themselves; their CPU time is.
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

/// The co-tenant's among them.
pub(super) const COTENANT: [Metric; 3] = [
    Metric::CotenantLatePercent,
    Metric::CotenantP90Us,
    Metric::CotenantP99Us,
];

/// A variant compared with the baseline.
pub(crate) struct VariantVerdict {
    pub(crate) variant: usize,
    pub(crate) label: String,
    /// For each of its budgets.
    pub(crate) yields: Vec<SiteYields>,
    pub(crate) effects: BTreeMap<Metric, Effect>,
    pub(crate) by_rtt: Vec<AtRtt>,
    pub(crate) class: Class,
}

/// What a variant does at one round trip: mean changes over the cells there, in percentage points.
pub(crate) struct AtRtt {
    pub(crate) rtt_ms: Rtt,
    pub(crate) slow: Option<Uncertain>,
    pub(crate) late: Option<Uncertain>,
    /// Cells in which a co-tenant's latency is resolved to be lower.
    pub(crate) waits_less: usize,
}

/// How often a budget of one site made polls yield.
pub(crate) struct SiteYields {
    pub(crate) site: Site,
    /// Yields of 1,000 polls: the mean over cells, and the most of any cell. None if no poll was recorded.
    pub(crate) per_1000: Option<(f64, f64)>,
    /// Share of the slow polls without a budget that have a single slow iteration.
    pub(crate) single_iteration_percent: Option<f64>,
}

/// The change of a metric.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effect {
    /// Numbers of cells in which it is resolved to be lower, resolved to be higher, or not resolved.
    pub(crate) lower: usize,
    pub(crate) higher: usize,
    pub(crate) unresolved: usize,
    /// The mean change over cells, in the metric's unit.
    pub(crate) mean: Option<Uncertain>,
    /// The relative change in the median cell, in percent.
    pub(crate) relative: Option<Middle>,
    /// Whether the mean of a share, or the relative change of another metric, is resolved.
    pub(crate) resolved: Resolved,
}

/// The result for a variant, from what is resolved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// No poll of its site was recorded.
    NoSite,
    /// No poll yielded because of it, so it cannot have changed anything.
    NeverFires,
    /// The share of slow polls and the co-tenant's latency are lower.
    Helps,
    /// The co-tenant's latency is lower, the share of slow polls is not.
    CotenantOnly,
    /// The share of slow polls is lower, the co-tenant's latency is not.
    RatioOnly,
    /// Slow polls or the co-tenant's latency are better by one metric and worse by another.
    Mixed,
    /// Something is worse, and nothing is better.
    Harms,
    Unresolved,
}

impl VariantVerdict {
    fn of(summary: &Summary, site: Site, variant: usize) -> VariantVerdict {
        let bounds = summary.variants[variant].bounds();
        // Polls per request do not decide, but are shown.
        let metrics = DECIDING.into_iter().chain([Metric::PollsPerRequest]);
        let effect = |metric| Effect::of(summary, What::of(site, metric), variant);
        let at_rtt = |rtt_ms: &Rtt| AtRtt::of(summary, site, variant, *rtt_ms);
        VariantVerdict {
            variant,
            label: summary.variants[variant].label.clone(),
            yields: bounds
                .map(|(site, _)| SiteYields::of(summary, site, variant))
                .collect(),
            effects: metrics.map(|metric| (metric, effect(metric))).collect(),
            by_rtt: summary.axes.rtt_ms.iter().map(at_rtt).collect(),
            class: Class::Unresolved,
        }
    }

    /// The candidates or the control. The corrections for the number of comparisons are made over all of them.
    pub(super) fn all<'a>(
        summary: &Summary,
        site: Site,
        variants: impl Iterator<Item = (usize, &'a ComparedVariant)>,
    ) -> Vec<VariantVerdict> {
        let variants = variants.map(|(variant, _)| VariantVerdict::of(summary, site, variant));
        let mut verdicts: Vec<VariantVerdict> = variants.collect();
        resolve(&mut verdicts);
        verdicts
    }

    pub(crate) fn effect(&self, metric: Metric) -> Option<&Effect> {
        self.effects.get(&metric)
    }

    /// The metrics that are resolved to be worse.
    pub(crate) fn losses(&self) -> Vec<Metric> {
        self.resolved(Resolved::is_bad)
    }

    /// The metrics that are resolved to be better.
    pub(crate) fn gains(&self) -> Vec<Metric> {
        self.resolved(Resolved::is_good)
    }

    fn resolved(&self, is_so: impl Fn(Resolved, Better) -> bool) -> Vec<Metric> {
        let resolved = |metric: &Metric| {
            let effect = self.effect(*metric);
            effect.is_some_and(|effect| is_so(effect.resolved, metric.better()))
        };
        DECIDING.into_iter().filter(resolved).collect()
    }

    fn class(&self) -> Class {
        const SLOW: [Metric; 2] = [Metric::SlowPercent, Metric::SlowPerRequest];
        let any = |of: &[Metric], among: &[Metric]| of.iter().any(|it| among.contains(it));
        let (gains, losses) = (self.gains(), self.losses());
        let fewer = gains.contains(&Metric::SlowPercent);
        let worse = any(&SLOW, &losses) || any(&COTENANT, &losses);
        let waits_less = any(&COTENANT, &gains);
        let most_yields = self.yields.iter().filter_map(|it| it.per_1000);
        match most_yields.map(|(_, most)| most).reduce(f64::max) {
            None if !self.yields.is_empty() => Class::NoSite,
            Some(0.0) => Class::NeverFires,
            _ if worse && (fewer || waits_less) => Class::Mixed,
            _ if fewer && self.has_more_slow_polls_per_request() => Class::Mixed,
            _ if fewer && waits_less => Class::Helps,
            _ if waits_less => Class::CotenantOnly,
            _ if fewer => Class::RatioOnly,
            _ if !losses.is_empty() => Class::Harms,
            _ => Class::Unresolved,
        }
    }

    /// Whether a co-tenant's latency would be resolved to be lower if it were the only comparison.
    pub(super) fn hints_at_less_waiting(&self) -> bool {
        COTENANT.into_iter().any(|metric| {
            let tested = self.effect(metric).and_then(|it| it.tested(metric));
            tested.is_some_and(|(value, p_value)| value < 0.0 && stats::is_resolved(p_value))
        })
    }

    /// Whether slow polls per request are resolved to be higher in more than one of ten cells. A lower share there
    /// only means that there are more polls.
    fn has_more_slow_polls_per_request(&self) -> bool {
        self.effect(Metric::SlowPerRequest).is_some_and(|effect| {
            10 * effect.higher > effect.lower + effect.higher + effect.unresolved
        })
    }
}

impl AtRtt {
    fn of(summary: &Summary, site: Site, variant: usize, rtt_ms: Rtt) -> AtRtt {
        let cells: Vec<&CellSummary> = summary
            .measured()
            .filter(|cell| cell.cell.rtt_ms == rtt_ms)
            .collect();
        let mean = |metric: Metric| {
            let change =
                |cell: &&CellSummary| cell.change(What::of(site, metric), variant)?.difference;
            stats::mean_over_cells(&cells.iter().filter_map(change).collect::<Vec<_>>())
        };
        let waits_less = |cell: &&&CellSummary| {
            let gains = InCell::of(cell, site, variant).gains;
            gains.iter().any(|(metric, _)| COTENANT.contains(metric))
        };
        AtRtt {
            rtt_ms,
            slow: mean(Metric::SlowPercent),
            late: mean(Metric::CotenantLatePercent),
            waits_less: cells.iter().filter(waits_less).count(),
        }
    }
}

impl SiteYields {
    fn of(summary: &Summary, site: Site, variant: usize) -> SiteYields {
        let what = What::of(site, Metric::YieldsPer1000);
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
}

impl Effect {
    fn of(summary: &Summary, what: What, variant: usize) -> Effect {
        let changes: Vec<ChangeFigure> = summary
            .measured()
            .filter_map(|cell| cell.change(what, variant))
            .collect();
        let count = |resolved| changes.iter().filter(|it| it.resolved == resolved).count();
        let all = |of: fn(&ChangeFigure) -> Option<Uncertain>| -> Vec<Uncertain> {
            changes.iter().filter_map(of).collect()
        };
        Effect {
            lower: count(Resolved::Lower),
            higher: count(Resolved::Higher),
            unresolved: count(Resolved::No),
            mean: stats::mean_over_cells(&all(|it| it.difference)),
            relative: stats::middle_of_cells(&all(|it| it.relative), CONFIDENCE),
            resolved: Resolved::No,
        }
    }

    /// The value that is tested, and its p-value.
    fn tested(&self, metric: Metric) -> Option<(f64, f64)> {
        if is_share(metric) {
            self.mean.map(|mean| (mean.value, mean.p_value()))
        } else {
            self.relative.map(|middle| (middle.value, middle.p_value))
        }
    }

    /// The number of cells in which it is resolved to be worse.
    pub(crate) fn worse(&self, metric: Metric) -> usize {
        match metric.better() {
            Better::Lower => self.higher,
            Better::Higher => self.lower,
            Better::Neither => 0,
        }
    }
}

/// Shares are averaged over cells. Other metrics and their errors differ between cells by orders of magnitude, so
/// their median relative change is used instead.
pub(crate) fn is_share(metric: Metric) -> bool {
    matches!(metric, Metric::SlowPercent | Metric::CotenantLatePercent)
}

/// Decides what is resolved, over all variants and metrics at once, and from that the class of each variant.
fn resolve(variants: &mut [VariantVerdict]) {
    let effects = variants.iter().flat_map(|it| &it.effects);
    let p_values = effects.map(|(metric, effect)| Some(effect.tested(*metric)?.1));
    let p_values: Vec<Option<f64>> = p_values.collect();
    let mut adjusted = stats::adjusted_p_values(&p_values).into_iter();
    for variant in variants {
        for (metric, effect) in &mut variant.effects {
            let p_value = adjusted.next().flatten();
            if let (Some(p_value), Some((value, _))) = (p_value, effect.tested(*metric)) {
                effect.resolved = Resolved::new(stats::is_resolved(p_value), value);
            }
        }
        variant.class = variant.class();
    }
}

/// What is resolved in one cell.
#[derive(Debug, Default)]
pub(crate) struct InCell {
    pub(super) gains: Vec<(Metric, ChangeFigure)>,
    pub(super) losses: Vec<(Metric, ChangeFigure)>,
}

impl InCell {
    pub(crate) fn of(cell: &CellSummary, site: Site, variant: usize) -> InCell {
        let mut in_cell = InCell::default();
        for metric in DECIDING {
            let Some(change) = cell.change(What::of(site, metric), variant) else {
                continue;
            };
            if change.resolved.is_good(metric.better()) {
                in_cell.gains.push((metric, change));
            } else if change.resolved.is_bad(metric.better()) {
                in_cell.losses.push((metric, change));
            }
        }
        in_cell
    }
}
