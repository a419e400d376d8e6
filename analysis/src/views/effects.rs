//! The dependence of a metric on each axis of the grid.

use run_format::grid::Cell;

use super::{
    budgets::mean_level,
    grid,
    scene::{Entry, Scene, stem},
};
use crate::{
    charts::{Categories, ChartValue, LineChart, LineChartPanel, PanelLayout, ValueAxis},
    measure::metric::{Metric, What},
    text::capitalised,
};

const METRICS: [Metric; 3] = [
    Metric::SlowPercent,
    Metric::CotenantLatePercent,
    Metric::PollP99Us,
];

pub(super) fn entries(scene: &Scene) -> Vec<Entry> {
    let whats = METRICS.map(|metric| What::of(scene.verdict.site, metric));
    let whats = whats.into_iter().filter(|what| scene.summary.has(*what));
    whats.map(|what| effects(scene, what)).collect()
}

fn effects(scene: &Scene, what: What) -> Entry {
    let summary = scene.summary;
    let axes = &summary.axes;
    let payloads = Categories {
        name: "payload".to_owned(),
        labels: axes
            .payload_bytes
            .iter()
            .map(|payload| payload.in_words())
            .collect(),
    };
    let rtt = |cell: &Cell, at: usize| cell.rtt_ms == axes.rtt_ms[at];
    let bytes = |cell: &Cell, at: usize| cell.payload_bytes == axes.payload_bytes[at];
    let peers = |cell: &Cell, at: usize| cell.peers == axes.peers[at];
    let panels = [
        panel(scene, what, "round-trip time", grid::columns(summary), rtt),
        panel(scene, what, "payload", payloads, bytes),
        panel(scene, what, "number of peers", grid::rows(summary), peers),
    ];
    let subject = scene.subject(what);
    let title = format!(
        "{} by round-trip time, payload and number of peers",
        capitalised(&subject)
    );
    let notes = format!(
        "each point: the mean over all cells with that value; {}",
        scene.intervals()
    );
    let picture = LineChart {
        caption: scene.caption(title, scene.explained(what.metric, &notes)),
        layout: PanelLayout::SideBySide,
        series: scene.series(),
        baseline_name: String::new(),
        marks_name: String::new(),
        panels: panels.into(),
    };
    scene.entry(
        "Effect of each axis",
        stem(&["effects", what.metric.name()]),
        subject,
        picture,
    )
}

/// `is_at` says whether a cell belongs to the place with an index.
fn panel(
    scene: &Scene,
    what: What,
    title: &str,
    places: Categories,
    is_at: impl Fn(&Cell, usize) -> bool,
) -> LineChartPanel {
    let point = |variant: usize, place: usize| -> Option<ChartValue> {
        let cells = scene.summary.measured();
        let cells = cells.filter(|cell| is_at(&cell.cell, place));
        mean_level(cells.filter_map(|cell| cell.figure(what, variant)))
    };
    let count = places.labels.len();
    let line = |variant: &usize| (0..count).map(|place| point(*variant, place)).collect();
    LineChartPanel {
        title: format!("by {title}"),
        places,
        axis: ValueAxis {
            name: what.metric.words().to_owned(),
            unit: what.metric.unit().to_owned(),
            from_zero: true,
        },
        baseline: None,
        marks: Vec::new(),
        lines: scene.shown.iter().map(line).collect(),
    }
}
