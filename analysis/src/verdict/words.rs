//! The verdict in words. Every number comes from [`Judged`], and every claim from what is resolved.

use super::{COTENANT, Class, Effect, Fired, InCell, Judged, Verdict, is_share};
use crate::{
    measure::metric::{Metric, What},
    site::Site,
    stats::{Interval, Uncertain},
    summary::{CONFIDENCE, CellSummary, Resolved},
    text::{capitalised, change, count, number, signed},
};

/// Nothing can be less by more than all of it.
pub(crate) const LEAST_PERCENT: f64 = -100.0;

/// Below this a budget is spent so seldom that one says "rarely".
const RARE_YIELDS_PER_1000: f64 = 1.0;

impl Verdict {
    /// The verdict in two sentences: what is worth having, and what came of the others.
    pub(crate) fn sentences(&self) -> [String; 2] {
        let first = match self.leading.map(|leading| &self.candidates[leading]) {
            Some(leading) => self.praise(leading),
            None if self.candidates.is_empty() => {
                "Only the baseline was measured, so there is nothing to compare.".to_owned()
            }
            None => {
                "Nothing that was compared makes anything better that is resolved over all cells."
                    .to_owned()
            }
        };
        let others = self.candidates.iter().enumerate();
        let others: Vec<&Judged> = others
            .filter(|(at, _)| Some(*at) != self.leading)
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
            "median, or of fewer than six cells mean,"
        }
    }

    fn praise(&self, leading: &Judged) -> String {
        let fewer = self.fewer(leading);
        let waits = match leading.class {
            Class::Helps => format!(
                "{fewer} and lets a co-tenant wait less{}",
                cotenant(leading)
            ),
            Class::CotenantOnly => format!(
                "lets a co-tenant wait less{}, and does not lower the share of slow polls of `{}` ({})",
                cotenant(leading),
                self.site.function(),
                effect(leading, Metric::SlowPercent)
            ),
            // An interval without zero beside "nothing shows" would look like a mistake.
            _ if leading.hints_at_less_waiting() => format!(
                "{fewer}, but that a co-tenant waits less is not resolved among so many comparisons{}",
                cotenant(leading)
            ),
            _ => format!(
                "{fewer}, but nothing shows that a co-tenant waits less{}",
                cotenant(leading)
            ),
        };
        format!("`{}` {waits}; {}.", leading.label, price(leading))
    }

    fn fewer(&self, judged: &Judged) -> String {
        let site = self.site.function();
        let change = effect(judged, Metric::SlowPercent);
        match judged.effect(Metric::SlowPercent) {
            Some(ratio) if ratio.lower > 0 => format!(
                "lowers the share of slow polls of `{site}` in {} of {} cells (mean change {change})",
                ratio.lower, self.cells,
            ),
            _ => format!(
                "lowers the share of slow polls of `{site}` over all {} cells (mean change {change}; resolved in no single cell)",
                self.cells,
            ),
        }
    }

    fn others(&self, others: &[&Judged]) -> String {
        const CLASSES: [Class; 8] = [
            Class::NoSite,
            Class::NeverFires,
            Class::Unresolved,
            Class::Helps,
            Class::CotenantOnly,
            Class::RatioOnly,
            Class::Mixed,
            Class::Harms,
        ];
        let groups = CLASSES.into_iter().flat_map(|class| {
            let of_class: Vec<&Judged> = others
                .iter()
                .copied()
                .filter(|it| it.class == class)
                .collect();
            self.group(class, &of_class)
        });
        let groups: Vec<String> = groups.collect();
        if groups.is_empty() {
            return String::new();
        }
        format!("{}.", capitalised(&groups.join("; ")))
    }

    /// Those that do nothing in one clause, any others in one each.
    fn group(&self, class: Class, judged: &[&Judged]) -> Vec<String> {
        let labels: Vec<String> = judged.iter().map(|it| format!("`{}`", it.label)).collect();
        let labels = labels.join(" and ");
        let s = if judged.len() == 1 { "s" } else { "" };
        match class {
            _ if judged.is_empty() => Vec::new(),
            Class::NoSite => vec![format!(
                "{labels} could bound nothing: no poll of that site was seen"
            )],
            Class::NeverFires => {
                vec![format!(
                    "{labels} never fire{s} in any cell, and so change{s} nothing"
                )]
            }
            Class::Unresolved => vec![format!("{labels} change{s} nothing that is resolved")],
            _ => judged.iter().map(|it| self.clause(it)).collect(),
        }
    }

    fn clause(&self, judged: &Judged) -> String {
        let ratio = effect(judged, Metric::SlowPercent);
        let does = match judged.class {
            Class::Helps => format!("lowers the ratio ({ratio}) and a co-tenant's delay"),
            Class::CotenantOnly => "lowers a co-tenant's delay, not the ratio".to_owned(),
            Class::RatioOnly => {
                format!(
                    "lowers the ratio ({ratio}) and not, as far as is resolved, a co-tenant's delay"
                )
            }
            Class::Mixed => format!("is two-edged: {}", self.edges(judged)),
            _ => "makes nothing better that is resolved".to_owned(),
        };
        format!("`{}` {does}; {}", judged.label, price(judged))
    }

    /// What a lower ratio hides: where it is higher, and where there are more slow polls for the same work.
    fn edges(&self, judged: &Judged) -> String {
        let tally = |metric: Metric| {
            judged.effect(metric).map_or_else(absent, |effect| {
                format!(
                    "lower in {} cells and higher in {}",
                    effect.lower, effect.higher
                )
            })
        };
        format!(
            "the ratio is {} (mean change {}), slow polls per request are {}",
            tally(Metric::SlowPercent),
            effect(judged, Metric::SlowPercent),
            tally(Metric::SlowPerRequest)
        )
    }
}

/// What is resolved to be worse over all cells; if nothing is, how well that is known.
fn price(judged: &Judged) -> String {
    const BOUNDS: [Metric; 2] = [Metric::RequestsPerS, Metric::CpuUsPerRequest];
    let list = |metrics: &[Metric]| {
        let parts = metrics
            .iter()
            .map(|metric| format!("{} {}", short(*metric), effect(judged, *metric)));
        parts.collect::<Vec<_>>().join(", ")
    };
    let losses = judged.losses();
    if losses.is_empty() {
        format!("no loss is resolved over all cells ({})", list(&BOUNDS))
    } else {
        format!("its price is {}", list(&losses))
    }
}

/// What is resolved of the co-tenant's delay, and where; if nothing is, what is known of it.
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
    let parts: Vec<String> = parts.collect();
    let cells: usize = judged.by_rtt.iter().map(|at| at.waits_less).sum();
    let at: Vec<String> = judged
        .by_rtt
        .iter()
        .filter(|at| at.waits_less > 0)
        .map(|at| at.rtt_ms.to_string())
        .collect();
    let place = match cells {
        0 => "; resolved in no single cell".to_owned(),
        _ => format!(
            "; resolved in {}, at RTT {} ms",
            count(cells, "cell"),
            at.join(", ")
        ),
    };
    format!(" ({}{place})", parts.join(", "))
}

impl Judged {
    /// Whether the budget is spent at all.
    pub(crate) fn firing(&self) -> String {
        let parts: Vec<String> = self.fired.iter().map(Fired::words).collect();
        match parts.as_slice() {
            [] => "–".to_owned(),
            [one] => one.clone(),
            several => {
                let named = several.iter().zip(&self.fired);
                let named = named.map(|(words, fired)| format!("{} {words}", fired.site));
                named.collect::<Vec<_>>().join("; ")
            }
        }
    }

    pub(crate) fn in_a_word(&self) -> &'static str {
        match self.class {
            Class::NoSite => "its site was not there",
            Class::NeverFires => "never fires",
            Class::Helps => "helps",
            Class::CotenantOnly => "helps the co-tenant only",
            Class::RatioOnly => "lowers the ratio only",
            Class::Mixed => "two-edged",
            Class::Harms => "costs without a gain",
            Class::Unresolved => "no effect resolved",
        }
    }
}

impl Fired {
    fn words(&self) -> String {
        match self.yields_per_1000 {
            None => "not there".to_owned(),
            Some((_, 0.0)) => "never".to_owned(),
            Some((mean, most)) if mean < RARE_YIELDS_PER_1000 => {
                format!("rarely: {} (at most {})", number(mean), number(most))
            }
            Some((mean, most)) => format!("{} (at most {})", number(mean), number(most)),
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
    pub(crate) fn words(&self, cell: &CellSummary, site: Site, variant: usize) -> String {
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
        Metric::SlowPerRequest => "slow per request",
        Metric::RequestsPerS => "throughput",
        Metric::CpuUsPerRequest => "CPU time per request",
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
        let (low, high) = ends(middle.interval);
        change(middle.value, "%", (low.max(LEAST_PERCENT), high))
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
