//! The verdict in sentences. Each says about an interval what [`super::outcome`] found, and nothing else.

use std::collections::BTreeMap;

use super::{Candidate, Class, Judged, Outcome, SiteYields, Verdict};
use crate::measure::metric::Metric;
use crate::stats::{CONFIDENCE, Interval};
use crate::text::{
    self, capitalised, count, decimals_of_change, fixed, joined, lasting, number, short,
};

/// With fewer yields than this, a budget is said to fire rarely.
const RARE_YIELDS_PER_1000: f64 = 1.0;

impl Judged {
    /// "−7.9 pp [−8.3, −7.5]"
    pub(crate) fn change(&self) -> String {
        text::change(self.value, self.quantity.unit(), self.interval)
    }

    pub(crate) fn phrase(&self) -> String {
        let (words, change, margin) = (self.quantity.words, self.change(), self.margin());
        let Interval { low, high } = self.loss();
        match self.outcome() {
            Outcome::Better => format!("{}{} ({change})", self.quantity.improved(), self.levels()),
            Outcome::Worse => format!("{}{} ({change})", self.quantity.worsened(), self.levels()),
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

    /// ", 619 → 147 ms per s"
    fn levels(&self) -> String {
        self.levels.map_or_else(String::new, |[before, after]| {
            let unit = self.quantity.metric.info().unit;
            format!(", {} → {} {unit}", number(before), number(after))
        })
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

/// "measure about 4.2 times as long (40 minutes)". None if nobody would.
fn longer(times: f64, measured_s: f64) -> Option<String> {
    const MOST: f64 = 100.0;
    let decimals = usize::from(times < 10.0);
    let rounding = 10f64.powi(decimals as i32);
    let times = (times * rounding).ceil() / rounding;
    (times <= MOST).then(|| {
        format!(
            "measure about {} times as long ({} instead of {})",
            fixed(times, decimals),
            lasting(times * measured_s),
            lasting(measured_s)
        )
    })
}

impl Verdict {
    /// First what to do, then what that gains and costs, then the other variants.
    pub(crate) fn sentences(&self) -> Vec<String> {
        if self.candidates.is_empty() {
            return vec![
                "Only the baseline was measured, so there is nothing to compare.".to_owned(),
            ];
        }
        let (decision, details) = match self.best() {
            Some(best) => (self.decision(best), self.details(best)),
            None => {
                let cells = count(self.cells, "cell");
                let none = "No variant is shown to gain more than the margins";
                (format!("{none}, over {cells}."), self.undecided())
            }
        };
        let mut sentences = vec![decision];
        sentences.extend(details);
        sentences.extend(self.others());
        let spoilt = self.spoilt.iter();
        sentences.extend(spoilt.map(|(metric, reason)| {
            format!(
                "Not used for the verdict: {}, because {reason}.",
                metric.info().words
            )
        }));
        sentences
    }

    /// "Bound `yamux Active::poll` with `muxer=1/deferred`."
    pub(crate) fn decision(&self, best: &Candidate) -> String {
        let sites = best.yields.iter().map(|it| {
            let function = self.site_words.function(it.site);
            match function.contains("::") {
                true => format!("`{function}`"),
                false => function.to_owned(),
            }
        });
        let label = &best.label;
        let what = match joined(sites, " and ") {
            none if none.is_empty() => format!("use `{label}`"),
            sites => format!("bound {sites} with `{label}`"),
        };
        let what = if self.is_one_visit {
            format!("One visit to each cell suggests: {what}")
        } else {
            capitalised(&what)
        };
        let but = match best.class() {
            Class::TradeOff => ", if what it costs is acceptable",
            Class::HelpsCostUnknown => "; a part of its cost is not known yet",
            _ => "",
        };
        format!("{}{what}{but}.", self.opposite(best).unwrap_or_default())
    }

    fn opposite(&self, best: &Candidate) -> Option<String> {
        let (first, last) = (best.holds.opposite.first()?, best.holds.opposite.last()?);
        let place = match first == last {
            true => format!("at {}", duration(*first)),
            false => format!("from {} to {}", duration(*first), duration(*last)),
        };
        Some(format!(
            "The sign of the effect depends on the threshold: {place} it is the opposite. "
        ))
    }

    /// What is known of a candidate: its gains and costs, the thresholds and the cells.
    pub(crate) fn details(&self, candidate: &Candidate) -> Vec<String> {
        let mut sentences = candidate.sentences();
        let Some(beyond) = candidate.of_metric(Metric::BeyondMsPerS) else {
            return sentences;
        };
        sentences.extend(candidate.holds.range.map(|range| {
            let [low, high] = range.map(duration);
            let thresholds = match low == high {
                true => format!("is not shown for thresholds other than {low}"),
                false => format!("is shown for every threshold from {low} to {high}"),
            };
            let (words, margin) = (beyond.quantity.words, beyond.margin());
            format!("Over all cells, a change of the {words} by more than {margin} {thresholds}.")
        }));
        sentences.extend(candidate.worse());
        sentences.extend(self.to_decide(candidate));
        sentences
    }

    /// What is known of the first candidates that fired, where none gains.
    fn undecided(&self) -> Vec<String> {
        const MOST: usize = 3;
        let fired = self.candidates.iter().filter(|it| !it.is_idle).take(MOST);
        let details = fired.flat_map(|it| {
            let sentences = self.details(it).into_iter();
            sentences.enumerate().map(|(at, sentence)| match at {
                0 => format!("`{}`: {sentence}", it.label),
                _ => sentence,
            })
        });
        details.collect()
    }

    /// Of a candidate that gains, how long it takes to know its costs; of another one, to know whether it gains.
    fn to_decide(&self, candidate: &Candidate) -> Option<String> {
        let gains = candidate.gains();
        let deciding = candidate.deciding();
        let open = deciding
            .iter()
            .filter(|it| it.includes_none() && it.quantity.is_benefit != gains);
        let times = open.filter_map(Judged::times);
        let label = &candidate.label;
        let (times, what) = match gains {
            true => (times.reduce(f64::max)?, format!("what `{label}` costs")),
            false => (times.reduce(f64::min)?, format!("whether `{label}` gains")),
        };
        let longer = longer(times, self.measured_s)?;
        Some(format!(
            "To know {what}, {longer}, if the estimates stay the same."
        ))
    }

    /// The candidates beside the best one, by what is known of them.
    fn others(&self) -> Vec<String> {
        let best = self.best().map(|it| it.variant);
        let leaders = self.leaders();
        let mut groups = BTreeMap::<(Class, bool), Vec<String>>::new();
        for (at, candidate) in self.candidates.iter().enumerate() {
            if Some(candidate.variant) != best {
                // Those that gain are told apart by whether another one is better.
                let class = candidate.class().max(Class::TradeOff);
                let is_beaten = candidate.gains() && !leaders.contains(&at);
                let group = groups.entry((class, is_beaten)).or_default();
                group.push(format!("`{}`", candidate.label));
            }
        }
        let sentence = |((class, is_beaten), labels): ((Class, bool), Vec<String>)| {
            let verb = |one, several| if labels.len() == 1 { one } else { several };
            let (is, gain) = (verb("is", "are"), verb("gains", "gain"));
            let do_what = match class {
                Class::Unknown => format!("{is} not shown to gain or to lose"),
                Class::NoGain => {
                    format!("{} no gain greater than the margins", verb("has", "have"))
                }
                Class::Harms => verb("harms", "harm").to_owned(),
                Class::NeverFires => "never ended a poll".to_owned(),
                Class::NoSite => {
                    "had nothing to bound, because no poll of its site was recorded".to_owned()
                }
                _ if is_beaten => format!("{gain}, too, but another variant is better"),
                _ => format!("{gain}, too, and {is} not shown to be better than that"),
            };
            match labels.split_last() {
                Some((last, others @ [_, ..])) => {
                    format!("{} and {last} {do_what}.", others.join(", "))
                }
                _ => format!("{} {do_what}.", labels.concat()),
            }
        };
        groups.into_iter().map(sentence).collect()
    }
}

/// "50 µs"
pub(crate) fn duration(ns: u64) -> String {
    const NS_PER_MS: u64 = 1_000_000;
    match ns {
        ..NS_PER_MS => format!("{} µs", short(ns as f64 / 1e3)),
        _ => format!("{} ms", short(ns as f64 / 1e6)),
    }
}

/// Gains, costs, and what is not known, each with its numbers.
fn sentence(place: &str, judged: &[Judged]) -> String {
    let cells = judged.iter().map(|it| it.cells).max().unwrap_or(0);
    let list = |wanted: &dyn Fn(&Judged) -> bool| {
        let judged = judged.iter().filter(|it| wanted(it));
        let phrases = judged.map(|it| match it.cells {
            fewer if fewer < cells => format!("{} in {}", it.phrase(), count(fewer, "cell")),
            _ => it.phrase(),
        });
        joined(phrases, ", ")
    };
    let is_limited =
        |it: &Judged| !it.quantity.is_benefit && it.is(Outcome::NotWorse) && !it.is_cost();
    let parts = [
        ("Gain", list(&|it| it.is(Outcome::Better))),
        ("Cost", list(&|it| it.is_cost())),
        ("Limits of the cost", list(&is_limited)),
        (
            "Other results",
            list(&|it| !it.is_extreme() && !it.is_cost() && !is_limited(it)),
        ),
    ];
    let parts = parts.iter().filter(|(_, list)| !list.is_empty());
    match joined(parts.map(|(name, list)| format!("{name}: {list}")), ". ") {
        none if none.is_empty() => format!("{place}: not compared."),
        parts => format!("{place}. {parts}."),
    }
}

pub(crate) fn apart(judged: &[Judged]) -> String {
    let phrases = |outcome| {
        let judged = judged.iter().filter(|it| it.is(outcome));
        joined(judged.map(Judged::phrase), ", ")
    };
    let (better, worse) = (phrases(Outcome::Better), phrases(Outcome::Worse));
    let same = judged.iter().filter(|it| !it.is_extreme());
    let same = same.map(|it| format!("{} ({})", it.quantity.words, it.change()));
    let but = if better.is_empty() { "" } else { "but " };
    let parts = [
        ("", better),
        (but, worse),
        (
            "no difference beyond the margin is shown in ",
            joined(same, ", "),
        ),
    ];
    let parts = parts.iter().filter(|(_, text)| !text.is_empty());
    joined(parts.map(|(lead, text)| format!("{lead}{text}")), "; ")
}

impl Candidate {
    /// One of each regime if they differ, else one over all cells.
    pub(crate) fn sentences(&self) -> Vec<String> {
        if self.differs {
            return self.in_regimes().collect();
        }
        let cells = self.judged.iter().map(|it| it.cells);
        match cells.max() {
            None => vec![format!("`{}` could not be compared.", self.label)],
            Some(cells) => vec![sentence(
                &format!("Over {}", count(cells, "cell")),
                &self.judged,
            )],
        }
    }

    pub(crate) fn in_regimes(&self) -> impl Iterator<Item = String> {
        let regimes = self.regimes.iter();
        regimes.map(|it| {
            sentence(&it.regime.words(it.cells), &it.judged) + &self.not_compared(&it.judged)
        })
    }

    /// What is compared in other cells only. Turns are shorter than requests there, so requests belong to no variant.
    fn not_compared(&self, judged: &[Judged]) -> String {
        let is_missing = |it: &&Judged| {
            let is_of_requests = it.quantity.metric.info().is_of_requests;
            is_of_requests && judged.iter().all(|of| of.quantity != it.quantity)
        };
        let missing = self.judged.iter().filter(is_missing);
        match joined(missing.map(|it| it.quantity.words), ", ") {
            none if none.is_empty() => none,
            words => format!(" Not compared: {words}, because requests last longer than turns."),
        }
    }

    /// The cells that speak against it.
    fn worse(&self) -> Option<String> {
        const MOST: usize = 3;
        let worse = self.worse_cells.len();
        let named = self.worse_cells.iter().take(MOST).map(|it| {
            let change = text::change(
                it.change.value,
                it.quantity.unit(),
                it.change.interval(CONFIDENCE),
            );
            format!("{} in the cell {} ({change})", it.quantity.words, it.cell)
        });
        let more = match worse.saturating_sub(MOST) {
            0 => String::new(),
            more => format!("; {more} more are in `summary.csv`"),
        };
        (worse > 0).then(|| {
            format!(
                "Shown to be worse in single cells: {}{more}.",
                joined(named, ", ")
            )
        })
    }

    pub(crate) fn firing(&self) -> String {
        match self.yields.as_slice() {
            [] => "–".to_owned(),
            [one] => one.words(),
            several => {
                let named = several
                    .iter()
                    .map(|it| format!("{} {}", it.site, it.words()));
                joined(named, "; ")
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
                let [mean, most] = [mean, most].map(number);
                format!("{rarely}{mean} ({most} in the worst cell)")
            }
        }
    }
}

pub(crate) fn absent() -> String {
    "not measured".to_owned()
}
