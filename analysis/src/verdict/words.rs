//! The verdict in sentences. Each says about an interval what [`super::outcome`] found, and nothing else.

use std::collections::BTreeMap;

use run_format::Ends;

use super::regime::{Regime, places};
use super::{Candidate, Class, InRegime, Judged, Outcome, SiteYields, Verdict};
use crate::measure::Metric;
use crate::prose::{self, prose};
use crate::stats::Interval;
use crate::text::{self, capitalised, count, decimals_of_change, fixed, joined, joined_any, short};

impl Judged {
    /// "−7.9 pp [−8.3, −7.5]"
    pub(crate) fn change(&self) -> String {
        text::change(self.value, self.quantity.unit(), self.interval)
    }

    pub(crate) fn phrase(&self) -> String {
        prose::text(&prose!('a "phrase.txt" {
            judged: &'a Judged = self,
            words: &'static str = self.quantity.words,
            loss: Interval = self.loss(),
        }))
    }

    /// As part of what is said of so many cells.
    pub(crate) fn phrase_within(&self, cells: usize) -> String {
        match self.cells {
            fewer if fewer < cells => format!("{} in {}", self.phrase(), count(fewer, "cell")),
            _ => self.phrase(),
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
            best: Vec<&'a Candidate> = self.best_of_each().into_iter().flatten().collect(),
            fired: Vec<&'a Candidate> = fired.collect(),
        }))
    }

    /// A line for each question, that of the merge first.
    pub(crate) fn answers(&self) -> Vec<String> {
        let questions = self.questions().into_iter().map(Some);
        let questions = questions.chain(self.questions().is_empty().then_some(None));
        let best = self.best_of_each().into_iter();
        let answer = |(ends, best): (Option<Ends>, Option<&Candidate>)| match best {
            Some(best) => self.decision(best),
            None => capitalised(&prose::text(&prose!('a "no_gain.txt" {
                verdict: &'a Verdict = self,
                question: &'static str = ends.map_or("", question),
            }))),
        };
        questions.zip(best).map(answer).collect()
    }

    /// "Without delay: bound `yamux Active::poll` with `muxer=1/deferred`. With delay nothing is shown."
    fn decision(&self, best: &Candidate) -> String {
        let (place, class) = best.leading();
        let has_questions = !self.questions().is_empty();
        let lead = [
            if has_questions {
                question(best.ends)
            } else {
                ""
            },
            if self.is_one_visit {
                "one visit to each cell suggests"
            } else {
                ""
            },
            &place,
        ];
        let lead = lead.into_iter().filter(|part| !part.is_empty());
        let opposite = &best.holds.opposite;
        let ends = opposite.first().zip(opposite.last());
        let sites = best.yields.iter().map(|it| self.site_words.quoted(it.site));
        capitalised(&prose::text(&prose!('a "decision.txt" {
            lead: String = joined(lead, ", "),
            class: Class = class,
            elsewhere: Vec<String> = best.elsewhere(class),
            label: &'a str = &best.label,
            opposite: Option<[String; 2]> = ends.map(|(first, last)| [*first, *last].map(duration)),
            sites: Vec<String> = sites.collect(),
        })))
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
        let best: Vec<usize> = self
            .best_of_each()
            .into_iter()
            .flatten()
            .map(|it| it.variant)
            .collect();
        let leaders = self.leaders();
        let mut groups = BTreeMap::<(Class, bool), Vec<&str>>::new();
        for (at, candidate) in self.candidates.iter().enumerate() {
            if !best.contains(&candidate.variant) {
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

/// The question that a budget at these ends answers.
fn question(ends: Ends) -> &'static str {
    match ends {
        Ends::Central => "in your own node",
        Ends::Both => "merged upstream, at both ends",
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

/// With fewer yields than this, a budget is said to fire rarely.
const RARE_YIELDS_PER_1000: f64 = 1.0;

impl Candidate {
    /// The regimes for which the candidate is advised, and its class there. In these regimes something is better and nothing
    /// is worse. If there are none, they are those in which something is better and something is worse.
    fn leading(&self) -> (String, Class) {
        if self.regimes.is_empty() {
            return (String::new(), self.class());
        }
        let helps = |class| class <= Class::HelpsCostUnknown;
        let classes = self.regimes.iter().map(InRegime::class);
        match classes.filter(|class| helps(*class)).max() {
            Some(class) => (self.places(helps), class),
            None => (
                self.places(|class| class == Class::TradeOff),
                Class::TradeOff,
            ),
        }
    }

    /// Sentences about the regimes for which the candidate is not advised.
    fn elsewhere(&self, leading: Class) -> Vec<String> {
        let is_told = leading == Class::TradeOff;
        let trades = |class| class == Class::TradeOff && !is_told;
        let harms = |class| class == Class::Harms;
        let does_nothing = |class| [Class::NoGain, Class::Unknown].contains(&class);
        let sentences = [
            (
                self.places(trades),
                "it gains, too, if what it costs is acceptable",
            ),
            (self.places(harms), "it harms"),
            (self.places(does_nothing), "nothing is shown"),
        ];
        let sentences = sentences.iter().filter(|(place, _)| !place.is_empty());
        let sentences = sentences.map(|(place, what)| format!("{} {what}.", capitalised(place)));
        sentences.collect()
    }

    /// Names the regimes in which the candidate has one of these classes, as [`places`] does.
    fn places(&self, is_one: impl Fn(Class) -> bool) -> String {
        let chosen = self.regimes.iter().filter(|group| is_one(group.class()));
        let chosen: Vec<Regime> = chosen.map(|group| group.regime).collect();
        let all: Vec<Regime> = self.regimes.iter().map(|group| group.regime).collect();
        places(&chosen, &all)
    }

    /// A sentence for each regime if there are several, else one for all cells.
    pub(crate) fn sentences(&self) -> Vec<String> {
        if !self.regimes.is_empty() {
            let sentence =
                |group: &InRegime| self.sentence(capitalised(&group.words()), &group.judged);
            return self.regimes.iter().map(sentence).collect();
        }
        let cells = self.judged.iter().map(|it| it.cells);
        vec![match cells.max() {
            None => format!("`{}` could not be compared.", self.label),
            Some(cells) => self.sentence(format!("Over {}", count(cells, "cell")), &self.judged),
        }]
    }

    /// Gains, costs, and what is not known, each with its numbers.
    fn sentence(&self, place: String, judged: &[Judged]) -> String {
        let cells = judged.iter().map(|it| it.cells).max().unwrap_or(0);
        let list = |name: &str, wanted: &dyn Fn(&Judged) -> bool| {
            let judged = judged.iter().filter(|it| wanted(it));
            let phrases = judged.map(|it| it.phrase_within(cells));
            Some(format!("{name}: {}", joined_any(phrases, ", ")?))
        };
        let is_limited =
            |it: &Judged| !it.quantity.is_benefit && it.is(Outcome::NotWorse) && !it.is_cost();
        let is_other = |it: &Judged| !it.is_extreme() && !it.is_cost() && !is_limited(it);
        let parts = [
            list("Gain", &|it| it.is(Outcome::Better)),
            list("Cost", &Judged::is_cost),
            list("Limits of the cost", &is_limited),
            list("Other results", &is_other),
        ];
        // What is compared in other cells only. Turns are shorter than requests here, so requests belong to no variant.
        let is_missing = |it: &&Judged| {
            let is_of_requests = it.quantity.metric.info().is_of_requests;
            is_of_requests && judged.iter().all(|of| of.quantity != it.quantity)
        };
        let not_compared = self.judged.iter().filter(is_missing);
        prose::text(&prose!("candidate.txt" {
            place: String = place,
            parts: Vec<String> = parts.into_iter().flatten().collect(),
            not_compared: Vec<&'static str> = not_compared.map(|it| it.quantity.words).collect(),
        }))
    }

    /// The cells that speak against it. Of a single one all has been said.
    pub(crate) fn worse(&self) -> Option<String> {
        const MOST: usize = 3;
        if self.judged.iter().all(|it| it.cells == 1) {
            return None;
        }
        let named = self.worse_cells.iter().take(MOST).map(|it| {
            let change = text::uncertain(&it.change, it.quantity.unit());
            format!("{} in the cell {} ({change})", it.quantity.words, it.cell)
        });
        let worse = prose::text(&prose!("worse.txt" {
            named: Vec<String> = named.collect(),
            more: usize = self.worse_cells.len().saturating_sub(MOST),
        }));
        Some(worse).filter(|text| !text.is_empty())
    }

    pub(crate) fn firing(&self) -> String {
        let yields = &self.yields[..];
        prose::text(&prose!('a "firing.txt" { yields: &'a [SiteYields] = yields }))
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
