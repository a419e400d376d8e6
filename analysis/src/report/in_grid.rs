//! The report that says where an application is in the grid of a lab, and what the lab found there.

use run_format::Budgets;

use super::changes;
use super::markdown::{Document, Frame, Row, joined, quoted};
use crate::in_grid::{InGrid, TOO_FAR};
use crate::measure::{Metric, MetricKey, Place};
use crate::text::{count, number};
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
    let cells = joined(cells, "; ");
    let resemble = match place.factors[0] < TOO_FAR {
        true => "Of the lab, these cells resemble the application most",
        false => {
            "**No cell of the lab resembles the application**, so what a budget does there says little about it. The most \
             similar one"
        }
    };
    let mut sentences = vec![format!(
        "{resemble}: {cells}. In parentheses: the factor by which durations of polls of {} differ on average.",
        place.application.identity.sites.quoted(place.site)
    )];
    sentences.extend(shared.iter().map(|candidate| {
        let (label, found) = (quoted(&candidate.label), candidate.sentences().join(" "));
        format!("What the lab found there with {label}: {found}")
    }));
    if shared.is_empty() {
        sentences.push("The lab measured none of the application's budgets.".to_owned());
    }
    sentences
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
    document.heading("Without a budget");
    document.table(place.cells().map(|cell| {
        let row = Row::of("cell", cell.measured.cell);
        let metrics = Metric::shown_in(Place::Comparison).into_iter();
        metrics.fold(row, |row, metric| {
            let value = cell.value(MetricKey::new(place.site, metric), 0);
            row.with_any(metric.title(), value.map(number))
        })
    }));
    document.heading("What budgets changed in these cells of the lab");
    document.table(changes("budget", verdict, shared.iter().copied()));
    document.list([
        format!("Application: {}", place.application.line()),
        format!("Lab: {}", place.lab.line()),
        format!("Compared: {}.", count(place.compared, "cell")),
    ]);
    document.finish()
}
