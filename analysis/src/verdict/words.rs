//! The verdict in sentences. They say that something changed only where it is resolved.

use super::{
    Class, Effect, InCell, SiteYields, VariantVerdict, Verdict, is_share, variant::COTENANT,
};
use crate::{
    measure::metric::Metric,
    site::UpstreamFunction,
    stats::Interval,
    summary::{CONFIDENCE, ChangeFigure},
    text::{change, count, number, signed},
};

/// No amount can decrease by more than this.
pub(crate) const LEAST_PERCENT: f64 = -100.0;

/// With fewer yields than this, a budget is said to fire rarely.
const RARE_YIELDS_PER_1000: f64 = 1.0;

impl Verdict {
    /// First the candidate that helps most, then the others.
    pub(crate) fn sentences(&self) -> Vec<String> {
        let mut sentences = vec![
            match self.leading.map(|leading| &self.candidates[leading]) {
                Some(leading) => self.of_leading(leading),
                None if self.candidates.is_empty() => {
                    "Only the baseline was measured, so there is nothing to compare.".to_owned()
                }
                None => "No variant has a resolved improvement over all cells.".to_owned(),
            },
        ];
        let others = self.candidates.iter().enumerate();
        let others: Vec<&VariantVerdict> = others
            .filter(|(at, _)| Some(*at) != self.leading)
            .map(|(_, variant)| variant)
            .collect();
        for class in [Class::NoSite, Class::NeverFires, Class::Unresolved] {
            let of_class = others.iter().filter(|it| it.class == class);
            let labels: Vec<String> = of_class.map(|it| format!("`{}`", it.label)).collect();
            let does = match (class, labels.len()) {
                (_, 0) => continue,
                (Class::NoSite, _) => "had nothing to limit: no poll of the site was recorded",
                (Class::NeverFires, 1) => "never fires in any cell, so it changes nothing",
                (Class::NeverFires, _) => "never fire in any cell, so they change nothing",
                (_, 1) => "has no resolved effect",
                _ => "have no resolved effect",
            };
            sentences.push(format!("{} {does}.", labels.join(" and ")));
        }
        for class in [
            Class::Helps,
            Class::CotenantOnly,
            Class::RatioOnly,
            Class::Mixed,
            Class::Harms,
        ] {
            let of_class = others.iter().filter(|it| it.class == class);
            sentences.extend(of_class.map(|it| other(it)));
        }
        sentences
    }

    /// The statistic that stands for the relative changes of all cells.
    pub(crate) fn middle(&self) -> &'static str {
        let effects = self.candidates.iter().flat_map(|it| it.effects.values());
        let mut middles = effects.filter_map(|effect| effect.relative);
        if middles.all(|middle| middle.is_median) {
            "median over cells"
        } else {
            "median over cells (the mean if there are fewer than six)"
        }
    }

    fn of_leading(&self, leading: &VariantVerdict) -> String {
        let label = &leading.label;
        let site = self.site.function();
        let slow = effect(leading, Metric::SlowPercent);
        let waits = cotenant(leading);
        let cost = cost(leading);
        if leading.class == Class::CotenantOnly {
            return format!(
                "`{label}` lowers the wake-up latency of a co-tenant ({waits}). It does not lower the share of slow \
                 polls of `{site}` ({slow}). {cost}"
            );
        }
        let place = match leading.effect(Metric::SlowPercent) {
            Some(effect) if effect.lower > 0 => {
                format!(
                    "in {} of {} cells (mean change {slow})",
                    effect.lower, self.cells
                )
            }
            _ => format!(
                "over all {} cells (mean change {slow}; resolved in no single cell)",
                self.cells
            ),
        };
        let cotenant = match leading.class {
            Class::Helps => "It also lowers the wake-up latency of a co-tenant",
            // An interval without zero next to "no decrease" would look like a mistake.
            _ if leading.hints_at_less_waiting() => {
                "A co-tenant's wake-up latency may be lower, but among this many comparisons that can be chance"
            }
            _ => "The data show no decrease of a co-tenant's wake-up latency",
        };
        format!(
            "`{label}` lowers the share of slow polls of `{site}` {place}. {cotenant} ({waits}). {cost}"
        )
    }
}

/// A variant that does not help most.
fn other(variant: &VariantVerdict) -> String {
    let slow = effect(variant, Metric::SlowPercent);
    let does = match variant.class {
        Class::Helps => {
            format!("lowers the share of slow polls ({slow}) and a co-tenant's wake-up latency")
        }
        Class::CotenantOnly => {
            "lowers a co-tenant's wake-up latency, but not the share of slow polls".to_owned()
        }
        Class::RatioOnly => format!(
            "lowers the share of slow polls ({slow}); no decrease of a co-tenant's wake-up latency is resolved"
        ),
        Class::Mixed => {
            // A lower share can hide cells in which it is higher, and more slow polls for the same work.
            let tally = |metric: Metric| {
                let effect = variant.effect(metric);
                effect.map_or_else(absent, |it| {
                    format!("lower in {} cells and higher in {}", it.lower, it.higher)
                })
            };
            format!(
                "has mixed results: the share of slow polls is {} (mean change {slow}); slow polls per request are {}",
                tally(Metric::SlowPercent),
                tally(Metric::SlowPerRequest)
            )
        }
        _ => "has no resolved improvement".to_owned(),
    };
    format!("`{}` {does}. {}", variant.label, cost(variant))
}

/// What is resolved to be worse over all cells. If nothing is, the intervals of the most likely costs.
fn cost(variant: &VariantVerdict) -> String {
    let losses = variant.losses();
    if losses.is_empty() {
        let bounds = effects(variant, &[Metric::RequestsPerS, Metric::CpuUsPerRequest]);
        format!("No cost is resolved over all cells ({bounds}).")
    } else {
        format!("Its cost: {}.", effects(variant, &losses))
    }
}

/// The resolved changes of the co-tenant's latency, and where. If none is resolved, all of them.
fn cotenant(variant: &VariantVerdict) -> String {
    let mut shown = variant.gains();
    shown.retain(|metric| COTENANT.contains(metric));
    if shown.is_empty() {
        shown = COTENANT.to_vec();
    }
    let cells: usize = variant.by_rtt.iter().map(|at| at.waits_less).sum();
    let at = variant.by_rtt.iter().filter(|at| at.waits_less > 0);
    let at: Vec<String> = at.map(|at| at.rtt_ms.to_string()).collect();
    let place = match cells {
        0 => "resolved in no single cell".to_owned(),
        _ => format!(
            "resolved in {}, at RTT {} ms",
            count(cells, "cell"),
            at.join(", ")
        ),
    };
    format!("{}; {place}", effects(variant, &shown))
}

fn effects(variant: &VariantVerdict, metrics: &[Metric]) -> String {
    let effect = |metric: &Metric| format!("{} {}", short(*metric), effect(variant, *metric));
    metrics.iter().map(effect).collect::<Vec<_>>().join(", ")
}

impl VariantVerdict {
    /// How often it yields.
    pub(crate) fn firing(&self) -> String {
        match self.yields.as_slice() {
            [] => "–".to_owned(),
            [one] => one.words(),
            several => {
                let named = several
                    .iter()
                    .map(|it| format!("{} {}", it.site, it.words()));
                named.collect::<Vec<_>>().join("; ")
            }
        }
    }

    pub(crate) fn result(&self) -> &'static str {
        match self.class {
            Class::NoSite => "its site was not polled",
            Class::NeverFires => "never fires",
            Class::Helps => "helps",
            Class::CotenantOnly => "helps the co-tenant only",
            Class::RatioOnly => "lowers the share of slow polls only",
            Class::Mixed => "mixed",
            Class::Harms => "costs without a gain",
            Class::Unresolved => "no effect resolved",
        }
    }
}

impl SiteYields {
    fn words(&self) -> String {
        match self.per_1000 {
            None => "not polled".to_owned(),
            Some((_, 0.0)) => "never".to_owned(),
            Some((mean, most)) => {
                let rarely = if mean < RARE_YIELDS_PER_1000 {
                    "rarely: "
                } else {
                    ""
                };
                format!("{rarely}{} (at most {})", number(mean), number(most))
            }
        }
    }
}

impl Effect {
    /// The cells in which it could be compared.
    pub(crate) fn cells(&self) -> usize {
        self.lower + self.higher + self.unresolved
    }

    /// "12 lower, 0 higher, 108 not resolved".
    pub(crate) fn tally(&self) -> String {
        format!(
            "{} lower, {} higher, {} not resolved",
            self.lower, self.higher, self.unresolved
        )
    }
}

impl InCell {
    /// The resolved changes in a few words; a dash if there are none.
    pub(crate) fn words(&self) -> String {
        let part = |(metric, change): &(Metric, ChangeFigure)| {
            let amount = if is_share(*metric) {
                format!("{} pp", signed(change.value))
            } else {
                format!("{} %", signed(change.relative?.value))
            };
            Some(format!("{} {amount}", short(*metric)))
        };
        let list = |changes: &[(Metric, ChangeFigure)]| {
            let parts: Vec<String> = changes.iter().filter_map(part).collect();
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
        Metric::SlowPercent => "slow polls",
        Metric::CotenantLatePercent => "late wake-ups",
        Metric::CotenantP90Us => "wake-up latency p90",
        Metric::CotenantP99Us => "wake-up latency p99",
        Metric::LatencyP50Ms => "request latency p50",
        Metric::LatencyP99Ms => "request latency p99",
        other => other.words(),
    }
}

/// With its interval: "−7.9 pp [−8.3, −7.5]" for the mean of a share, "−1.2 % [−2.0, −0.4]" for the relative change of
/// anything else.
pub(crate) fn effect(variant: &VariantVerdict, metric: Metric) -> String {
    let effect = variant.effect(metric);
    let text = if is_share(metric) {
        let mean = effect.and_then(|it| it.mean);
        mean.map(|mean| {
            let Interval { low, high } = mean.interval(CONFIDENCE);
            change(mean.value, "pp", (low, high))
        })
    } else {
        let middle = effect.and_then(|it| it.relative);
        middle.map(|middle| {
            let Interval { low, high } = middle.interval;
            change(middle.value, "%", (low.max(LEAST_PERCENT), high))
        })
    };
    text.unwrap_or_else(absent)
}

pub(crate) fn absent() -> String {
    "not measured".to_owned()
}
