//! The verdict in sentences. Each says about an interval what [`super::outcome`] found, and nothing else.

use super::{Candidate, Class, Judged, Outcome, SiteYields, Verdict, outcome::is_of_polls_only};
use crate::{
    stats::Interval,
    text::{self, count, decimals_of_change, fixed, lasting, number},
};

/// With fewer yields than this, a budget is said to fire rarely.
const RARE_YIELDS_PER_1000: f64 = 1.0;

impl Judged {
    /// "−7.9 pp [−8.3, −7.5]"
    pub(crate) fn change(&self) -> String {
        text::change(self.value, self.quantity.unit(), self.interval)
    }

    /// What is known about it.
    pub(crate) fn phrase(&self) -> String {
        let (words, change, margin) = (self.quantity.words, self.change(), self.margin());
        let Interval { low, high } = self.loss();
        match self.outcome() {
            Outcome::Better => format!("{} ({change})", self.quantity.improved()),
            Outcome::Worse => format!("{} ({change})", self.quantity.worsened()),
            _ if high < 0.0 && self.excludes_gain() => {
                format!("{words} better, by less than {margin} ({change})")
            }
            _ if high < 0.0 => format!("{words} better, perhaps by less than {margin} ({change})"),
            Outcome::NotWorse if !self.quantity.is_benefit => {
                format!("{words} {} ({change})", self.at_most())
            }
            _ if low > 0.0 && high > self.margin => {
                format!("{words} worse, perhaps by less than {margin} ({change})")
            }
            _ if self.quantity.is_benefit && self.excludes_gain() => {
                format!("no gain in {words} greater than {margin} ({change})")
            }
            _ => format!("{words} undecided ({change})"),
        }
    }

    pub(crate) fn title(&self, subject: &str, label: &str) -> String {
        format!(
            "{subject}, {label}: {} over {}",
            self.change(),
            count(self.cells, "cell")
        )
    }

    /// "0.5 pp"
    pub(crate) fn margin(&self) -> String {
        format!("{} {}", self.margin, self.quantity.unit())
    }

    /// "at most 1.2 % lower", by the interval's end.
    fn at_most(&self) -> String {
        let Interval { low, high } = self.interval;
        let (end, direction) = if self.quantity.is_lower_better() {
            (high, "higher")
        } else {
            (-low, "lower")
        };
        let end = fixed(end, decimals_of_change(self.value, self.interval));
        format!("at most {end} {} {direction}", self.quantity.unit())
    }
}

/// "measure about 4.2 times as long (40 minutes)"
fn longer(times: f64, measured_s: f64) -> String {
    const MOST: f64 = 100.0;
    if times > MOST {
        return "measure more than 100 times as long".to_owned();
    }
    let decimals = usize::from(times < 10.0);
    let rounding = 10f64.powi(decimals as i32);
    let times = (times * rounding).ceil() / rounding;
    format!(
        "measure about {} times as long ({} instead of {})",
        fixed(times, decimals),
        lasting(times * measured_s),
        lasting(measured_s)
    )
}

impl Verdict {
    /// The candidates that gain most come first.
    pub(crate) fn sentences(&self) -> Vec<String> {
        let leaders = self.leaders();
        let mut sentences = Vec::new();
        match leaders.as_slice() {
            [] if self.candidates.is_empty() => {
                return vec![
                    "Only the baseline was measured, so there is nothing to compare.".to_owned(),
                ];
            }
            [] => sentences.push(format!(
                "No variant is shown to gain more than the margin, over {}.",
                count(self.cells, "cell")
            )),
            [_] => {}
            several => sentences.push(self.not_told_apart(several)),
        }
        let mut others: Vec<usize> = (0..self.candidates.len()).collect();
        others.retain(|at| !leaders.contains(at));
        others.sort_by_key(|at| self.candidates[*at].class());
        for at in leaders.into_iter().chain(others) {
            let candidate = &self.candidates[at];
            if !candidate.is_idle {
                let mut own = candidate.sentences(self.measured_s);
                own[0] += &self.beaten(at);
                sentences.extend(own);
            }
        }
        for class in [Class::NeverFires, Class::NoSite] {
            sentences.extend(self.idle(class));
        }
        let spoilt = self.spoilt.iter();
        sentences.extend(spoilt.map(|(metric, reason)| {
            format!(
                "Not used for the verdict: {}, because {reason}.",
                metric.info().words
            )
        }));
        sentences
    }

    fn idle(&self, class: Class) -> Option<String> {
        let of_class = self.candidates.iter().filter(|it| it.class() == class);
        let labels: Vec<String> = of_class.map(|it| format!("`{}`", it.label)).collect();
        let does = match (class, labels.len()) {
            (_, 0) => return None,
            (Class::NoSite, _) => "had nothing to limit: no poll of the site was recorded",
            (_, 1) => "never fires in any cell, so it changes nothing",
            _ => "never fire in any cell, so they change nothing",
        };
        Some(format!("{} {does}.", labels.join(" and ")))
    }

    fn not_told_apart(&self, leaders: &[usize]) -> String {
        let label = |at: &usize| format!("`{}`", self.candidates[*at].label);
        let labels: Vec<String> = leaders.iter().map(label).collect();
        let between = |it: &&super::Pair| leaders.contains(&it.from) && leaders.contains(&it.to);
        let pairs = self.pairs.iter().filter(between);
        let pairs: Vec<String> = pairs
            .map(|it| {
                format!(
                    "{} compared with {}: {}",
                    label(&it.to),
                    label(&it.from),
                    apart(&it.judged)
                )
            })
            .collect();
        format!(
            "Of {}, none is shown to be the best. {}.",
            labels.join(" and "),
            pairs.join(". ")
        )
    }

    fn beaten(&self, at: usize) -> String {
        self.beating(at)
            .map_or_else(String::new, |(better, judged)| {
                let label = &self.candidates[better].label;
                format!(" Compared with it, `{label}` has {}.", apart(judged))
            })
    }
}

/// What differs between two candidates.
pub(crate) fn apart(judged: &[Judged]) -> String {
    let of = |outcome| {
        let judged = judged.iter().filter(move |it| it.is(outcome));
        judged.map(Judged::phrase)
    };
    let (better, worse): (Vec<_>, Vec<_>) =
        (of(Outcome::Better).collect(), of(Outcome::Worse).collect());
    let same = judged
        .iter()
        .filter(|it| !it.is(Outcome::Better) && !it.is(Outcome::Worse));
    let same: Vec<String> = same
        .map(|it| format!("{} ({})", it.quantity.words, it.change()))
        .collect();
    let mut parts = Vec::new();
    if !better.is_empty() {
        parts.push(better.join(", "));
    }
    if !worse.is_empty() {
        let but = if better.is_empty() { "" } else { "but " };
        parts.push(format!("{but}{}", worse.join(", ")));
    }
    if !same.is_empty() {
        parts.push(format!(
            "no difference beyond the margin is shown in {}",
            same.join(", ")
        ));
    }
    parts.join("; ")
}

impl Candidate {
    /// What is shown, then what is not, each with its numbers.
    pub(crate) fn sentences(&self, measured_s: f64) -> Vec<String> {
        let label = &self.label;
        let cells = self.judged.iter().map(|it| it.cells);
        let all_cells = cells.max().unwrap_or(0);
        let list = |wanted: &dyn Fn(&Judged) -> bool| {
            let judged = self.judged.iter().filter(|it| wanted(it));
            let phrases = judged.map(|it| match it.cells {
                _ if is_of_polls_only(it, &self.judged) => {
                    format!("{}, but not per request", it.phrase())
                }
                cells if cells < all_cells => {
                    format!("{} in {}", it.phrase(), count(cells, "cell"))
                }
                _ => it.phrase(),
            });
            phrases.collect::<Vec<_>>().join(", ")
        };
        let is = |it: &Judged, outcome| it.is(outcome) && !is_of_polls_only(it, &self.judged);
        let is_extreme = |it: &Judged| is(it, Outcome::Better) || is(it, Outcome::Worse);
        let better = list(&|it| is(it, Outcome::Better));
        let worse = list(&|it| is(it, Outcome::Worse));
        let others = list(&|it| it.quantity.is_benefit && !is_extreme(it));
        let costs = list(&|it| !it.quantity.is_benefit && !is_extreme(it));
        let is_said = matches!(self.class(), Class::NoGain | Class::Unknown);
        let does = match self.class() {
            Class::Helps | Class::HelpsCostUnknown => format!("helps: {better}"),
            Class::TradeOff => format!("is a trade-off: {better}; but {worse}"),
            Class::Harms => format!("harms: {worse}"),
            Class::NoGain => format!("has no gain greater than the margins: {others}"),
            Class::Unknown if self.judged.is_empty() => "could not be compared".to_owned(),
            Class::Unknown if others.is_empty() => "may help or not".to_owned(),
            Class::Unknown => format!("may help or not: {others}"),
            Class::NeverFires | Class::NoSite => self.result().to_owned(),
        };
        let cost = match self.class() {
            Class::HelpsCostUnknown => format!("The cost of `{label}` is not fully known"),
            Class::TradeOff | Class::Harms => format!("Other costs of `{label}`"),
            _ => format!("Cost of `{label}`"),
        };
        let mut sentences = vec![format!("`{label}` {does}.")];
        let others = if is_said { "" } else { &others };
        let benefits = format!("Other benefits of `{label}`");
        for (name, part) in [(cost, &*costs), (benefits, others)] {
            if !part.is_empty() {
                sentences.push(format!("{name}: {part}."));
            }
        }
        let undecided = self.judged.iter().filter(|it| it.includes_none());
        let times = undecided.filter_map(Judged::times);
        if let Some(times) = times.reduce(f64::max) {
            let longer = longer(times, measured_s);
            sentences.push(format!(
                "To decide what is undecided about `{label}`, {longer}, if the estimates stay the same."
            ));
        }
        sentences
    }

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
        match self.class() {
            Class::NoSite => "its site was not polled",
            Class::NeverFires => "never fires",
            Class::Helps => "helps",
            Class::HelpsCostUnknown => "helps, cost not fully known",
            Class::TradeOff => "trade-off",
            Class::Harms => "harms",
            Class::NoGain => "no gain greater than the margins",
            Class::Unknown => "not known",
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

pub(crate) fn absent() -> String {
    "not measured".to_owned()
}
