//! What the candidates did, over all cells: [`outcome`] judges an interval, [`candidate`] a candidate, and [`words`]
//! says it.

mod candidate;
pub(crate) mod holders;
mod outcome;
pub(crate) mod recommend;
mod spoilt;
#[cfg(test)]
#[path = "../../tests/verdict/mod.rs"]
mod wording;
pub(crate) mod words;

use std::collections::BTreeMap;

use run_format::Site;

use self::candidate::{from_baseline, over_cells};
pub(crate) use self::{
    candidate::{AtRtt, Candidate, Class, SiteYields},
    outcome::{Judged, Outcome},
};
pub(crate) use crate::measure::quantity::{Quantity, is_share, unit};
use crate::{
    measure::{
        metric::{Metric, MetricKey},
        quantity::Margin,
    },
    options::Options,
    stats::MeanChange,
    summary::{CONFIDENCE, Summary},
};

/// The verdict on a sweep.
pub(crate) struct Verdict {
    /// The site whose slow polls it is about.
    pub(crate) site: Site,
    /// The number of cells in which variants could be compared.
    pub(crate) cells: usize,
    pub(crate) candidates: Vec<Candidate>,
    /// The A/A control, treated like a candidate.
    pub(crate) control: Option<Candidate>,
    /// Every two candidates that gain something.
    pub(crate) pairs: Vec<Pair>,
    /// What decides, with its margin.
    pub(crate) quantities: Vec<(Quantity, f64)>,
    /// Why a metric says nothing here.
    pub(crate) spoilt: BTreeMap<Metric, String>,
    /// The confidence of each interval, so that all of them hold together.
    pub(crate) confidence: f64,
    pub(crate) measured_s: f64,
}

/// Two candidates, by index, compared with each other.
pub(crate) struct Pair {
    pub(crate) from: usize,
    pub(crate) to: usize,
    /// Changes from the first to the second, and back.
    pub(crate) judged: Vec<Judged>,
    pub(crate) back: Vec<Judged>,
}

impl Verdict {
    pub(crate) fn of(summary: &Summary, options: &Options) -> Verdict {
        let site = summary.first_site(options);
        let of = |(variant, _)| Candidate::of(summary, site, variant);
        let spoilt = spoilt::of(summary);
        let is_measured = |metric: Metric| {
            let mut variants = summary.candidates();
            variants.any(|(it, _)| !from_baseline(summary, site, metric, it).is_empty())
        };
        let quantities = Quantity::all()
            .into_iter()
            .filter(|it| !spoilt.contains_key(&it.metric) && is_measured(it.metric));
        let mut verdict = Verdict {
            site,
            cells: 0,
            candidates: summary.candidates().map(of).collect(),
            control: summary.control().map(of),
            pairs: Vec::new(),
            quantities: quantities
                .map(|it| (it, Margin::of(it, &options.figures.margin)))
                .collect(),
            spoilt,
            confidence: CONFIDENCE,
            measured_s: summary.identity.took_ms as f64 / 1000.0,
        };
        verdict.judge(summary);
        verdict.compare(summary);
        verdict
    }

    fn judge(&mut self, summary: &Summary) {
        let fired = self.candidates.iter().filter(|it| !it.is_idle).count();
        self.confidence = together(fired * self.quantities.len());
        let mut candidates = std::mem::take(&mut self.candidates);
        for it in candidates.iter_mut().chain(&mut self.control) {
            let changes = |metric| from_baseline(summary, self.site, metric, it.variant);
            it.judged = judged(&self.quantities, self.confidence, |metric| {
                let changes = changes(metric);
                Some((over_cells(metric, &changes)?, changes.len()))
            });
            let cells = it.judged.iter().map(|it| it.cells);
            self.cells = cells.chain([self.cells]).max().unwrap_or(0);
        }
        self.candidates = candidates;
    }

    /// Of the candidates that fired, every two could have been compared.
    fn compare(&mut self, summary: &Summary) {
        let fired = self.candidates.iter().filter(|it| !it.is_idle).count();
        let confidence = together(fired * fired.saturating_sub(1) / 2 * self.quantities.len());
        let gaining = self.gaining();
        for (place, &from) in gaining.iter().enumerate() {
            for &to in &gaining[place + 1..] {
                let variants = [from, to].map(|at| self.candidates[at].variant);
                let [there, back] = [variants, [variants[1], variants[0]]]
                    .map(|variants| self.changes(summary, variants, confidence));
                self.pairs.push(Pair {
                    from,
                    to,
                    judged: there,
                    back,
                });
            }
        }
    }

    /// Of a candidate from the baseline, over all cells.
    pub(crate) fn change(
        &self,
        summary: &Summary,
        variant: usize,
        metric: Metric,
    ) -> Option<MeanChange> {
        over_cells(metric, &from_baseline(summary, self.site, metric, variant))
    }

    /// From one variant to another, as far as both were measured.
    pub(crate) fn changes(
        &self,
        summary: &Summary,
        variants: [usize; 2],
        confidence: f64,
    ) -> Vec<Judged> {
        judged(&self.quantities, confidence, |metric| {
            let changes = summary.changes(MetricKey::new(self.site, metric), variants);
            Some((over_cells(metric, &changes)?, changes.len()))
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
        let (beaten, best): (Vec<usize>, Vec<usize>) = gaining
            .into_iter()
            .partition(|at| self.beating(*at).is_some());
        if best.is_empty() { beaten } else { best }
    }

    /// The first candidate that is better than this one, and the changes to it.
    pub(crate) fn beating(&self, beaten: usize) -> Option<(usize, &[Judged])> {
        self.pairs.iter().find_map(|pair| {
            let sides = [
                (pair.from, pair.to, &pair.judged),
                (pair.to, pair.from, &pair.back),
            ];
            let mut sides = sides.into_iter();
            sides.find_map(|(from, to, judged)| {
                (from == beaten && is_better(judged)).then_some((to, judged.as_slice()))
            })
        })
    }
}

/// Better in something and worse in nothing.
fn is_better(judged: &[Judged]) -> bool {
    outcome::any(judged, Outcome::Better) && !outcome::any(judged, Outcome::Worse)
}

/// The confidence of each of so many intervals, with which all hold together with 95 % (Bonferroni).
fn together(intervals: usize) -> f64 {
    1.0 - (1.0 - CONFIDENCE) / intervals.max(1) as f64
}

fn judged(
    quantities: &[(Quantity, f64)],
    confidence: f64,
    change: impl Fn(Metric) -> Option<(MeanChange, usize)>,
) -> Vec<Judged> {
    let judge = |&(quantity, margin): &(Quantity, f64)| {
        let change = change(quantity.metric)?;
        Some(Judged::of(quantity, margin, change, confidence))
    };
    quantities.iter().filter_map(judge).collect()
}
