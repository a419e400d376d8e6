//! What a verdict says of one candidate.

use super::{Candidate, Class, Judged, Outcome, SiteYields};
use crate::prose::{self, prose};
use crate::text::{self, count, joined, joined_any, number};

/// With fewer yields than this, a budget is said to fire rarely.
const RARE_YIELDS_PER_1000: f64 = 1.0;

impl Candidate {
    /// One of each regime if they differ, else one over all cells.
    pub(crate) fn sentences(&self) -> Vec<String> {
        if self.differs {
            return self.in_regimes().collect();
        }
        let cells = self.judged.iter().map(|it| it.cells);
        vec![match cells.max() {
            None => format!("`{}` could not be compared.", self.label),
            Some(cells) => self.sentence(format!("Over {}", count(cells, "cell")), &self.judged),
        }]
    }

    pub(crate) fn in_regimes(&self) -> impl Iterator<Item = String> {
        let regimes = self.regimes.iter();
        regimes.map(|it| self.sentence(it.regime.words(it.cells), &it.judged))
    }

    /// Gains, costs, and what is not known, each with its numbers.
    fn sentence(&self, place: String, judged: &[Judged]) -> String {
        let cells = judged.iter().map(|it| it.cells).max().unwrap_or(0);
        let list = |name: &str, wanted: &dyn Fn(&Judged) -> bool| {
            let judged = judged.iter().filter(|it| wanted(it));
            let phrases = judged.map(|it| match it.cells {
                fewer if fewer < cells => format!("{} in {}", it.phrase(), count(fewer, "cell")),
                _ => it.phrase(),
            });
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
        match self.yields.as_slice() {
            [] => "–".to_owned(),
            [one] => one.words(),
            several => {
                let named = several.iter();
                joined(named.map(|it| format!("{} {}", it.site, it.words())), "; ")
            }
        }
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

impl SiteYields {
    fn words(&self) -> String {
        match self.per_1000 {
            None => "not polled".to_owned(),
            Some((_, 0.0)) => "never".to_owned(),
            Some((mean, most)) => {
                let is_rare = mean < RARE_YIELDS_PER_1000;
                let rarely = if is_rare { "rarely: " } else { "" };
                let [mean, most] = [mean, most].map(number);
                format!("{rarely}{mean} ({most} in the worst cell)")
            }
        }
    }
}
