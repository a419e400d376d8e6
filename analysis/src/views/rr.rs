//! A request by raw TCP and by libp2p, by payload.

use run_format::variant::Role;

use super::scene::{Entry, of_figure, panel};
use crate::{
    charts::{Categories, LineChart},
    load::compared::ComparedVariant,
    measure::{metric::Metric, metric_info::Place},
    options::Options,
    summary::{CellSummary, Summary},
};

pub(crate) fn entry(summary: &Summary, options: &Options) -> Entry {
    let name = |variant: &ComparedVariant| match variant.role {
        Role::Control => format!("{}: a second copy of the baseline", variant.label),
        _ => variant.label.clone(),
    };
    let cells: Vec<&CellSummary> = summary.measured().collect();
    let panel = |metric: Metric| {
        let point =
            |cell: &CellSummary, variant| cell.worker_figure(metric, variant).map(of_figure);
        let line = |variant| cells.iter().map(|cell| point(cell, variant)).collect();
        let lines = (0..summary.variants.len()).map(line).collect();
        panel(metric.info().words, metric.info().unit, lines)
    };
    let payloads = cells
        .iter()
        .map(|cell| cell.measured.cell.payload_bytes.in_words());
    let chart = LineChart {
        series: summary.variants.iter().map(name).collect(),
        panels: Metric::shown_in(Place::RawTcp)
            .into_iter()
            .map(panel)
            .collect(),
        places: Categories::new("payload of the request and of the response", payloads),
    };
    let texts = [
        "A request by raw TCP and by libp2p: rate, CPU time, latency".to_owned(),
        "one request at a time with each peer; bars: 95 % intervals for this launch".to_owned(),
        summary.identity.line(),
    ];
    Entry::first(&["rr"], texts, chart, options)
}
