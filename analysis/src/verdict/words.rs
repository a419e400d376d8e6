//! The verdict in sentences. They say what [`super::outcome`] found in the intervals, and nothing else.

use run_format::Ends;

use super::candidate::YieldsPer1000;
use super::delay_group::{DelayGroup, group_words};
use super::{Candidate, Class, GroupChanges, Outcome, QuantityChange, SiteYields, Verdict};
use crate::metrics::{Metric, Quantity};
use crate::prose::{self, prose};
use crate::text::{self, capitalised, duration, fixed, joined, joined_any, unique};

impl QuantityChange {
    /// Returns the change with its interval, such as "−7.91 pp [−8.31, −7.52]".
    pub(crate) fn in_words(&self) -> String {
        text::with_signed_interval(self.value, self.quantity.unit(), self.interval)
    }

    /// Returns the interval alone, such as "[−8.31, −7.52]".
    pub(crate) fn interval_in_words(&self) -> String {
        text::signed_interval(self.value, self.interval)
    }

    /// Returns words such as "throughput may be up to 2.3 % lower", with the digits of the interval. A loss of 100 % or more
    /// tells nobody anything.
    fn greatest_loss(&self) -> String {
        let decimals = text::decimals_of_change(self.value, self.interval);
        let high = self.loss().high;
        if high >= 100.0 || high.is_nan() {
            return format!("{} is not known", self.quantity.words());
        }
        let by = format!("up to {} {}", fixed(high, decimals), self.quantity.unit());
        let worse = match self.quantity.is_lower_better() {
            true => "higher",
            false => "lower",
        };
        format!("{} may be {by} {worse}", self.quantity.words())
    }

    /// Returns the estimate with the digits of the interval, such as "−96.4".
    fn estimate(&self) -> String {
        let decimals = text::decimals_of_change(self.value, self.interval);
        text::with_plus(self.value, fixed(self.value, decimals))
    }

    /// The loss that the interval does not exclude, in margins.
    fn loss_in_margins(&self) -> f64 {
        self.loss().high / self.quantity.margin
    }
}

impl Verdict {
    /// Returns the answers, and then the remarks.
    pub(crate) fn sentences(&self) -> Vec<String> {
        let mut sentences = self.answers();
        sentences.extend(self.remarks());
        sentences
    }

    /// Says what was not measured, and in which cells the best candidates are worse.
    pub(crate) fn remarks(&self) -> Vec<String> {
        let best = self.best_of_each().into_iter().flatten();
        let details = best.flat_map(|candidate| self.details(candidate));
        self.not_measured().into_iter().chain(details).collect()
    }

    /// A line for each subject that failed, and then a line for each question. The question of the merge comes first.
    pub(crate) fn answers(&self) -> Vec<String> {
        if self.candidates.is_empty() {
            return vec![match &self.control {
                Some(control) => format!(
                    "Nothing is proposed: `{}` is an A/A control, a second copy of the baseline. The tables show by how much \
                     noise alone makes the two differ.",
                    control.label
                ),
                None => {
                    "Only the baseline was measured, so there is nothing to compare.".to_owned()
                }
            }];
        }
        let several = self.questions().into_iter().map(Some);
        let questions = several.chain(self.questions().is_empty().then_some(None));
        let best = self.best_of_each().into_iter();
        let answer = |(ends, best): (Option<Ends>, Option<&Candidate>)| match best {
            Some(best) => self.decision(best),
            None => capitalised(&prose::text(&prose!('a "no_gain.txt" {
                verdict: &'a Verdict = self,
                question: &'static str = ends.map_or("", question),
                unadvised: Vec<&'a Candidate> = self.unadvised(),
                never_fired: Vec<&'a Candidate> = self.candidates.iter().filter(|candidate| candidate.never_fired).collect(),
            }))),
        };
        let failed = self.failed_subjects.iter().cloned();
        failed.chain(questions.zip(best).map(answer)).collect()
    }

    fn unadvised(&self) -> Vec<&Candidate> {
        let is_unadvised = |candidate: &&Candidate| candidate.class() == Class::Unadvised;
        self.candidates.iter().filter(is_unadvised).collect()
    }

    /// Says what was not measured in an application, and what the application would have to call. Empty for a sweep.
    fn not_measured(&self) -> Vec<String> {
        const COUNTED: [(&str, &[Metric]); 2] = [
            (
                "count_request",
                &[
                    Metric::RequestsPerS,
                    Metric::CpuUsPerRequest,
                    Metric::LatencyP99Ms,
                ],
            ),
            ("count_bytes", &[Metric::MibPerS, Metric::CpuUsPerMib]),
        ];
        let is_application = self
            .candidates
            .iter()
            .any(|candidate| candidate.is_of_application);
        let counted = COUNTED.iter().filter(|_| is_application);
        let lines = counted.filter_map(|(call, metrics)| {
            let is_missing = |metric: &&Metric| self.quantity(**metric).is_none();
            let unmeasured = metrics.iter().filter(is_missing);
            let quantities = unmeasured.filter_map(|metric| Quantity::by_metric(*metric));
            let missing = joined_any(quantities.map(|quantity| quantity.words().to_owned()), ", ")?;
            Some(format!(
                "Not measured: {missing}. The application would have to call `{call}`."
            ))
        });
        lines.collect()
    }

    /// Returns the line about a candidate, such as "Without delay: bound `yamux Active::poll` with `muxer=1/deferred`. With
    /// delay nothing is shown."
    fn decision(&self, best: &Candidate) -> String {
        let (groups, class) = best.leading();
        let has_questions = !self.questions().is_empty();
        let parts = [
            if has_questions {
                question(best.ends)
            } else {
                ""
            },
            if self.has_single_launches {
                "one visit to each cell suggests"
            } else {
                ""
            },
            &groups,
        ];
        let lead = parts.into_iter().filter(|part| !part.is_empty());
        let opposite = &best.opposite;
        let ends = opposite.first().zip(opposite.last());
        let sites = best
            .yields
            .iter()
            .map(|bound| self.site_words.quoted(bound.site));
        let mut unknown_costs = best.deciding_by_group();
        unknown_costs.retain(|(_, cost)| !cost.quantity.is_benefit() && cost.is(Outcome::Unknown));
        let open = self.greatest_losses(unknown_costs);
        let others = open.iter().skip(1).map(|(_, cost)| cost.quantity.words());
        capitalised(&prose::text(&prose!('a "decision.txt" {
            lead: String = joined(lead, ", "),
            class: Class = class,
            gains: String = self.gained(best),
            open: Option<String> = open.first().map(|(group, cost)| with_group(cost.greatest_loss(), group)),
            others: String = joined(others, " and "),
            paid: String = self.paid(best, Class::TradeOff),
            elsewhere: Vec<String> = self.elsewhere(best, class),
            label: &'a str = &best.label,
            opposite: Option<[String; 2]> = ends.map(|(first, last)| [*first, *last].map(duration)),
            sites: Vec<String> = sites.collect(),
        })))
    }

    /// Keeps the greatest loss of each quantity, the greatest in margins first. A quantity without a row in the tables is
    /// left out if another one has a row.
    fn greatest_losses<'a>(
        &self,
        mut losses: Vec<(&'a str, QuantityChange)>,
    ) -> Vec<(&'a str, QuantityChange)> {
        let rows = self.rows();
        let has_row = |change: &QuantityChange| rows.contains(&change.quantity);
        if losses.iter().any(|(_, loss)| has_row(loss)) {
            losses.retain(|(_, loss)| has_row(loss));
        }
        losses.sort_by(|(_, a), (_, b)| b.loss_in_margins().total_cmp(&a.loss_in_margins()));
        let mut seen = Vec::new();
        losses.retain(|(_, loss)| {
            let is_first = !seen.contains(&loss.quantity);
            seen.push(loss.quantity);
            is_first
        });
        losses
    }

    /// Returns the least and the greatest gain that is shown in the groups of cells, for the first row that is a benefit and
    /// for the first that is a cost: "time beyond 50 µs −62.6 to −96.4 %, CPU time per request at both ends −8.9 to −17.8 %".
    fn gained(&self, candidate: &Candidate) -> String {
        let mut gains = candidate.deciding();
        gains.retain(|gain| gain.is(Outcome::Better));
        gains.sort_by(|a, b| a.value.abs().total_cmp(&b.value.abs()));
        let in_words = |quantity: Quantity| {
            let mut estimates = gains
                .iter()
                .filter(|gain| gain.quantity == quantity)
                .map(QuantityChange::estimate);
            let least = estimates.next()?;
            let range = match estimates.next_back() {
                Some(greatest) if greatest != least => format!("{least} to {greatest}"),
                _ => least,
            };
            let words = quantity.words_beyond(&self.threshold_words);
            Some(format!("{words} {range} {}", quantity.unit()))
        };
        let rows = self.rows();
        let firsts = [true, false].into_iter().filter_map(|is_benefit| {
            let quantities = rows.iter().copied();
            let mut alike = quantities.filter(|quantity| quantity.is_benefit() == is_benefit);
            alike.find_map(in_words)
        });
        joined(firsts, ", ")
    }

    /// Returns the loss of each quantity that is worse in the groups of cells in which the candidate has this class, such as
    /// "throughput −10.3 % [−13.4, −7.0]". If there are several groups, each loss has the name of its group.
    fn paid(&self, candidate: &Candidate, class: Class) -> String {
        let groups = candidate.groups.iter();
        let with_class = groups.filter(|group| group.class() == class);
        let groups: Vec<&str> = with_class.map(|group| &*group.words).collect();
        let mut losses = candidate.deciding_by_group();
        losses.retain(|(group, loss)| {
            let is_in_class = candidate.groups.is_empty() || groups.contains(group);
            is_in_class && loss.is(Outcome::Worse)
        });
        let greatest = self.greatest_losses(losses);
        let in_words = greatest.iter().map(|(group, loss)| {
            let shown_group = if groups.len() > 1 { group } else { "" };
            let words = format!("{} {}", loss.quantity.words(), loss.in_words());
            with_group(words, shown_group)
        });
        joined(in_words, ", ")
    }

    /// Sentences about the groups of cells for which the candidate is not advised.
    fn elsewhere(&self, candidate: &Candidate, leading: Class) -> Vec<String> {
        let is_told = leading == Class::TradeOff;
        let trades = |class| class == Class::TradeOff && !is_told;
        let harms = |class| class == Class::Harms;
        let does_nothing = |class| [Class::NoGain, Class::Unknown].contains(&class);
        let paid = |class| self.paid(candidate, class);
        let sentences = [
            (
                candidate.words_for_groups(trades),
                format!("it gains, too, if you accept {}", paid(Class::TradeOff)),
            ),
            (
                candidate.words_for_groups(harms),
                format!("it harms: {}", paid(Class::Harms)),
            ),
            (
                candidate.words_for_groups(does_nothing),
                "nothing is shown".to_owned(),
            ),
        ];
        sentences
            .iter()
            .filter(|(groups, _)| !groups.is_empty())
            .map(|(groups, what)| format!("{} {what}.", capitalised(groups)))
            .collect()
    }

    /// Says what no table has about a candidate: the cells in which it is worse, and how long to measure to know more.
    pub(crate) fn details(&self, candidate: &Candidate) -> Vec<String> {
        prose::sentences(&prose!('a "details.txt" {
            candidate: &'a Candidate = candidate,
            longer: Option<LongerMeasurement> = self.longer(candidate),
        }))
    }

    /// Returns how much longer to measure a candidate. One that gains is measured longer to know all its costs, and any other
    /// to know the benefit that takes the least time. None if that takes longer than anybody would wait.
    fn longer(&self, candidate: &Candidate) -> Option<LongerMeasurement> {
        const MOST: f64 = 100.0;
        let gains = candidate.gains();
        let mut open = candidate.deciding();
        open.retain(|change| change.interval.covers(0.0) && change.quantity.is_benefit() != gains);
        let with_factor = open
            .iter()
            .filter_map(|open| Some((open.quantity, open.time_factor()?)));
        let mut by_factor: Vec<(Quantity, f64)> = with_factor.collect();
        by_factor.sort_by(|(_, a), (_, b)| a.total_cmp(b));
        if !gains {
            by_factor.truncate(1);
        }
        let (_, factor) = *by_factor.last()?;
        let words = by_factor
            .iter()
            .map(|(quantity, _)| quantity.words_beyond(&self.threshold_words));
        let decimals = usize::from(factor < 10.0);
        let rounding = 10f64.powi(decimals as i32);
        let times = (factor * rounding).ceil() / rounding;
        (times <= MOST).then(|| LongerMeasurement {
            quantities: either(&unique(words)),
            times: fixed(times, decimals),
            measured_s: self.measured_s,
            longer_s: times * self.measured_s,
        })
    }
}

/// Returns alternatives in words, such as "throughput, data rate or request latency (p99)".
fn either(items: &[String]) -> String {
    match items {
        [others @ .., last] if !others.is_empty() => format!("{} or {last}", others.join(", ")),
        _ => items.concat(),
    }
}

/// How much longer to measure so that quantities are known.
struct LongerMeasurement {
    quantities: String,
    /// The factor for the measuring time.
    times: String,
    measured_s: f64,
    longer_s: f64,
}

/// The question that a budget at these ends answers.
fn question(ends: Ends) -> &'static str {
    match ends {
        Ends::Central => "in your own node",
        Ends::Both => "if merged upstream, at both ends",
    }
}

/// The text with the name of a group of cells behind it, if it has one.
fn with_group(text: String, group: &str) -> String {
    match group {
        "" => text,
        group => format!("{text} {group}"),
    }
}

pub(crate) fn absent() -> String {
    "not measured".to_owned()
}

/// The text for a quantity of requests that last longer than turns. Such requests belong to no variant.
pub(crate) fn not_compared() -> String {
    "not compared".to_owned()
}

/// The most cells in which a candidate is worse that are named outside of tables.
pub(crate) const MOST_WORSE: usize = 3;

/// A budget with fewer yields than this is said to fire rarely.
const RARE_YIELDS_PER_1000: f64 = 1.0;

impl Candidate {
    /// The groups for which the candidate is advised, and its class there. In these groups something is better and nothing
    /// is worse. If there are none, they are those in which something is better and something is worse.
    fn leading(&self) -> (String, Class) {
        if self.groups.is_empty() {
            return (String::new(), self.class());
        }
        let classes = self.groups.iter().map(GroupChanges::class);
        match classes.filter(|class| class.helps()).max() {
            Some(class) => (self.words_for_groups(Class::helps), class),
            None => (
                self.words_for_groups(|class| class == Class::TradeOff),
                Class::TradeOff,
            ),
        }
    }

    /// Names the groups in which the candidate has one of these classes, as [`group_words`] does.
    fn words_for_groups(&self, is_wanted: impl Fn(Class) -> bool) -> String {
        let chosen: Vec<DelayGroup> = self
            .groups
            .iter()
            .filter(|group| is_wanted(group.class()))
            .map(|group| group.group)
            .collect();
        let all: Vec<DelayGroup> = self.groups.iter().map(|group| group.group).collect();
        group_words(&chosen, &all)
    }

    /// Names at most this many cells in which the candidate is worse, the greatest loss first. If there is a single cell, the
    /// table has said so.
    pub(crate) fn worse(&self, most: usize) -> Option<String> {
        if self.changes.iter().all(|change| change.cells == 1) {
            return None;
        }
        let named = self.worse_cells.iter().take(most).map(|worse| {
            let change = text::uncertain(&worse.change, worse.quantity.unit());
            format!("{} ({} {change})", worse.cell, worse.quantity.words())
        });
        let worse = prose::text(&prose!('a "worse.txt" {
            label: &'a str = &self.label,
            named: Vec<String> = named.collect(),
            more: usize = self.worse_cells.len().saturating_sub(most),
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
            Class::Unadvised => "gains something, not advised",
            Class::Harms => "harms",
            Class::NoGain => "no gain greater than the margins",
            Class::Unknown => "not known",
        }
    }
}
