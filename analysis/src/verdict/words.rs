//! The verdict in sentences. Each says about an interval what [`super::outcome`] found, and nothing else.

use std::collections::BTreeMap;

use super::{Candidate, Class, Judged, Outcome, Verdict};
use crate::measure::Metric;
use crate::prose::{self, prose};
use crate::stats::Interval;
use crate::text::{self, count, decimals_of_change, fixed, joined, number, short};

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
            _ if high < 0.0 => {
                format!("{words} better, perhaps within the margin of {margin} ({change})")
            }
            Outcome::NotWorse if !self.quantity.is_benefit => {
                format!("{words} {} ({change})", self.at_most())
            }
            _ if low > 0.0 && high > self.margin => {
                format!("{words} worse, perhaps within the margin of {margin} ({change})")
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

impl Verdict {
    /// First what to do, then what that gains and costs, then the other variants.
    pub(crate) fn sentences(&self) -> Vec<String> {
        const MOST: usize = 3;
        if self.candidates.is_empty() {
            let alone = "Only the baseline was measured, so there is nothing to compare.";
            return vec![alone.to_owned()];
        }
        // What is known of the first that fired, where none gains.
        let fired = self.candidates.iter().filter(|it| !it.is_idle).take(MOST);
        prose::sentences(&prose!('a "verdict.txt" {
            verdict: &'a Verdict = self,
            fired: Vec<&'a Candidate> = fired.collect(),
        }))
    }

    /// "Bound `yamux Active::poll` with `muxer=1/deferred`."
    pub(crate) fn decision(&self, best: &Candidate) -> String {
        let opposite = &best.holds.opposite;
        let ends = opposite.first().zip(opposite.last());
        let sites = best.yields.iter().map(|it| self.site_words.quoted(it.site));
        prose::text(&prose!('a "decision.txt" {
            best: &'a Candidate = best,
            opposite: Option<[String; 2]> = ends.map(|(first, last)| [*first, *last].map(duration)),
            is_one_visit: bool = self.is_one_visit,
            sites: Vec<String> = sites.collect(),
        }))
    }

    /// What is known of a candidate: its gains and costs, the thresholds and the cells.
    pub(crate) fn details(&self, candidate: &Candidate) -> Vec<String> {
        prose::sentences(&prose!('a "details.txt" {
            candidate: &'a Candidate = candidate,
            range: Option<[String; 2]> = candidate.holds.range.map(|ends| ends.map(duration)),
            longer: Option<(String, f64, f64)> = self.longer(candidate),
        }))
    }

    /// How many times as long to measure, and what that is instead of: of a candidate that gains, to know its costs; of another
    /// one, to know whether it gains. None if nobody would.
    fn longer(&self, candidate: &Candidate) -> Option<(String, f64, f64)> {
        const MOST: f64 = 100.0;
        let gains = candidate.gains();
        let mut open = candidate.deciding();
        open.retain(|it| it.interval.covers(0.0) && it.quantity.is_benefit != gains);
        let times = open.iter().filter_map(Judged::times);
        let times = match gains {
            true => times.reduce(f64::max)?,
            false => times.reduce(f64::min)?,
        };
        let decimals = usize::from(times < 10.0);
        let rounding = 10f64.powi(decimals as i32);
        let times = (times * rounding).ceil() / rounding;
        let (text, measured_s) = (fixed(times, decimals), self.measured_s);
        (times <= MOST).then_some((text, measured_s, times * measured_s))
    }

    /// The candidates beside the best one, by what is known of them.
    fn others(&self) -> Vec<String> {
        let best = self.best().map(|it| it.variant);
        let leaders = self.leaders();
        let mut groups = BTreeMap::<(Class, bool), Vec<&str>>::new();
        for (at, candidate) in self.candidates.iter().enumerate() {
            if Some(candidate.variant) != best {
                // Those that gain are told apart by whether another one is better.
                let class = candidate.class().max(Class::TradeOff);
                let is_beaten = candidate.gains() && !leaders.contains(&at);
                let group = groups.entry((class, is_beaten)).or_default();
                group.push(&candidate.label);
            }
        }
        prose::sentences(&prose!('a "others.txt" {
            groups: BTreeMap<(Class, bool), Vec<&'a str>> = groups,
        }))
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
