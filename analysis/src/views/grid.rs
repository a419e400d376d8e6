//! The cells of a sweep as rows, columns and payloads.

use run_format::{Cell, Rtt};

use super::scene::of_figure;
use crate::charts::{Categories, ChartValue, Colours, Facet, HeatmapCell, NoValue};
use crate::measure::{Better, CellState, Metric, MetricKey};
use crate::summary::{CellSummary, Summary};

pub(super) fn rows(summary: &Summary) -> Categories {
    match &summary.identity.application {
        Some(application) => Categories::new("", [&application.file.program]),
        None => Categories::new("peers", &summary.shown_axes().peers),
    }
}

pub(super) fn columns(summary: &Summary) -> Categories {
    match summary.identity.application {
        Some(_) => Categories::new("", [""]),
        None => Categories::new("RTT, ms", &summary.shown_axes().rtt_ms),
    }
}

/// The name of a facet, the index of its scale, and what it shows of a cell.
pub(super) type Part<'a> = (
    &'a str,
    usize,
    &'a dyn Fn(Option<&CellSummary>) -> HeatmapCell,
);

pub(super) fn facets(summary: &Summary, parts: &[Part]) -> Vec<Facet> {
    let axes = summary.shown_axes();
    let mut facets = Vec::new();
    for &payload_bytes in &axes.payload_bytes {
        for &(name, scale, shown) in parts {
            let title = match summary.identity.application {
                Some(_) => name.to_owned(),
                None => format!("{}: {name}", payload_bytes.in_words()),
            };
            let cell = |&peers: &usize, &rtt_ms: &Rtt| {
                shown(summary.cell(Cell {
                    peers,
                    rtt_ms,
                    payload_bytes,
                }))
            };
            facets.push(Facet::new(title, scale, &axes.peers, &axes.rtt_ms, cell));
        }
    }
    facets
}

pub(super) fn level(cell: Option<&CellSummary>, key: MetricKey, variant: usize) -> HeatmapCell {
    HeatmapCell::level(value_of(cell, |cell| {
        cell.figure(key, variant).map(of_figure)
    }))
}

pub(super) fn value_of(
    cell: Option<&CellSummary>,
    value: impl Fn(&CellSummary) -> Option<ChartValue>,
) -> Result<ChartValue, NoValue> {
    let cell = cell.ok_or(NoValue::Missing)?;
    match cell.measured.state {
        CellState::Missing => Err(NoValue::Missing),
        CellState::Failed(_) => Err(NoValue::Failed),
        CellState::Invalid(_) => Err(NoValue::Invalid),
        CellState::Measured => value(cell).ok_or(NoValue::NotApplicable),
    }
}

pub(super) fn of_differences(metric: Metric) -> Colours {
    match metric.info().better {
        Better::Higher => Colours::HigherIsBetter,
        Better::Lower | Better::Neither => Colours::LowerIsBetter,
    }
}
