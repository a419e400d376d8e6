//! Judges the candidates. [`outcome`] judges an interval, [`candidate`] judges a candidate, and [`words`] says it.

mod candidate;
mod delay_group;
mod outcome;
mod threshold;
#[cfg(test)]
#[path = "../../tests/verdict/mod.rs"]
mod wording;
pub(crate) mod words;

use std::cmp::Reverse;
use std::collections::BTreeMap;

use run_format::{BASELINE, Ends, Site};

pub(crate) use self::candidate::{Candidate, Class, InGroup, SiteYields};
use self::candidate::{from_baseline, over_cells, worse_cells};
use self::delay_group::{DelayGroup, group_words};
pub(crate) use self::outcome::{Outcome, QuantityChange};
pub(crate) use self::threshold::AtThreshold;
use crate::measure::{Metric, MetricKey, Quantity, Side};
use crate::options::Options;
use crate::site::SiteNames;
use crate::stats::{self, CONFIDENCE, MeanChange};
use crate::summary::{CellSummary, ChangeFigure, Summary};

/// Candidates that are not told apart otherwise are ranked by the first of these that was measured.
pub(crate) const RANKS: [Metric; 3] = [
    Metric::BeyondMsPerS,
    Metric::CotenantP90Us,
    Metric::CotenantLatePercent,
];

/// The rows of the tables that a maintainer asks for, in this order. A row shows the first of its metrics that was measured.
const ROWS: [&[Metric]; 5] = [
    &[Metric::BeyondMsPerS],
    &[Metric::CotenantLatePercent],
    &[
        Metric::PairCpuUsPerRequest,
        Metric::CpuUsPerRequest,
        Metric::CpuUsPerMib,
    ],
    &[Metric::RequestsPerS, Metric::MibPerS],
    &[Metric::LatencyP99Ms],
];

pub(crate) struct Verdict {
    pub(crate) site: Site,
    pub(crate) site_words: SiteNames,
    pub(crate) threshold: String,
    /// Whether some cell was launched only once, so that its figures tell of one moment of the machine.
    pub(crate) is_one_visit: bool,
    /// The number of cells in which variants were compared.
    pub(crate) cells: usize,
    pub(crate) candidates: Vec<Candidate>,
    /// The time beyond each threshold without a budget.
    pub(crate) baseline_curve: Vec<AtThreshold>,
    /// The A/A control, treated like a candidate.
    pub(crate) control: Option<Candidate>,
    /// The changes from the first to the second, and back, of every two candidates at the same ends that gain something.
    pub(crate) pairs: Vec<Pair>,
    /// The quantities that decide and were measured.
    pub(crate) quantities: Vec<Quantity>,
    /// The confidence of each interval, so that all of them hold together.
    pub(crate) confidence: f64,
    pub(crate) measured_s: f64,
    /// A sentence for each subject that failed.
    pub(crate) failed_subjects: Vec<String>,
}

/// The changes from a candidate to another one at the same ends.
pub(crate) struct Pair {
    pub(crate) from: usize,
    pub(crate) changes: Vec<QuantityChange>,
}

impl Verdict {
    pub(crate) fn new(summary: &Summary, options: &Options) -> Verdict {
        let site = summary.first_site(options);
        let unjudged = |(variant, _)| Candidate::unjudged(summary, variant);
        let is_measured = |metric: Metric| {
            let control = summary
                .control()
                .filter(|_| summary.candidates().count() == 0);
            let mut variants = summary.candidates().chain(control);
            variants.any(|(variant, _)| {
                !from_baseline(summary.measured_cells(), site, metric, variant).is_empty()
            })
        };
        let mut quantities = Quantity::with_margins(&options.figures.margin);
        quantities.retain(|quantity| is_measured(quantity.metric));
        let mut verdict = Verdict {
            site,
            site_words: summary.identity.sites.clone(),
            threshold: options.threshold_text(),
            is_one_visit: summary.identity.manifest.is_some()
                && summary
                    .measured_cells()
                    .any(|cell| cell.data.launch_count < 2),
            cells: 0,
            candidates: summary.candidates().map(unjudged).collect(),
            baseline_curve: threshold::curve(summary, site, BASELINE),
            control: summary.control().map(unjudged),
            pairs: Vec::new(),
            quantities,
            confidence: CONFIDENCE,
            measured_s: summary.identity.took_ms as f64 / 1000.0,
            failed_subjects: summary.identity.failed_subjects.clone(),
        };
        verdict.judge(summary, options);
        verdict.compare(summary);
        verdict
    }

    fn judge(&mut self, summary: &Summary, options: &Options) {
        // A subject that failed in all launches has no intervals.
        let was_compared = |candidate: &Candidate| {
            let mut metrics = self.quantities.iter().map(|quantity| quantity.metric);
            metrics.any(|metric| {
                !from_baseline(
                    summary.measured_cells(),
                    self.site,
                    metric,
                    candidate.variant,
                )
                .is_empty()
            })
        };
        let judgeable = self
            .candidates
            .iter()
            .filter(|candidate| !candidate.never_fired && was_compared(candidate));
        let compared = judgeable.count();
        let mut groups = DelayGroup::all(summary);
        if groups.len() < 2 {
            groups.clear();
        }
        let all: Vec<DelayGroup> = groups.iter().map(|(group, _)| *group).collect();
        let intervals = compared * self.quantities.len() * (1 + groups.len());
        self.confidence = stats::confidence_of_each(intervals);
        let mut candidates = std::mem::take(&mut self.candidates);
        let mut control = self.control.take();
        for candidate in candidates.iter_mut().chain(&mut control) {
            let cells: Vec<&CellSummary> = summary.measured_cells().collect();
            candidate.changes = self.judged_in(&cells, candidate.variant);
            let in_group = |(group, cells): &(DelayGroup, Vec<&CellSummary>)| InGroup {
                group: *group,
                words: group_words(&[*group], &all),
                cells: cells.len(),
                changes: self.judged_in(cells, candidate.variant),
                beyond: self.beyond_in(summary, cells, candidate.variant),
            };
            candidate.groups = groups.iter().map(in_group).collect();
            candidate.curve = threshold::curve(summary, self.site, candidate.variant);
            candidate.beyond = self.beyond_in(summary, &cells, candidate.variant);
            candidate.opposite =
                threshold::opposite(&candidate.curve, options.figures.threshold, self.beyond());
            candidate.worse_cells =
                worse_cells(summary, self.site, &self.quantities, candidate.variant);
            let cells = candidate.changes.iter().map(|change| change.cells);
            self.cells = cells.chain([self.cells]).max().unwrap_or(0);
        }
        self.candidates = candidates;
        self.control = control;
    }

    fn judged_in(&self, cells: &[&CellSummary], variant: usize) -> Vec<QuantityChange> {
        let levels = |metric: Metric| {
            let key = MetricKey::new(self.site, metric);
            let pair = |cell: &&CellSummary| {
                cell.change(key, variant)?;
                Some((cell.value(key, BASELINE)?, cell.value(key, variant)?))
            };
            let (before, after): (Vec<f64>, Vec<f64>) = cells.iter().filter_map(pair).unzip();
            Some([stats::mean(before)?, stats::mean(after)?])
        };
        let mut all = self.judged(self.confidence, |metric| {
            from_baseline(cells.iter().copied(), self.site, metric, variant)
        });
        for change in &mut all {
            change.levels = levels(change.quantity.metric);
        }
        all
    }

    fn beyond_in(
        &self,
        summary: &Summary,
        cells: &[&CellSummary],
        variant: usize,
    ) -> BTreeMap<u64, QuantityChange> {
        let inflation = summary.inflation(MetricKey::new(self.site, Metric::BeyondMsPerS));
        self.beyond().map_or_else(BTreeMap::new, |beyond| {
            threshold::judged(cells, variant, inflation, self.confidence, beyond)
        })
    }

    /// The time beyond the threshold, if it was measured.
    fn beyond(&self) -> Option<Quantity> {
        self.quantity(Metric::BeyondMsPerS)
    }

    fn quantity(&self, metric: Metric) -> Option<Quantity> {
        let mut quantities = self.quantities.iter().copied();
        quantities.find(|quantity| quantity.metric == metric)
    }

    fn judged(
        &self,
        confidence: f64,
        changes: impl Fn(Metric) -> Vec<ChangeFigure>,
    ) -> Vec<QuantityChange> {
        let judge = |&quantity: &Quantity| {
            let changes = changes(quantity.metric);
            let change = over_cells(quantity.metric, &changes)?;
            Some(QuantityChange {
                quantity,
                value: change.value(),
                interval: change.interval(confidence),
                cells: changes.len(),
                levels: None,
            })
        };
        self.quantities.iter().filter_map(judge).collect()
    }

    /// Compares every two candidates at the same ends that gain something. The confidence counts all pairs that fired, since
    /// it is not known before which of them gain.
    fn compare(&mut self, summary: &Summary) {
        let pairs = |ends: Ends| {
            let is_compared = |candidate: &&Candidate| {
                !candidate.never_fired && !candidate.changes.is_empty() && candidate.ends == ends
            };
            let fired = self.candidates.iter().filter(is_compared).count();
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
                let [variant, rival] = [from, to].map(|at| self.candidates[at].variant);
                let changes =
                    self.changes_between(summary, Side::Variant(variant), rival, confidence);
                self.pairs.push(Pair { from, changes });
            }
        }
    }

    /// The quantities of the tables' rows that were measured.
    pub(crate) fn rows(&self) -> Vec<Quantity> {
        let measured = |metrics: &&[Metric]| {
            let mut metrics = metrics.iter();
            metrics.find_map(|metric| self.quantity(*metric))
        };
        ROWS.iter().filter_map(measured).collect()
    }

    /// The mean change of a metric over all cells.
    pub(crate) fn mean_change(
        &self,
        summary: &Summary,
        variant: usize,
        metric: Metric,
    ) -> Option<MeanChange> {
        let changes = from_baseline(summary.measured_cells(), self.site, metric, variant);
        over_cells(metric, &changes)
    }

    /// The changes to a variant, in the cells where both sides were measured.
    pub(crate) fn changes_between(
        &self,
        summary: &Summary,
        from: Side,
        to: usize,
        confidence: f64,
    ) -> Vec<QuantityChange> {
        self.judged(confidence, |metric| {
            summary.changes_by_cell(MetricKey::new(self.site, metric), from, to)
        })
    }

    fn gaining(&self) -> Vec<usize> {
        let all = self.candidates.iter().enumerate();
        let gaining = all.filter(|(_, candidate)| candidate.gains());
        gaining.map(|(at, _)| at).collect()
    }

    /// The positions of the candidates that gain something and are beaten by no other. If every gaining candidate is beaten,
    /// all of them are returned.
    pub(crate) fn leaders(&self) -> Vec<usize> {
        let (beaten, best): (Vec<usize>, Vec<usize>) = self
            .gaining()
            .into_iter()
            .partition(|candidate| self.is_beaten(*candidate));
        if best.is_empty() { beaten } else { best }
    }

    /// The number of groups of cells. Zero if all cells are in one.
    pub(crate) fn group_count(&self) -> usize {
        let first = self.candidates.iter().chain(&self.control).next();
        first.map_or(0, |first| first.groups.len())
    }

    pub(crate) fn best(&self) -> Option<&Candidate> {
        self.ranked().first().copied()
    }

    /// The questions that the candidates answer: what a bound does at both ends, and in central alone. Empty if no candidate
    /// is at both ends, so that there is one question.
    pub(crate) fn questions(&self) -> Vec<Ends> {
        let has = |ends: &Ends| {
            self.candidates
                .iter()
                .any(|candidate| candidate.ends == *ends)
        };
        let mut ends = vec![Ends::Both, Ends::Central];
        ends.retain(has);
        if has(&Ends::Both) { ends } else { Vec::new() }
    }

    /// The best candidate for each question, if there is one.
    pub(crate) fn best_of_each(&self) -> Vec<Option<&Candidate>> {
        let ranked = self.ranked();
        let at = |ends: Ends| {
            ranked
                .iter()
                .find(|candidate| candidate.ends == ends)
                .copied()
        };
        match self.questions().as_slice() {
            [] => vec![ranked.first().copied()],
            questions => questions.iter().copied().map(at).collect(),
        }
    }

    /// The leaders, the best first. Each of these criteria decides if all before it are equal:
    ///
    /// 1. whether the candidate is at both ends;
    /// 2. whether polls or the waits of another task get shorter;
    /// 3. whether nothing is worse;
    /// 4. how many rows of the tables get better;
    /// 5. how many others it is shown to shorten polls more than;
    /// 6. how few sites it bounds;
    /// 7. its class;
    /// 8. the gain that the interval guarantees in the group where that is greatest.
    pub(crate) fn ranked(&self) -> Vec<&Candidate> {
        // A gain is a negative loss, so the greatest gain is the least loss.
        let guaranteed_loss = |candidate: &Candidate| {
            let deciding = candidate.deciding();
            let least_loss = |metric: Metric| {
                let of_metric = |change: &&QuantityChange| change.quantity.metric == metric;
                let highs = deciding.iter().filter(of_metric);
                highs.map(|change| change.loss().high).reduce(f64::min)
            };
            RANKS.into_iter().find_map(least_loss).unwrap_or(f64::MAX)
        };
        let ranks = self.leaders().into_iter().map(|at| {
            let candidate = &self.candidates[at];
            let rank = (
                Reverse(candidate.ends),
                !candidate.shortens(),
                !candidate.class().helps(),
                Reverse(self.rows_gained(candidate)),
                Reverse(self.outdone(at)),
                candidate.yields.len(),
                candidate.class(),
            );
            (rank, guaranteed_loss(candidate), candidate)
        });
        let mut by_rank: Vec<_> = ranks.collect();
        by_rank.sort_by(|(a, loss_of_a, _), (b, loss_of_b, _)| {
            a.cmp(b).then(loss_of_a.total_cmp(loss_of_b))
        });
        let ranked = by_rank.into_iter();
        ranked.map(|(_, _, candidate)| candidate).collect()
    }

    fn rows_gained(&self, candidate: &Candidate) -> usize {
        let deciding = candidate.deciding();
        let is_gained = |quantity: &&Quantity| {
            let mut gains = deciding.iter();
            gains.any(|gain| gain.quantity == **quantity && gain.is(Outcome::Better))
        };
        self.rows().iter().filter(is_gained).count()
    }

    /// The number of candidates that are shown to shorten polls, or waits if polls were not recorded, less than this one.
    fn outdone(&self, at: usize) -> usize {
        let is_longer = |pair: &&Pair| {
            let change = |metric| {
                let mut changes = pair.changes.iter();
                changes.find(|change| change.quantity.metric == metric)
            };
            let first = RANKS.into_iter().find_map(change);
            first.is_some_and(|change| change.is(Outcome::Worse))
        };
        let pairs = self.pairs.iter().filter(|pair| pair.from == at);
        pairs.filter(is_longer).count()
    }

    /// Whether another candidate at the same ends is better in something than this one, and worse in nothing.
    fn is_beaten(&self, at: usize) -> bool {
        let is_better = |pair: &Pair| {
            let any = |outcome| outcome::any(&pair.changes, outcome);
            any(Outcome::Better) && !any(Outcome::Worse)
        };
        let mut pairs = self.pairs.iter().filter(|pair| pair.from == at);
        pairs.any(is_better)
    }
}
