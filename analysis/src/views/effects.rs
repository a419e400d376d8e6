//! How a metric goes with each axis of the grid.

use super::{Entry, Scene, budgets::mean_level, grid, stem};
use crate::{
    charts::{Categories, EffectPanel, Effects, Estimate, Quantity},
    grid::{Cell, payload},
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
    let rtt = panel(
        scene,
        what,
        "round trip",
        grid::columns(summary),
        &axes.rtt_ms,
        |cell, it| cell.rtt_ms == *it,
    );
    let payloads = Categories {
        name: "payload".to_owned(),
        labels: axes
            .payload_bytes
            .iter()
            .map(|bytes| payload(*bytes))
            .collect(),
    };
    let by_payload = panel(
        scene,
        what,
        "payload",
        payloads,
        &axes.payload_bytes,
        |cell, it| cell.payload_bytes == *it,
    );
    let peers = panel(
        scene,
        what,
        "number of peers",
        grid::rows(summary),
        &axes.peers,
        |cell, it| cell.peers == *it,
    );
    let subject = scene.subject(what);
    let picture = Effects {
        caption: scene.caption(
            format!("{} by round trip, payload and number of peers", capitalised(&subject)),
            format!(
                "means over the cells with that value, each with the same weight; {} of the measurement",
                scene.intervals()
            ),
        ),
        quantity: Quantity {
            name: what.metric.words().to_owned(),
            unit: what.metric.unit().to_owned(),
            from_zero: true,
        },
        series: scene.series(),
        panels: vec![rtt, by_payload, peers],
    };
    scene.entry(
        "Effect of each axis",
        stem(&["effects", what.metric.name()]),
        subject,
        picture,
    )
}

fn panel<T>(
    scene: &Scene,
    what: What,
    title: &str,
    places: Categories,
    values: &[T],
    is_at: impl Fn(&Cell, &T) -> bool,
) -> EffectPanel {
    let point = |variant: usize, value: &T| -> Option<Estimate> {
        let cells = scene
            .summary
            .measured()
            .filter(|cell| is_at(&cell.cell, value));
        mean_level(cells.filter_map(|cell| cell.figure(what, variant)))
    };
    let line = |variant: &usize| values.iter().map(|value| point(*variant, value)).collect();
    EffectPanel {
        title: format!("effect of the {title}"),
        places,
        lines: scene.shown.iter().map(line).collect(),
    }
}
