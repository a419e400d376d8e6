//! Groups of cells in which a budget may have different effects.

use std::collections::BTreeMap;

use run_format::Rtt;

use crate::summary::{CellSummary, Summary};
use crate::text::joined;

/// The longest round trip that counts as short, as between places of one city.
const SHORT_MS: f64 = 10.0;

/// A group of cells by their delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Regime {
    Without,
    Short,
    Long,
}

impl Regime {
    /// Only the round trip counts. Whether central is busy depends on the machine, so groups by that would differ between
    /// two measurements.
    fn of_cell(cell: &CellSummary) -> Regime {
        match cell.measured.cell.rtt_ms {
            Rtt::ZERO => Regime::Without,
            rtt if rtt.ms() <= SHORT_MS => Regime::Short,
            _ => Regime::Long,
        }
    }

    pub(super) fn all(summary: &Summary) -> BTreeMap<Regime, Vec<&CellSummary>> {
        let mut regimes = BTreeMap::<Regime, Vec<&CellSummary>>::new();
        for cell in summary.measured() {
            regimes.entry(Regime::of_cell(cell)).or_default().push(cell);
        }
        regimes
    }
}

/// Names some of the regimes of a sweep, such as "without delay". Both lists are in order. The text is empty if `some` is
/// empty or has all.
pub(super) fn places(some: &[Regime], all: &[Regime]) -> String {
    const DELAYED: [Regime; 2] = [Regime::Short, Regime::Long];
    if some == all {
        return String::new();
    }
    let with_delay = |regimes: &[Regime]| {
        let delayed = regimes.iter().copied();
        delayed
            .filter(|regime| *regime != Regime::Without)
            .collect()
    };
    let [chosen, known]: [Vec<Regime>; 2] = [some, all].map(with_delay);
    let are_told_apart = known == DELAYED && chosen != known;
    let without = some
        .contains(&Regime::Without)
        .then(|| "without delay".to_owned());
    let named = chosen.iter().take(if are_told_apart { 2 } else { 1 });
    let delays = named.map(|regime| match regime {
        _ if !are_told_apart => "with delay".to_owned(),
        Regime::Long => "with longer delays".to_owned(),
        _ => format!("with delays up to {SHORT_MS} ms"),
    });
    joined(without.into_iter().chain(delays), " and ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_named_as_shortly_as_they_can_be_told_apart() {
        let [none, short, long] = [Regime::Without, Regime::Short, Regime::Long];
        let all = [none, short, long];
        for (some, words) in [
            (&[none, short, long][..], ""),
            (&[none], "without delay"),
            (&[short, long], "with delay"),
            (&[short], "with delays up to 10 ms"),
            (&[none, long], "without delay and with longer delays"),
        ] {
            assert_eq!(places(some, &all), words);
        }
        assert_eq!(places(&[long], &[none, long]), "with delay");
    }
}
