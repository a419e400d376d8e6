//! Judges the candidates. [`outcome`] judges an interval, [`judge`] judges a candidate, [`ranking`] compares candidates, and
//! [`words`] says it.

mod candidate;
mod delay_group;
mod judge;
mod outcome;
mod ranking;
mod threshold;
#[cfg(test)]
#[path = "../../tests/verdict/mod.rs"]
mod wording;
pub(crate) mod words;

use run_format::{BASELINE, Ends, Site};

pub(crate) use self::candidate::{Candidate, Class, GroupChanges, SiteYields};
use self::candidate::{Firing, from_baseline, over_cells};
use self::judge::{Judge, changes_between, measured_quantities};
pub(crate) use self::outcome::{BeforeAfter, Outcome, QuantityChange};
pub(crate) use self::ranking::{Pair, RANKS};
pub(crate) use self::threshold::AtThreshold;
use crate::metrics::{Metric, Quantity, Side};
use crate::options::Options;
use crate::site::SiteNames;
use crate::stats::MeanChange;
use crate::summary::Summary;

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
    /// The threshold of the report, such as "50 µs".
    pub(crate) threshold_words: String,
    /// Whether some cell was launched only once, so that its figures tell of one moment of the machine.
    pub(crate) has_single_launches: bool,
    /// The number of cells in which variants were compared.
    pub(crate) cells: usize,
    pub(crate) candidates: Vec<Candidate>,
    /// The time beyond each threshold without a budget.
    pub(crate) baseline_curve: Vec<AtThreshold>,
    /// The A/A control, treated like a candidate.
    pub(crate) control: Option<Candidate>,
    /// For every two gaining candidates at the same ends, the changes from each of them to the other.
    pub(crate) pairs: Vec<Pair>,
    /// The quantities that decide and were measured.
    pub(crate) quantities: Vec<Quantity>,
    /// The confidence of each interval, so that all of them hold together.
    pub(crate) confidence: f64,
    pub(crate) measured_s: f64,
    /// A sentence for each subject that failed.
    pub(crate) failed_subjects: Vec<String>,
}

impl Verdict {
    pub(crate) fn new(summary: &Summary, options: &Options) -> Verdict {
        let site = summary.judged_site(options);
        let quantities = measured_quantities(summary, site, options);
        let with_firing = |variant| (variant, Firing::find(summary, variant));
        let all = summary.candidates().map(|(variant, _)| variant);
        let firings: Vec<(usize, Firing)> = all.map(with_firing).collect();
        let judge = Judge::new(summary, site, &quantities, &firings, options);
        let judged = |(variant, firing)| judge.candidate(variant, firing);
        let candidates: Vec<Candidate> = firings.into_iter().map(judged).collect();
        let control = summary
            .control()
            .map(|(variant, _)| judged(with_firing(variant)));
        let changes = candidates
            .iter()
            .chain(&control)
            .flat_map(|candidate| &candidate.changes);
        Verdict {
            site,
            site_words: summary.identity.sites.clone(),
            threshold_words: options.threshold_text(),
            has_single_launches: summary.identity.manifest.is_some()
                && summary
                    .measured_cells()
                    .any(|cell| cell.data.has_single_launch()),
            cells: changes.map(|change| change.cells).max().unwrap_or(0),
            confidence: judge.confidence,
            pairs: ranking::compare(summary, site, &quantities, &candidates),
            candidates,
            baseline_curve: threshold::curve(summary, site, BASELINE),
            control,
            quantities,
            measured_s: summary.identity.took_ms as f64 / 1000.0,
            failed_subjects: summary.identity.failed_subjects.clone(),
        }
    }

    fn quantity(&self, metric: Metric) -> Option<Quantity> {
        let mut quantities = self.quantities.iter().copied();
        quantities.find(|quantity| quantity.metric == metric)
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
        changes_between(summary, self.site, &self.quantities, (from, to), confidence)
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
}
