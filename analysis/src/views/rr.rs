//! A transaction by raw TCP and by libp2p, by payload.

use run_format::variant::{Role, VariantConfig};

use super::scene::{Entry, ends};
use crate::{
    charts::{Caption, Categories, ChartValue, LineChart, LineChartPanel, ValueAxis},
    measure::rr::{self, RrCell},
    options::Options,
};

/// From top to bottom.
const PANELS: [rr::Quantity; 4] = [
    rr::Quantity::PER_S,
    rr::Quantity::CPU,
    rr::Quantity::LATENCY_P50,
    rr::Quantity::LATENCY_P99,
];

/// The picture of a report. `small_print` identifies the run.
pub(crate) fn entry(
    cells: &[RrCell],
    variants: &[VariantConfig],
    options: &Options,
    small_print: String,
) -> Entry {
    let name = |it: &VariantConfig| match it.role {
        Role::Control => format!("{}: a second copy of the baseline", it.label),
        _ => it.label.clone(),
    };
    let places = Categories::new(
        "payload of the request and of the response",
        cells.iter().map(|cell| cell.cell.payload_bytes.in_words()),
    );
    let picture = LineChart {
        caption: Caption {
            title: "A transaction by raw TCP and by libp2p: rate, CPU time, latency".to_owned(),
            subtitle: "one request at a time with each peer; bars: 95 % intervals for this launch"
                .to_owned(),
            small_print,
        },
        series: variants.iter().map(name).collect(),
        panels: PANELS
            .map(|quantity| panel(cells, quantity, variants.len()))
            .into(),
        places,
    };
    Entry {
        stem: "rr".to_owned(),
        is_first: true,
        formats: options.formats(),
        picture: Box::new(picture),
    }
}

fn panel(cells: &[RrCell], quantity: rr::Quantity, variants: usize) -> LineChartPanel {
    let point = |cell: &RrCell, variant| {
        let figure = cell.figure(quantity, variant)?;
        Some(ChartValue::new(figure.value, ends(figure.interval)))
    };
    let line = |variant| cells.iter().map(|cell| point(cell, variant)).collect();
    LineChartPanel {
        axis: ValueAxis {
            name: quantity.words.to_owned(),
            unit: quantity.unit.to_owned(),
            from_zero: true,
        },
        marks: Vec::new(),
        lines: (0..variants).map(line).collect(),
    }
}
