//! What a verdict says of one candidate.

use super::{Candidate, Class, Judged, Outcome, SiteYields};
use crate::text::{self, count, joined, joined_any, number};

/// With fewer yields than this, a budget is said to fire rarely.
const RARE_YIELDS_PER_1000: f64 = 1.0;

/// Gains, costs, and what is not known, each with its numbers.
fn sentence(place: &str, judged: &[Judged]) -> String {
    let cells = judged.iter().map(|it| it.cells).max().unwrap_or(0);
    let list = |wanted: &dyn Fn(&Judged) -> bool| {
        let judged = judged.iter().filter(|it| wanted(it));
        let phrases = judged.map(|it| match it.cells {
            fewer if fewer < cells => format!("{} in {}", it.phrase(), count(fewer, "cell")),
            _ => it.phrase(),
        });
        joined(phrases, ", ")
    };
    let is_limited =
        |it: &Judged| !it.quantity.is_benefit && it.is(Outcome::NotWorse) && !it.is_cost();
    let is_other = |it: &Judged| !it.is_extreme() && !it.is_cost() && !is_limited(it);
    let parts = [
        ("Gain", list(&|it| it.is(Outcome::Better))),
        ("Cost", list(&Judged::is_cost)),
        ("Limits of the cost", list(&is_limited)),
        ("Other results", list(&is_other)),
    ];
    let parts = parts.iter().filter(|(_, list)| !list.is_empty());
    match joined_any(parts.map(|(name, list)| format!("{name}: {list}")), ". ") {
        None => format!("{place}: not compared."),
        Some(parts) => format!("{place}. {parts}."),
    }
}

impl Candidate {
    /// One of each regime if they differ, else one over all cells.
    pub(crate) fn sentences(&self) -> Vec<String> {
        if self.differs {
            return self.in_regimes().collect();
        }
        let cells = self.judged.iter().map(|it| it.cells);
        match cells.max() {
            None => vec![format!("`{}` could not be compared.", self.label)],
            Some(cells) => {
                let place = format!("Over {}", count(cells, "cell"));
                vec![sentence(&place, &self.judged)]
            }
        }
    }

    pub(crate) fn in_regimes(&self) -> impl Iterator<Item = String> {
        let regimes = self.regimes.iter();
        regimes.map(|it| {
            sentence(&it.regime.words(it.cells), &it.judged) + &self.not_compared(&it.judged)
        })
    }

    /// What is compared in other cells only. Turns are shorter than requests there, so requests belong to no variant.
    fn not_compared(&self, judged: &[Judged]) -> String {
        let is_missing = |it: &&Judged| {
            let is_of_requests = it.quantity.metric.info().is_of_requests;
            is_of_requests && judged.iter().all(|of| of.quantity != it.quantity)
        };
        let missing = self.judged.iter().filter(is_missing);
        let words = joined_any(missing.map(|it| it.quantity.words), ", ");
        words.map_or_else(String::new, |words| {
            format!(" Not compared: {words}, because requests last longer than turns.")
        })
    }

    /// The cells that speak against it. Of a single one all has been said.
    pub(crate) fn worse(&self) -> Option<String> {
        const MOST: usize = 3;
        if self.judged.iter().all(|it| it.cells == 1) {
            return None;
        }
        let worse = self.worse_cells.len();
        let named = self.worse_cells.iter().take(MOST).map(|it| {
            let change = text::uncertain(&it.change, it.quantity.unit());
            format!("{} in the cell {} ({change})", it.quantity.words, it.cell)
        });
        let more = match worse.saturating_sub(MOST) {
            0 => String::new(),
            more => format!("; {more} more are in `summary.csv`"),
        };
        let named = joined_any(named, ", ")?;
        Some(format!("Shown to be worse in single cells: {named}{more}."))
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
