//! The cells of a sweep as rows, columns and payloads.

use run_format::{grid::Cell, network::Rtt, payload::Payload};

use super::scene::of_figure;
use crate::{
    charts::{Categories, CellValue, ChartValue, ColourScale, Colours, HeatmapCell, NoValue},
    measure::{CellState, metric::MetricKey, metric_info::Better},
    summary::{CellSummary, Summary},
};

pub(super) fn rows(summary: &Summary) -> Categories {
    Categories::new("peers", &summary.shown_axes().peers)
}

pub(super) fn columns(summary: &Summary) -> Categories {
    Categories::new("RTT, ms", &summary.shown_axes().rtt_ms)
}

/// The payloads, with a value for each of their cells by row and column.
pub(super) fn payloads<T>(
    summary: &Summary,
    value: impl Fn(Option<&CellSummary>) -> T,
) -> Vec<(String, Vec<Vec<T>>)> {
    let axes = summary.shown_axes();
    let of_payload = |&payload_bytes: &Payload| {
        let of_row = |&peers: &usize| {
            let of_column = |&rtt_ms: &Rtt| {
                let wanted = Cell {
                    peers,
                    rtt_ms,
                    payload_bytes,
                };
                let mut cells = summary.cells.iter();
                value(cells.find(|cell| cell.measured.cell == wanted))
            };
            axes.rtt_ms.iter().map(of_column).collect()
        };
        let cells = axes.peers.iter().map(of_row).collect();
        (payload_bytes.in_words(), cells)
    };
    axes.payload_bytes.iter().map(of_payload).collect()
}

pub(super) fn level(cell: Option<&CellSummary>, what: MetricKey, variant: usize) -> HeatmapCell {
    HeatmapCell {
        value: value_of(cell, |cell| cell.figure(what, variant).map(of_figure)),
        is_resolved: true,
    }
}

pub(super) fn value_of(
    cell: Option<&CellSummary>,
    value: impl Fn(&CellSummary) -> Option<ChartValue>,
) -> CellValue {
    let cell = cell.ok_or(NoValue::Missing)?;
    match cell.measured.state {
        CellState::Missing => Err(NoValue::Missing),
        CellState::Failed(_) => Err(NoValue::Failed),
        CellState::Invalid(_) => Err(NoValue::Invalid),
        CellState::Measured => value(cell).ok_or(NoValue::NotApplicable),
    }
}

pub(super) fn scale(summary: &Summary, what: MetricKey, variants: &[usize]) -> ColourScale {
    let values = summary.cells.iter().flat_map(|cell| {
        let variants = variants.iter();
        variants.filter_map(|variant| cell.value(what, *variant))
    });
    ColourScale {
        name: what.metric.info().words.to_owned(),
        unit: what.metric.info().unit.to_owned(),
        max: values.fold(0.0, f64::max),
        colours: Colours::Sequential,
    }
}

/// Of the differences that are not grey.
pub(super) fn difference_scale(
    name: String,
    unit: &str,
    better: Better,
    resolved: impl Iterator<Item = f64>,
) -> ColourScale {
    ColourScale {
        name,
        unit: unit.to_owned(),
        max: resolved.map(f64::abs).fold(0.0, f64::max),
        colours: match better {
            Better::Higher => Colours::HigherIsBetter,
            Better::Lower | Better::Neither => Colours::LowerIsBetter,
        },
    }
}
