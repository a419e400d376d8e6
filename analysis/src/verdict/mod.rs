//! What the candidates did: [`outcome`] judges an interval, [`candidate`] a candidate, and [`words`]
//! says it.

mod candidate;
pub(crate) mod holders;
mod outcome;
mod regime;
mod threshold;
#[cfg(test)]
#[path = "../../tests/verdict/mod.rs"]
mod wording;
pub(crate) mod words;

use std::cmp::Reverse;

use run_format::{BASELINE, Ends, Site};

pub(crate) use self::candidate::{Candidate, Class, InRegime, SiteYields};
use self::candidate::{from_baseline, over_cells, worse_cells};
pub(crate) use self::outcome::{Judged, Outcome};
use self::regime::{Regime, places};
pub(crate) use self::threshold::AtThreshold;
use crate::measure::{Margin, Metric, MetricKey};
pub(crate) use crate::measure::{Quantity, unit};
use crate::options::Options;
use crate::site::SiteNames;
use crate::stats::{self, MeanChange};
use crate::summary::{CONFIDENCE, CellSummary, ChangeFigure, Summary};

/// The first of these that was measured ranks candidates that are not told apart.
pub(crate) const RANKS: [Metric; 3] = [
    Metric::BeyondMsPerS,
    Metric::CotenantP90Us,
    Metric::CotenantLatePercent,
];

pub(crate) struct Verdict {
    pub(crate) site: Site,
    pub(crate) site_words: SiteNames,
    pub(crate) threshold: String,
    /// Whether some cell was launched only once, so that its figures are of one moment of the machine.
    pub(crate) is_one_visit: bool,
    /// The number of cells in which variants could be compared.
    pub(crate) cells: usize,
    pub(crate) candidates: Vec<Candidate>,
    /// The time beyond each threshold without a budget.
    pub(crate) baseline_curve: Vec<AtThreshold>,
    /// The A/A control, treated like a candidate.
    pub(crate) control: Option<Candidate>,
    /// Every two candidates at the same ends that gain something, in both directions.
    pub(crate) pairs: Vec<Pair>,
    pub(crate) quantities: Vec<(Quantity, f64)>,
    /// The confidence of each interval, so that all of them hold together.
    pub(crate) confidence: f64,
    pub(crate) measured_s: f64,
    /// A sentence for each subject that failed.
    pub(crate) stopped: Vec<String>,
}

/// The changes from a candidate to another one at the same ends.
pub(crate) struct Pair {
    pub(crate) from: usize,
    pub(crate) judged: Vec<Judged>,
}

impl Verdict {
    pub(crate) fn of(summary: &Summary, options: &Options) -> Verdict {
        let site = summary.first_site(options);
        let of = |(variant, _)| Candidate::of(summary, site, variant);
        let is_measured = |metric: Metric| {
            let mut variants = summary.candidates();
            variants.any(|(it, _)| !from_baseline(summary.measured(), site, metric, it).is_empty())
        };
        let mut quantities = Quantity::all();
        quantities.retain(|it| is_measured(it.metric));
        let margin = |it: Quantity| (it, Margin::in_force(it, &options.figures.margin));
        let mut verdict = Verdict {
            site,
            site_words: summary.identity.sites.clone(),
            threshold: options.threshold_text(),
            is_one_visit: summary.identity.manifest.is_some()
                && summary.measured().any(|cell| cell.measured.runs < 2),
            cells: 0,
            candidates: summary.candidates().map(of).collect(),
            baseline_curve: threshold::curve(summary, site, BASELINE),
            control: summary.control().map(of),
            pairs: Vec::new(),
            quantities: quantities.into_iter().map(margin).collect(),
            confidence: CONFIDENCE,
            measured_s: summary.identity.took_ms as f64 / 1000.0,
            stopped: summary.identity.stopped.clone(),
        };
        verdict.judge(summary, options);
        verdict.compare(summary);
        verdict
    }

    fn judge(&mut self, summary: &Summary, options: &Options) {
        // A subject that failed in all launches has no intervals.
        let was_compared = |it: &&Candidate| {
            let mut metrics = self.quantities.iter().map(|(quantity, _)| quantity.metric);
            metrics.any(|metric| {
                !from_baseline(summary.measured(), self.site, metric, it.variant).is_empty()
            })
        };
        let fired = self.candidates.iter().filter(|it| !it.is_idle);
        let fired = fired.filter(was_compared).count();
        let mut regimes = Regime::all(summary);
        if regimes.len() < 2 {
            regimes.clear();
        }
        let all: Vec<Regime> = regimes.keys().copied().collect();
        let intervals = fired * self.quantities.len() * (1 + regimes.len());
        self.confidence = stats::confidence_of_each(intervals);
        let mut candidates = std::mem::take(&mut self.candidates);
        let mut control = self.control.take();
        for it in candidates.iter_mut().chain(&mut control) {
            let cells: Vec<&CellSummary> = summary.measured().collect();
            it.judged = self.judged_in(&cells, it.variant);
            let in_regime = |(regime, cells): (&Regime, &Vec<&CellSummary>)| InRegime {
                regime: *regime,
                place: places(&[*regime], &all),
                cells: cells.len(),
                judged: self.judged_in(cells, it.variant),
            };
            it.regimes = regimes.iter().map(in_regime).collect();
            it.curve = threshold::curve(summary, self.site, it.variant);
            it.opposite = threshold::opposite(&it.curve, options);
            it.worse_cells = worse_cells(summary, self.site, &self.quantities, it.variant);
            let cells = it.judged.iter().map(|it| it.cells);
            self.cells = cells.chain([self.cells]).max().unwrap_or(0);
        }
        self.candidates = candidates;
        self.control = control;
    }

    fn judged_in(&self, cells: &[&CellSummary], variant: usize) -> Vec<Judged> {
        let levels = |metric: Metric| {
            let what = MetricKey::new(self.site, metric);
            let cells = cells.iter();
            let cells = cells.filter(|cell| cell.change(what, variant).is_some());
            let pairs =
                cells.filter_map(|cell| Some((cell.value(what, 0)?, cell.value(what, variant)?)));
            let (before, after): (Vec<f64>, Vec<f64>) = pairs.unzip();
            Some([stats::mean(before)?, stats::mean(after)?])
        };
        let mut judged = self.judged(self.confidence, |metric| {
            from_baseline(cells.iter().copied(), self.site, metric, variant)
        });
        for judged in &mut judged {
            judged.levels = levels(judged.quantity.metric);
        }
        judged
    }

    fn judged(
        &self,
        confidence: f64,
        changes: impl Fn(Metric) -> Vec<ChangeFigure>,
    ) -> Vec<Judged> {
        let judge = |&(quantity, margin): &(Quantity, f64)| {
            let changes = changes(quantity.metric);
            let change = over_cells(quantity.metric, &changes)?;
            Some(Judged {
                quantity,
                margin,
                value: change.value(),
                interval: change.interval(confidence),
                cells: changes.len(),
                levels: None,
            })
        };
        self.quantities.iter().filter_map(judge).collect()
    }

    /// Compares the candidates that gain something. Every two that fired at the same ends could have been compared.
    fn compare(&mut self, summary: &Summary) {
        let pairs = |ends: Ends| {
            let fired = self
                .candidates
                .iter()
                .filter(|it| !it.is_idle && !it.judged.is_empty() && it.ends == ends);
            let fired = fired.count();
            fired * fired.saturating_sub(1) / 2
        };
        let compared = pairs(Ends::Central) + pairs(Ends::Both);
        let confidence = stats::confidence_of_each(compared * self.quantities.len());
        let gaining = self.gaining();
        for &from in &gaining {
            let ends = |at: usize| self.candidates[at].ends;
            let rivals = gaining
                .iter()
                .filter(|to| **to != from && ends(**to) == ends(from));
            for to in rivals.copied().collect::<Vec<_>>() {
                let variants = [from, to].map(|at| self.candidates[at].variant);
                let judged = self.changes(summary, variants, confidence);
                self.pairs.push(Pair { from, judged });
            }
        }
    }

    pub(crate) fn change(
        &self,
        summary: &Summary,
        variant: usize,
        metric: Metric,
    ) -> Option<MeanChange> {
        let changes = from_baseline(summary.measured(), self.site, metric, variant);
        over_cells(metric, &changes)
    }

    /// From one variant to another, as far as both were measured.
    pub(crate) fn changes(
        &self,
        summary: &Summary,
        variants: [usize; 2],
        confidence: f64,
    ) -> Vec<Judged> {
        self.judged(confidence, |metric| {
            summary.changes(MetricKey::new(self.site, metric), variants)
        })
    }

    fn gaining(&self) -> Vec<usize> {
        let all = self.candidates.iter().enumerate();
        let gaining = all.filter(|(_, it)| it.gains());
        gaining.map(|(at, _)| at).collect()
    }

    /// The candidates that gain something and are beaten by no other; all that gain something if each is beaten by one.
    pub(crate) fn leaders(&self) -> Vec<usize> {
        let gaining = self.gaining();
        let gaining = gaining.into_iter();
        let (beaten, best): (Vec<_>, Vec<_>) = gaining.partition(|it| self.beating(*it).is_some());
        if best.is_empty() { beaten } else { best }
    }

    /// The number of regimes, or zero if all cells are in one.
    pub(crate) fn groups(&self) -> usize {
        let first = self.candidates.first();
        first.map_or(0, |first| first.regimes.len())
    }

    pub(crate) fn best(&self) -> Option<&Candidate> {
        self.ranked().first().copied()
    }

    /// The questions that the candidates answer: what a bound does at both ends, and in central alone. Empty if no candidate
    /// is at both ends, so that there is one question.
    pub(crate) fn questions(&self) -> Vec<Ends> {
        let has = |ends: &Ends| self.candidates.iter().any(|it| it.ends == *ends);
        let mut ends = vec![Ends::Both, Ends::Central];
        ends.retain(has);
        if has(&Ends::Both) { ends } else { Vec::new() }
    }

    /// The best candidate for each question, if there is one.
    pub(crate) fn best_of_each(&self) -> Vec<Option<&Candidate>> {
        let ranked = self.ranked();
        let at = |ends: Ends| ranked.iter().find(|it| it.ends == ends).copied();
        match self.questions().as_slice() {
            [] => vec![ranked.first().copied()],
            questions => questions.iter().copied().map(at).collect(),
        }
    }

    /// The candidates that no other at the same ends is better than, the best first: those at both ends, then those that
    /// bound fewer sites, then by class, then by the gain that the interval guarantees in the regime where that is greatest.
    pub(crate) fn ranked(&self) -> Vec<&Candidate> {
        let leaders = self.leaders().into_iter();
        let mut leaders: Vec<&Candidate> = leaders.map(|at| &self.candidates[at]).collect();
        let guaranteed = |candidate: &Candidate| {
            let deciding = candidate.deciding();
            let least_loss = |metric: Metric| {
                let changes = deciding.iter();
                let changes = changes.filter(|change| change.quantity.metric == metric);
                changes.map(|change| change.loss().high).reduce(f64::min)
            };
            RANKS.into_iter().find_map(least_loss).unwrap_or(f64::MAX)
        };
        leaders.sort_by(|a, b| {
            let by_gain = guaranteed(a).total_cmp(&guaranteed(b));
            let [a, b] = [a, b].map(|it| (Reverse(it.ends), it.yields.len(), it.class()));
            a.cmp(&b).then(by_gain)
        });
        leaders
    }

    /// The changes to the first candidate that is better than this one.
    pub(crate) fn beating(&self, beaten: usize) -> Option<&Pair> {
        let is_better = |pair: &&Pair| {
            let any = |outcome| outcome::any(&pair.judged, outcome);
            any(Outcome::Better) && !any(Outcome::Worse)
        };
        let mut pairs = self.pairs.iter().filter(|pair| pair.from == beaten);
        pairs.find(is_better)
    }
}
