//! One candidate out of many, and the next best.

use super::{Candidate, Verdict, words::apart};
use crate::measure::metric::Metric;

/// The first of these that was measured ranks candidates that are not told apart.
pub(crate) const DELAY: [Metric; 3] = [
    Metric::CotenantP90Us,
    Metric::CotenantLatePercent,
    Metric::SlowPercent,
];

impl Verdict {
    /// The candidates that no other is better than, the best first: by class, then those that bound fewer sites, then by
    /// the gain for the co-tenant that the interval guarantees.
    pub(crate) fn ranked(&self) -> Vec<&Candidate> {
        let leaders = self.leaders().into_iter();
        let mut leaders: Vec<&Candidate> = leaders.map(|at| &self.candidates[at]).collect();
        let guaranteed = |of: &Candidate| {
            let delay = DELAY.into_iter().find_map(|metric| of.of_metric(metric));
            delay.map_or(f64::MAX, |it| it.loss().high)
        };
        leaders.sort_by(|a, b| {
            let by_gain = guaranteed(a).total_cmp(&guaranteed(b));
            let [a, b] = [a, b].map(|it| (it.class(), it.yields.len()));
            a.cmp(&b).then(by_gain)
        });
        leaders
    }

    pub(crate) fn recommendation(&self) -> Vec<String> {
        let ranked = self.ranked();
        let Some((best, others)) = ranked.split_first() else {
            return vec!["No budget is shown to gain more than the margins.".to_owned()];
        };
        let mut sentences = vec![format!("Recommended: `{}`.", best.label)];
        sentences.extend(best.sentences(self.measured_s));
        let Some(next) = others.first() else {
            sentences.push("No other budget comes close.".to_owned());
            return sentences;
        };
        let difference = self.difference(next.variant, best.variant);
        sentences.push(format!(
            "The runner-up is `{}`. `{}` compared with it: {difference}.",
            next.label, best.label
        ));
        sentences.push(format!(
            "No other budget is shown to be better than these two. Of several such budgets, the one that bounds fewer sites \
             comes first, then the one whose interval guarantees the greater gain in {}.",
            DELAY
                .into_iter()
                .find_map(|metric| best.of_metric(metric))
                .map_or("nothing", |it| it.quantity.words)
        ));
        sentences
    }

    fn difference(&self, from: usize, to: usize) -> String {
        let variant = |at: usize| self.candidates[at].variant;
        let pair = self.pairs.iter().find_map(|pair| {
            match (variant(pair.from) == from, variant(pair.to) == to) {
                (true, true) => Some(&pair.judged),
                _ if variant(pair.from) == to && variant(pair.to) == from => Some(&pair.back),
                _ => None,
            }
        });
        pair.map_or_else(String::new, |judged| apart(judged))
    }
}
