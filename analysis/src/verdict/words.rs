//! The verdict in words. Every number comes from [`Judged`], and every claim from what is resolved.

use super::{COTENANT, Class, Effect, InCell, Judged, Verdict, is_share};
use crate::{
    measure::metric::{Metric, What},
    stats::{Interval, Uncertain},
    summary::{CONFIDENCE, CellSummary, Resolved},
    text::{change, number, signed},
};

/// Below this a budget is spent so seldom that one says "rarely".
const RARE_YIELDS_PER_1000: f64 = 1.0;

impl Verdict {
    /// The verdict in two sentences: what is worth having, and what came of the others.
    pub(crate) fn sentences(&self) -> [String; 2] {
        let first = match self.best.map(|best| &self.candidates[best]) {
            Some(best) => self.praise(best),
            None if self.candidates.is_empty() => {
                "Only the baseline was measured, so there is nothing to compare.".to_owned()
            }
            None => "No budget has a resolved gain without a resolved loss.".to_owned(),
        };
        let others = self.candidates.iter().enumerate();
        let others: Vec<&Judged> = others
            .filter(|(at, _)| Some(*at) != self.best)
            .map(|(_, judged)| judged)
            .collect();
        [first, self.others(&others)]
    }

    /// What stands for the relative changes of all cells.
    pub(crate) fn middle(&self) -> &'static str {
        let effects = self.candidates.iter().flat_map(|it| it.effects.values());
        let mut middles = effects.filter_map(|effect| effect.relative);
        if middles.all(|middle| middle.is_median) {
            "median"
        } else {
            "mean"
        }
    }

    fn praise(&self, best: &Judged) -> String {
        let ratio = best.effect(Metric::SlowPercent);
        let gain = match best.class {
            Class::Helps => format!(
                "and lets a co-tenant of the worker wait less ({})",
                cotenant(best)
            ),
            _ => format!(
                "but nothing shows that a co-tenant of the worker waits less ({})",
                cotenant(best)
            ),
        };
        format!(
            "`{}` lowers the share of slow polls of `{}` in {} of {} cells (mean change {}) {gain}, at no \
             resolved cost (throughput {}, latency p99 {}).",
            best.label,
            self.site.function(),
            ratio.map_or(0, |ratio| ratio.lower),
            self.cells,
            ratio.map_or_else(absent, |ratio| points(ratio.mean)),
            effect(best, Metric::RequestsPerS),
            effect(best, Metric::LatencyP99Ms),
        )
    }

    fn others(&self, others: &[&Judged]) -> String {
        let classes = [
            Class::NeverFires,
            Class::Unresolved,
            Class::Helps,
            Class::RatioOnly,
            Class::Harms,
        ];
        let groups = classes.into_iter().filter_map(|class| {
            let of_class: Vec<&Judged> = others
                .iter()
                .copied()
                .filter(|it| it.class == class)
                .collect();
            (!of_class.is_empty()).then(|| self.group(class, &of_class))
        });
        let groups: Vec<String> = groups.collect();
        if groups.is_empty() {
            return String::new();
        }
        format!("{}.", capitalised(&groups.join("; ")))
    }

    fn group(&self, class: Class, judged: &[&Judged]) -> String {
        let labels: Vec<String> = judged.iter().map(|it| format!("`{}`", it.label)).collect();
        let labels = labels.join(" and ");
        let s = if judged.len() == 1 { "s" } else { "" };
        let changes = |it: &&&Judged| {
            let ratio = it.effect(Metric::SlowPercent);
            ratio.map_or_else(absent, |ratio| points(ratio.mean))
        };
        let ratios: Vec<String> = judged.iter().map(|it| changes(&it)).collect();
        let ratios = ratios.join(" and ");
        match class {
            Class::NeverFires => {
                format!("{labels} never fire{s} in any cell, and so change{s} nothing")
            }
            Class::Unresolved if judged.iter().all(|it| it.is_unknown()) => {
                format!("of {labels} nothing is known, since no poll of that site was seen")
            }
            Class::Unresolved => {
                format!("{labels} change{s} nothing that is resolved (slow polls {ratios})")
            }
            Class::Helps | Class::RatioOnly => {
                let whom = if class == Class::Helps {
                    "and the co-tenant's delay"
                } else {
                    "and not, as far as is resolved, the co-tenant's delay"
                };
                format!(
                    "{labels} lower{s} the ratio ({ratios}) {whom}{}",
                    prices(judged)
                )
            }
            Class::Harms => format!(
                "{labels} cost{s} without lowering the ratio{}",
                prices(judged)
            ),
        }
    }
}

fn prices(judged: &[&Judged]) -> String {
    let prices: Vec<String> = judged
        .iter()
        .flat_map(|it| {
            it.losses()
                .into_iter()
                .map(|metric| format!("{} {}", metric.words(), effect(it, metric)))
        })
        .collect();
    if prices.is_empty() {
        String::new()
    } else {
        format!(", and cost {}", prices.join(", "))
    }
}

/// What is resolved of the co-tenant's delay; if nothing is, what is known of it.
fn cotenant(judged: &Judged) -> String {
    let gains = judged.gains();
    let mut shown: Vec<Metric> = COTENANT
        .into_iter()
        .filter(|it| gains.contains(it))
        .collect();
    if shown.is_empty() {
        shown = COTENANT.to_vec();
    }
    let parts = shown
        .into_iter()
        .map(|metric| format!("{} {}", short(metric), effect(judged, metric)));
    parts.collect::<Vec<_>>().join(", ")
}

impl Judged {
    /// Whether the budget is spent at all.
    pub(crate) fn firing(&self) -> String {
        match self.yields_per_1000 {
            None => "–".to_owned(),
            Some((_, 0.0)) => "never".to_owned(),
            Some((mean, most)) if mean < RARE_YIELDS_PER_1000 => {
                format!("rarely: {} (at most {})", number(mean), number(most))
            }
            Some((mean, most)) => format!("{} (at most {})", number(mean), number(most)),
        }
    }

    /// Whether there were no slow polls, nor any others, to go by.
    fn is_unknown(&self) -> bool {
        self.effect(Metric::SlowPercent)
            .is_none_or(|effect| effect.mean.is_none())
    }

    pub(crate) fn in_a_word(&self) -> &'static str {
        match self.class {
            Class::NeverFires => "never fires",
            Class::Helps => "helps",
            Class::RatioOnly => "lowers the ratio only",
            Class::Harms => "costs without a gain",
            Class::Unresolved => "no effect resolved",
        }
    }
}

impl Effect {
    /// "12 lower, 0 higher, 108 open".
    pub(crate) fn tally(&self) -> String {
        format!(
            "{} lower, {} higher, {} open",
            self.lower, self.higher, self.unresolved
        )
    }
}

impl InCell {
    /// What a candidate did in a cell, in a few words.
    pub(crate) fn words(
        &self,
        cell: &CellSummary,
        site: crate::measure::metric::Site,
        variant: usize,
    ) -> String {
        let part = |metric: Metric| {
            let change = cell.change(What::of(site, metric), variant)?;
            let amount = if is_share(metric) {
                format!("{} pp", signed(change.value))
            } else {
                format!("{} %", signed(change.relative?.value))
            };
            Some(format!("{} {amount}", short(metric)))
        };
        let list = |metrics: &[Metric]| {
            let parts: Vec<String> = metrics.iter().filter_map(|metric| part(*metric)).collect();
            parts.join(", ")
        };
        match (self.gains.is_empty(), self.losses.is_empty()) {
            (true, true) => "–".to_owned(),
            (false, true) => list(&self.gains),
            (true, false) => format!("worse: {}", list(&self.losses)),
            (false, false) => format!("{}; worse: {}", list(&self.gains), list(&self.losses)),
        }
    }
}

fn short(metric: Metric) -> &'static str {
    match metric {
        Metric::SlowPercent => "slow",
        Metric::CotenantLatePercent => "late wakes",
        Metric::CotenantP90Us => "co-tenant p90",
        Metric::CotenantP99Us => "co-tenant p99",
        Metric::RequestsPerS => "throughput",
        Metric::LatencyP50Ms => "latency p50",
        Metric::LatencyP99Ms => "latency p99",
        other => other.words(),
    }
}

/// "−7.9 pp [−8.3, −7.5]".
pub(crate) fn points(mean: Option<Uncertain>) -> String {
    mean.map_or_else(absent, |mean| {
        change(mean.value, "pp", ends(mean.interval(CONFIDENCE)))
    })
}

/// "−1.2 % [−2.0, −0.4]", of the median relative change.
fn relative(effect: Option<&Effect>) -> String {
    let middle = effect.and_then(|effect| effect.relative);
    middle.map_or_else(absent, |middle| {
        change(middle.value, "%", ends(middle.interval))
    })
}

/// The mean of a share, the median relative change of anything else.
pub(crate) fn effect(judged: &Judged, metric: Metric) -> String {
    let effect = judged.effect(metric);
    if is_share(metric) {
        points(effect.and_then(|effect| effect.mean))
    } else {
        relative(effect)
    }
}

fn ends(interval: Interval) -> (f64, f64) {
    (interval.low, interval.high)
}

/// In bold where it is resolved.
pub(crate) fn marked(text: String, resolved: Resolved) -> String {
    if resolved == Resolved::No {
        text
    } else {
        format!("**{text}**")
    }
}

pub(crate) fn absent() -> String {
    "not measured".to_owned()
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(letters).collect()
    })
}
