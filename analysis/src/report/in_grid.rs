//! The report that says where an application is in the grid of a lab, and what the lab found there.

use run_format::Budgets;

use super::changes;
use super::markdown::{Document, Frame, Row, table};
use crate::in_grid::{InGrid, TOO_FAR};
use crate::measure::{Metric, MetricKey, Place};
use crate::prose::{self, prose};
use crate::text::number;
use crate::verdict::{Candidate, Verdict};

/// What the lab found with budgets that the application has, too.
pub(crate) fn shared<'a>(
    place: &InGrid,
    verdict: &'a Verdict,
    budgets: &[Budgets],
) -> Vec<&'a Candidate> {
    let variants = &place.lab.variants;
    let candidates = verdict.candidates.iter();
    let shared = candidates.filter(|it| {
        let variant = &variants[it.variant];
        variant.subject == 0 && budgets.contains(&variant.budgets)
    });
    shared.collect()
}

pub(crate) fn sentences(place: &InGrid, shared: &[&Candidate]) -> Vec<String> {
    let cells = place.lab.cells.iter().zip(&place.factors);
    let cells = cells.map(|(cell, factor)| format!("{} ({factor:.2})", cell.measured.cell));
    prose::sentences(&prose!('a "in_grid_in_short.txt" {
        place: &'a InGrid = place,
        is_near: bool = place.factors[0] < TOO_FAR,
        cells: Vec<String> = cells.collect(),
        shared: &'a [&'a Candidate] = shared,
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
    let mut document = Document::new("in-grid", title, sites, frame);
    let levels = place.cells().map(|cell| {
        let row = Row::of("cell", cell.measured.cell);
        let metrics = Metric::shown_in(Place::Comparison).into_iter();
        metrics.fold(row, |row, metric| {
            let value = cell.value(MetricKey::new(place.site, metric), 0);
            row.with_any(metric.title(), value.map(number))
        })
    });
    document.prose(&prose!('a "in_grid.txt" {
        place: &'a InGrid = place,
        levels: String = table(levels),
        changes: String = table(changes("budget", verdict, shared.iter().copied())),
    }));
    document.finish()
}
