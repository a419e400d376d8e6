//! Groups of cells in which a budget may do different things.

use std::collections::BTreeMap;

use run_format::Rtt;

use crate::measure::Metric;
use crate::prose::{self, prose};
use crate::summary::{CellSummary, Summary};
use crate::text::count;

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

    /// "RTT 0, central is the bottleneck"
    pub(crate) fn name(self) -> String {
        prose::text(&prose!("regime.txt" { regime: Regime = self }))
    }

    pub(crate) fn words(self, cells: usize) -> String {
        format!("{}, {}", self.name(), count(cells, "cell"))
    }
}
