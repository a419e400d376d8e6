//! A request by raw TCP and by libp2p, by payload.

use run_format::variant::Role;

use super::scene::{Entry, of_figure};
use crate::{
    charts::{Caption, Categories, LineChart, LineChartPanel, ValueAxis},
    load::compared::ComparedVariant,
    measure::{metric::Metric, metric_info::Place},
    options::Options,
    summary::{CellSummary, Summary},
};

pub(crate) fn entry(summary: &Summary, options: &Options) -> Entry {
    let name = |it: &ComparedVariant| match it.role {
        Role::Control => format!("{}: a second copy of the baseline", it.label),
        _ => it.label.clone(),
    };
    let cells: Vec<&CellSummary> = summary.measured().collect();
    let payload = |cell: &&CellSummary| cell.measured.cell.payload_bytes.in_words();
    let places = cells.iter().map(payload);
    let panel = |metric| panel(&cells, metric, summary.variants.len());
    let panels = Metric::shown_in(Place::RawTcp).into_iter().map(panel);
    let picture = LineChart {
        caption: Caption {
            title: "A request by raw TCP and by libp2p: rate, CPU time, latency".to_owned(),
            subtitle: "one request at a time with each peer; bars: 95 % intervals for this launch"
                .to_owned(),
            small_print: summary.identity.line(),
        },
        series: summary.variants.iter().map(name).collect(),
        panels: panels.collect(),
        places: Categories::new("payload of the request and of the response", places),
    };
    Entry::first("rr".to_owned(), picture, options)
}

fn panel(cells: &[&CellSummary], metric: Metric, variants: usize) -> LineChartPanel {
    let point = |cell: &&CellSummary, variant| cell.worker_figure(metric, variant).map(of_figure);
    let line = |variant| cells.iter().map(|cell| point(cell, variant)).collect();
    LineChartPanel {
        axis: ValueAxis {
            name: metric.info().words.to_owned(),
            unit: metric.info().unit.to_owned(),
            from_zero: true,
        },
        marks: Vec::new(),
        lines: (0..variants).map(line).collect(),
    }
}
