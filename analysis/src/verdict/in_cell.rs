//! What is resolved in one cell. It fills tables and decides nothing.

use run_format::Site;

use super::quantity::{DECIDING, is_share};
use crate::{
    measure::metric::{Metric, What},
    summary::{CellSummary, ChangeFigure},
    text::signed,
};

/// What is resolved in one cell.
#[derive(Debug, Default)]
pub(crate) struct InCell {
    gains: Vec<(Metric, ChangeFigure)>,
    losses: Vec<(Metric, ChangeFigure)>,
}

impl InCell {
    pub(crate) fn of(cell: &CellSummary, site: Site, variant: usize) -> InCell {
        let mut in_cell = InCell::default();
        for metric in DECIDING.map(|it| it.metric) {
            let Some(change) = cell.change(What::of(site, metric), variant) else {
                continue;
            };
            if change.resolved.is_good(metric.better()) {
                in_cell.gains.push((metric, change));
            } else if change.resolved.is_bad(metric.better()) {
                in_cell.losses.push((metric, change));
            }
        }
        in_cell
    }

    /// The resolved changes in a few words; a dash if there are none.
    pub(crate) fn words(&self) -> String {
        let part = |(metric, change): &(Metric, ChangeFigure)| {
            let amount = if is_share(*metric) {
                format!("{} pp", signed(change.value))
            } else {
                format!("{} %", signed(change.relative?.value))
            };
            Some(format!("{} {amount}", metric.words()))
        };
        let list = |changes: &[(Metric, ChangeFigure)]| {
            let parts: Vec<String> = changes.iter().filter_map(part).collect();
            parts.join(", ")
        };
        match (self.gains.is_empty(), self.losses.is_empty()) {
            (true, true) => "–".to_owned(),
            (false, true) => list(&self.gains),
            (true, false) => format!("worse: {}", list(&self.losses)),
            (false, false) => format!("{}; worse: {}", list(&self.gains), list(&self.losses)),
        }
    }
}
