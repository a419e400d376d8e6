//! The verdict in sentences. Each says about an interval what [`super::outcome`] found, and nothing else.

use std::collections::BTreeMap;

use super::{Candidate, Class, Judged, Outcome, Verdict};
use crate::measure::Metric;
use crate::stats::Interval;
use crate::text::{
    self, capitalised, count, decimals_of_change, fixed, joined, joined_any, lasting, number, short,
};

impl Judged {
    /// "−7.9 pp [−8.3, −7.5]"
    pub(crate) fn change(&self) -> String {
        text::change(self.value, self.quantity.unit(), self.interval)
    }

    pub(crate) fn phrase(&self) -> String {
        let (words, change, margin) = (self.quantity.words, self.change(), self.margin());
        let Interval { low, high } = self.loss();
        match self.outcome() {
            Outcome::Better | Outcome::Worse => {
                let what = self.quantity.changed(self.is(Outcome::Better));
                format!("{what}{} ({change})", self.levels())
            }
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
        let (end, direction) = match self.quantity.is_lower_better() {
            true => (high, "higher"),
            false => (-low, "lower"),
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
            let alone = "Only the baseline was measured, so there is nothing to compare.";
            return vec![alone.to_owned()];
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
        let sites = best.yields.iter().map(|it| self.site_words.quoted(it.site));
        let label = &best.label;
        let what = match joined_any(sites, " and ") {
            None => format!("use `{label}`"),
            Some(sites) => format!("bound {sites} with `{label}`"),
        };
        let what = match self.is_one_visit {
            true => format!("One visit to each cell suggests: {what}"),
            false => capitalised(&what),
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
        let mut open = candidate.deciding();
        open.retain(|it| it.interval.covers(0.0) && it.quantity.is_benefit != gains);
        let times = open.iter().filter_map(Judged::times);
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

pub(crate) fn duration(ns: u64) -> String {
    const NS_PER_MS: u64 = 1_000_000;
    match ns {
        ..NS_PER_MS => format!("{} µs", short(ns as f64 / 1e3)),
        _ => format!("{} ms", short(ns as f64 / 1e6)),
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
    let same = joined(same, ", ");
    let but = if better.is_empty() { "" } else { "but " };
    let none = "no difference beyond the margin is shown in ";
    let parts = [("", better), (but, worse), (none, same)];
    let parts = parts.iter().filter(|(_, text)| !text.is_empty());
    joined(parts.map(|(lead, text)| format!("{lead}{text}")), "; ")
}

pub(crate) fn absent() -> String {
    "not measured".to_owned()
}
