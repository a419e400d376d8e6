//! The cells of a grid as rows, columns and facets.

use crate::{
    charts::{Categories, CellValue, ColourScale, Mapping},
    grid::{Cell, payload},
    measure::{State, metric::What},
    summary::{CellSummary, Figure, Summary},
};

/// From top to bottom.
pub(super) fn rows(summary: &Summary) -> Categories {
    Categories {
        name: "N, peers".to_owned(),
        labels: summary.axes.peers.iter().map(u32::to_string).collect(),
    }
}

pub(super) fn columns(summary: &Summary) -> Categories {
    Categories {
        name: "RTT, ms".to_owned(),
        labels: summary.axes.rtt_ms.iter().map(f64::to_string).collect(),
    }
}

/// The payloads, with a value for each of their cells by row and column.
pub(super) fn facets<T>(
    summary: &Summary,
    value: impl Fn(Option<&CellSummary>) -> T,
) -> Vec<(String, Vec<Vec<T>>)> {
    let axes = &summary.axes;
    let of_payload = |&payload_bytes: &u64| {
        let of_row = |&peers: &u32| {
            let of_column = |&rtt_ms: &f64| {
                let wanted = Cell {
                    peers,
                    rtt_ms,
                    payload_bytes,
                };
                value(summary.cells.iter().find(|cell| cell.cell == wanted))
            };
            axes.rtt_ms.iter().map(of_column).collect()
        };
        let cells = axes.peers.iter().map(of_row).collect();
        (payload(payload_bytes), cells)
    };
    axes.payload_bytes.iter().map(of_payload).collect()
}

/// What is drawn for a cell.
pub(super) fn level(cell: Option<&CellSummary>, what: What, variant: usize) -> CellValue {
    marked(cell, |cell| {
        cell.figure(what, variant).map(super::of_figure)
    })
}

/// A value, or why there is none.
pub(super) fn marked(
    cell: Option<&CellSummary>,
    value: impl Fn(&CellSummary) -> Option<crate::charts::Estimate>,
) -> CellValue {
    match cell.map(|cell| (cell, &cell.state)) {
        None | Some((_, State::Missing)) => CellValue::Missing,
        Some((_, State::Failed(_))) => CellValue::Failed,
        Some((_, State::Invalid(_))) => CellValue::Invalid,
        Some((cell, State::Measured)) => {
            value(cell).map_or(CellValue::NotApplicable, CellValue::Measured)
        }
    }
}

/// One scale for all that is shown of some figures: nothing is clipped, and small values are told apart.
pub(super) fn scale(summary: &Summary, whats: &[What], variants: &[usize]) -> ColourScale {
    let metric = whats[0].metric;
    let figures = summary.cells.iter().flat_map(|cell| {
        let pairs = whats
            .iter()
            .flat_map(|what| variants.iter().map(move |at| (*what, *at)));
        pairs.filter_map(|(what, variant)| cell.figure(what, variant))
    });
    let values: Vec<f64> = figures.map(|figure: &Figure| figure.value).collect();
    let max = values.iter().copied().fold(0.0, f64::max);
    let min = values.iter().copied().fold(max, f64::min);
    ColourScale {
        name: metric.words().to_owned(),
        unit: metric.unit().to_owned(),
        max,
        // Where most values are a small part of the largest they would all look alike.
        mapping: if min < max / 4.0 {
            Mapping::SquareRoot
        } else {
            Mapping::Linear
        },
    }
}
