//! What the candidates did, over all cells: [`outcome`] judges an interval, [`candidate`] a candidate, and [`words`]
//! says it.

mod candidate;
mod candidate_words;
pub(crate) mod holders;
mod outcome;
pub(crate) mod ranking;
mod regime;
mod spoilt;
mod threshold;
#[cfg(test)]
#[path = "../../tests/verdict/mod.rs"]
mod wording;
pub(crate) mod words;

use std::collections::BTreeMap;

use run_format::Site;
use run_format::variant::BASELINE;

pub(crate) use self::candidate::{Candidate, Class, InRegime, SiteYields};
use self::candidate::{from_baseline, over_cells, worse_cells};
pub(crate) use self::outcome::{Judged, Outcome};
pub(crate) use self::regime::{BOTTLENECK_PERCENT, Regime};
pub(crate) use self::threshold::{AtThreshold, Holds};
use crate::measure::metric::{Metric, MetricKey};
use crate::measure::quantity::Margin;
pub(crate) use crate::measure::quantity::{Quantity, is_share, unit};
use crate::options::Options;
use crate::site::SiteNames;
use crate::stats::{self, MeanChange};
use crate::summary::{CONFIDENCE, CellSummary, ChangeFigure, Summary};

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
    /// Every two candidates that gain something.
    pub(crate) pairs: Vec<Pair>,
    pub(crate) quantities: Vec<(Quantity, f64)>,
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
            variants.any(|(it, _)| !from_baseline(summary.measured(), site, metric, it).is_empty())
        };
        let quantities = Quantity::all()
            .into_iter()
            .filter(|it| !spoilt.contains_key(&it.metric) && is_measured(it.metric));
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
            quantities: quantities
                .map(|it| (it, Margin::of(it, &options.figures.margin)))
                .collect(),
            spoilt,
            confidence: CONFIDENCE,
            measured_s: summary.identity.took_ms as f64 / 1000.0,
        };
        verdict.judge(summary, options);
        verdict.compare(summary);
        verdict
    }

    fn judge(&mut self, summary: &Summary, options: &Options) {
        let fired = self.candidates.iter().filter(|it| !it.is_idle).count();
        let mut regimes = Regime::all(summary);
        if regimes.len() < 2 {
            regimes.clear();
        }
        let families = fired * self.quantities.len();
        self.confidence = together(families * (1 + regimes.len()));
        let mut candidates = std::mem::take(&mut self.candidates);
        let mut control = self.control.take();
        for it in candidates.iter_mut().chain(&mut control) {
            let all: Vec<&CellSummary> = summary.measured().collect();
            it.judged = self.judged_in(&all, it.variant);
            let in_regime = |(regime, cells): (&Regime, &Vec<&CellSummary>)| InRegime {
                regime: *regime,
                cells: cells.len(),
                judged: self.judged_in(cells, it.variant),
            };
            it.regimes = regimes.iter().map(in_regime).collect();
            it.differs = self.differ(&regimes, it.variant, families);
            it.curve = threshold::curve(summary, self.site, it.variant);
            it.holds = Holds::of(&it.curve, options);
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

    /// Whether the changes of some quantity are shown to differ between some two regimes. All tests together are wrong in
    /// at most one of twenty sweeps.
    fn differ(
        &self,
        regimes: &BTreeMap<Regime, Vec<&CellSummary>>,
        variant: usize,
        families: usize,
    ) -> bool {
        let count = regimes.len();
        let tests = families * (count * count.saturating_sub(1) / 2);
        let least = (1.0 - CONFIDENCE) / tests.max(1) as f64;
        let mut metrics = self.quantities.iter().map(|(quantity, _)| quantity.metric);
        metrics.any(|metric| {
            let mean = |cells: &Vec<&CellSummary>| {
                let cells = cells.iter().copied();
                over_cells(metric, &from_baseline(cells, self.site, metric, variant))
            };
            let all: Vec<MeanChange> = regimes.values().filter_map(mean).collect();
            let mut means = all.iter().enumerate();
            means.any(|(at, one)| {
                let mut others = all[at + 1..].iter();
                others.any(|other| one.differs_from(other) <= least)
            })
        })
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
        let (beaten, best): (Vec<usize>, Vec<usize>) = gaining
            .into_iter()
            .partition(|at| self.beating(*at).is_some());
        if best.is_empty() { beaten } else { best }
    }

    /// The label of the first candidate that is better than this one, and the changes to it.
    pub(crate) fn beating_variant(&self, beaten: &Candidate) -> Option<(&str, &[Judged])> {
        let mut all = self.candidates.iter();
        let beaten = all.position(|it| it.variant == beaten.variant)?;
        let (better, judged) = self.beating(beaten)?;
        Some((&self.candidates[better].label, judged))
    }

    /// The first candidate that is better than this one, and the changes to it.
    fn beating(&self, beaten: usize) -> Option<(usize, &[Judged])> {
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

fn is_better(judged: &[Judged]) -> bool {
    outcome::any(judged, Outcome::Better) && !outcome::any(judged, Outcome::Worse)
}

/// The confidence of each of so many intervals, with which all hold together with 95 % (Bonferroni).
fn together(intervals: usize) -> f64 {
    1.0 - (1.0 - CONFIDENCE) / intervals.max(1) as f64
}
