//! A transaction by raw TCP and by libp2p, by payload.

use run_format::variant::VariantConfig;

use super::scene::{Entry, ends, formats, line_of};
use crate::{
    charts::{
        Caption, Categories, ChartValue, LineChart, LineChartPanel, PanelLayout, Picture, ValueAxis,
    },
    measure::rr::{self, RrCell},
    options::Options,
};

/// From top to bottom.
const PANELS: [rr::Quantity; 4] = [
    rr::Quantity::TransactionsPerS,
    rr::Quantity::CpuUs,
    rr::Quantity::LatencyP50Us,
    rr::Quantity::LatencyP99Us,
];

/// The picture of a report. `small_print` identifies the run.
pub(crate) fn entry(
    cells: &[RrCell],
    variants: &[VariantConfig],
    options: &Options,
    small_print: String,
) -> Entry {
    let series = variants.iter().enumerate();
    let series = series.map(|(slot, variant)| line_of(&variant.label, variant.role, slot));
    let places = Categories {
        name: "payload of the request and of the response".to_owned(),
        labels: cells
            .iter()
            .map(|cell| cell.cell.payload_bytes.in_words())
            .collect(),
    };
    let picture = LineChart {
        caption: Caption {
            title: "A transaction by raw TCP and by libp2p: rate, CPU time, latency".to_owned(),
            subtitle: "one request at a time with each peer; bars: 95 % intervals for this launch"
                .to_owned(),
            small_print,
        },
        layout: PanelLayout::OneBelowTheOther,
        series: series.collect(),
        baseline_name: String::new(),
        marks_name: String::new(),
        panels: PANELS
            .map(|quantity| panel(cells, &places, quantity, variants.len()))
            .into(),
    };
    Entry {
        stem: "rr".to_owned(),
        group: "Transactions",
        label: "by payload".to_owned(),
        title: picture.caption().title.clone(),
        is_first: true,
        formats: formats(options),
        picture: Box::new(picture),
    }
}

fn panel(
    cells: &[RrCell],
    places: &Categories,
    quantity: rr::Quantity,
    variants: usize,
) -> LineChartPanel {
    let (name, unit) = quantity.words();
    let point = |cell: &RrCell, variant| {
        let figure = cell.figure(quantity, variant)?;
        Some(ChartValue {
            value: figure.value,
            interval: ends(figure.interval),
        })
    };
    let line = |variant| cells.iter().map(|cell| point(cell, variant)).collect();
    LineChartPanel {
        title: String::new(),
        places: places.clone(),
        axis: ValueAxis {
            name: name.to_owned(),
            unit: unit.to_owned(),
            from_zero: true,
        },
        // Both are lines here.
        baseline: None,
        marks: Vec::new(),
        lines: (0..variants).map(line).collect(),
    }
}
