//! What a transaction takes by raw TCP and by libp2p, by payload.

use super::{Entry, ends};
use crate::{
    charts::{BudgetCurve, BudgetPanel, Caption, Categories, Estimate, Picture, Quantity, Series},
    grid::payload,
    load::variant::Variant,
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

/// The picture of a report, which is that of budgets with payloads in their places; `small_print` says which run it is of.
pub(crate) fn entry(
    cells: &[RrCell],
    variants: &[Variant],
    options: &Options,
    small_print: String,
) -> Entry {
    let series = variants.iter().enumerate().map(|(slot, variant)| Series {
        name: variant.label.clone(),
        slot,
    });
    let picture = BudgetCurve {
        caption: Caption {
            title: "What a transaction takes by raw TCP and by libp2p".to_owned(),
            subtitle: Some(
                "one request at a time with each peer; 95 % intervals, of this launch".to_owned(),
            ),
            small_print,
        },
        budgets: Categories {
            name: "payload of the request, and of the answer".to_owned(),
            labels: cells
                .iter()
                .map(|cell| payload(cell.cell.payload_bytes))
                .collect(),
        },
        series: series.collect(),
        baseline_name: String::new(),
        twin_name: String::new(),
        panels: PANELS
            .map(|quantity| panel(cells, quantity, variants.len()))
            .into(),
    };
    Entry {
        stem: "rr".to_owned(),
        group: "Transactions",
        label: "by payload".to_owned(),
        title: picture.caption().title.clone(),
        is_first: true,
        formats: options.formats(),
        picture: Box::new(picture),
    }
}

fn panel(cells: &[RrCell], quantity: rr::Quantity, variants: usize) -> BudgetPanel {
    let (name, unit) = quantity.words();
    let point = |cell: &RrCell, variant| {
        let figure = cell.figure(quantity, variant)?;
        Some(Estimate {
            value: figure.value,
            interval: ends(figure.interval),
        })
    };
    let line = |variant| cells.iter().map(|cell| point(cell, variant)).collect();
    BudgetPanel {
        quantity: Quantity {
            name: name.to_owned(),
            unit: unit.to_owned(),
            from_zero: true,
        },
        // Both are lines here.
        baseline: None,
        twin: None,
        lines: (0..variants).map(line).collect(),
    }
}
