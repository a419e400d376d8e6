//! Groups of cells in which a budget may do different things.

use std::collections::BTreeMap;

use run_format::Rtt;

use crate::measure::Metric;
use crate::summary::{CellSummary, Summary};
use crate::text::joined;

/// From this share of its time on that its workers poll tasks, central is the bottleneck of a cell.
pub(crate) const BOTTLENECK_PERCENT: f64 = 80.0;
/// A round trip of the same data centre or of the same city.
const SHORT_MS: f64 = 10.0;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Regime {
    pub(super) round_trip: RoundTrip,
    pub(super) is_bottleneck: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum RoundTrip {
    None,
    Short,
    Long,
}

impl Regime {
    /// By the round trip and the baseline alone, so that it cannot favour a variant.
    fn of_cell(cell: &CellSummary) -> Regime {
        let rtt = cell.measured.cell.rtt_ms;
        let busy = cell.worker_figure(Metric::CentralBusyPercent, 0);
        Regime {
            round_trip: match rtt {
                Rtt::ZERO => RoundTrip::None,
                _ if rtt.ms() <= SHORT_MS => RoundTrip::Short,
                _ => RoundTrip::Long,
            },
            is_bottleneck: busy.is_some_and(|it| it.estimate.value >= BOTTLENECK_PERCENT),
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

/// Names some of the regimes of a sweep, such as "without delay" or "with delay where central is the bottleneck". Both lists
/// are in order. The text is empty if some are none, or all.
pub(super) fn places(some: &[Regime], all: &[Regime]) -> String {
    const DELAYED: &[RoundTrip] = &[RoundTrip::Short, RoundTrip::Long];
    if some == all {
        return String::new();
    }
    let with = |regimes: &[Regime], round_trips: &[RoundTrip]| {
        let mut regimes = regimes.to_vec();
        regimes.retain(|regime| round_trips.contains(&regime.round_trip));
        regimes
    };
    let has = |round_trip| !with(all, &[round_trip]).is_empty();
    let has_both = has(RoundTrip::Short) && has(RoundTrip::Long);
    let delays = match has_both && with(some, DELAYED) != with(all, DELAYED) {
        true => vec![
            (&DELAYED[..1], format!("with delays up to {SHORT_MS} ms")),
            (&DELAYED[1..], "with longer delays".to_owned()),
        ],
        false => vec![(DELAYED, "with delay".to_owned())],
    };
    let without = (&[RoundTrip::None][..], "without delay".to_owned());
    let place = |(round_trips, words): (&[RoundTrip], String)| {
        let chosen = with(some, round_trips);
        match chosen.first()?.is_bottleneck {
            _ if chosen == with(all, round_trips) => Some(words),
            true => Some(format!("{words} where central is the bottleneck")),
            false => Some(format!("{words} where central is not the bottleneck")),
        }
    };
    let places = [without].into_iter().chain(delays).filter_map(place);
    joined(places, " and ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn regime(round_trip: RoundTrip, is_bottleneck: bool) -> Regime {
        Regime {
            round_trip,
            is_bottleneck,
        }
    }

    #[test]
    fn places_are_named_as_shortly_as_they_can_be_told_apart() {
        let round_trips = [RoundTrip::None, RoundTrip::Short, RoundTrip::Long];
        let [none, short, long] = round_trips.map(|round_trip| regime(round_trip, false));
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

    #[test]
    fn a_bottleneck_is_named_where_only_a_part_of_the_cells_has_it() {
        let of_both = |round_trip| [regime(round_trip, false), regime(round_trip, true)];
        let [idle, busy] = of_both(RoundTrip::None);
        let [far, far_and_busy] = of_both(RoundTrip::Long);
        let all = [idle, busy, far];
        let of_busy = "without delay where central is the bottleneck";
        let of_others = "without delay where central is not the bottleneck";
        assert_eq!(places(&[busy], &all), of_busy);
        assert_eq!(
            places(&[idle, far], &all),
            format!("{of_others} and with delay")
        );
        assert_eq!(places(&[idle, busy], &all), "without delay");
        let of_far = "with delay where central is the bottleneck";
        let all = [idle, far, far_and_busy];
        assert_eq!(places(&[far_and_busy], &all), of_far);
    }
}
