//! The report of `compare` on an application and the cells of a lab that resemble it.

use run_format::{BASELINE, Budgets};

use super::markdown::{self, Frame, Row, table};
use super::rows_of_changes;
use crate::in_grid::{InGrid, TOO_FAR};
use crate::measure::{Metric, MetricKey, ReportPart};
use crate::prose::{self, prose};
use crate::text::number;
use crate::verdict::{Candidate, Verdict};

/// The lab's candidates that have the budgets of the application.
pub(crate) fn shared<'a>(
    place: &InGrid,
    verdict: &'a Verdict,
    budgets: &[Budgets],
) -> Vec<&'a Candidate> {
    let variants = &place.lab.variants;
    let candidates = verdict.candidates.iter();
    let shared = candidates.filter(|candidate| {
        let variant = &variants[candidate.variant];
        variant.subject == 0 && budgets.contains(&variant.budgets)
    });
    shared.collect()
}

pub(crate) fn sentences(place: &InGrid, shared: &[&Candidate]) -> Vec<String> {
    let with_factors = place.lab.cells.iter().zip(&place.factors);
    let cells = with_factors.map(|(cell, factor)| format!("{} ({factor:.2})", cell.cell()));
    prose::sentences(&prose!('a "in_grid_in_short.txt" {
        place: &'a InGrid = place,
        is_near: bool = place.factors[0] < TOO_FAR,
        cells: Vec<String> = cells.collect(),
        has_shared: bool = !shared.is_empty(),
    }))
}

pub(crate) fn text(
    title: &str,
    place: &InGrid,
    verdict: &Verdict,
    shared: &[&Candidate],
    frame: Frame,
) -> String {
    let sites = &place.application.identity.sites;
    let levels = place.cells().map(|cell| {
        let row = Row::new("cell", cell.cell());
        let metrics = Metric::shown_in(ReportPart::Comparison).into_iter();
        metrics.fold(row, |row, metric| {
            let value = cell.value(MetricKey::new(place.site, metric), BASELINE);
            row.with_optional(metric.title(), value.map(number))
        })
    });
    let text = prose::text(&prose!('a "in_grid.txt" {
        place: &'a InGrid = place,
        levels: String = table(levels),
        changes: String = table(rows_of_changes("budget", verdict, shared.iter().copied())),
    }));
    markdown::report("in-grid", title, sites, frame, [Some(text)])
}
