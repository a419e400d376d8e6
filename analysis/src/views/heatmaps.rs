//! A metric in every cell: a picture for each variant and site, all with one colour scale.

use super::{
    grid,
    scene::{Entry, Scene, stem},
};
use crate::{
    charts::{Facet, Heatmap, across_for},
    measure::metric::{Metric, What},
    text::capitalised,
};

/// Where there is only the baseline.
const OPENING: [Metric; 2] = [Metric::SlowPercent, Metric::SlowMsPerS];

pub(super) fn entries(scene: &Scene) -> Vec<Entry> {
    let mut entries = Vec::new();
    for metric in metrics(scene) {
        let mut whats: Vec<What> = scene
            .sites
            .iter()
            .map(|site| What::of(*site, metric))
            .filter(|what| scene.summary.has(*what))
            .collect();
        whats.dedup();
        for &what in &whats {
            for &variant in &scene.shown {
                let mut entry = heatmap(scene, &whats, what, variant);
                entry.is_first = scene.shown.len() == 1
                    && OPENING
                        .map(|it| What::of(scene.verdict.site, it))
                        .contains(&what);
                entries.push(entry);
            }
        }
    }
    entries
}

/// The pictures of before and after show most metrics. All are drawn here if there is only the baseline.
fn metrics(scene: &Scene) -> Vec<Metric> {
    if scene.shown.len() > 1 {
        vec![Metric::SlowPercent]
    } else {
        scene.options.metrics()
    }
}

fn heatmap(scene: &Scene, whats: &[What], what: What, variant: usize) -> Entry {
    let summary = scene.summary;
    let facets = grid::payloads(summary, |cell| grid::level(cell, what, variant));
    let label = scene.label(variant);
    let notes = format!(
        "{}; all functions and variants share one colour scale",
        scene.intervals()
    );
    let across = across_for(facets.len());
    let picture = Heatmap {
        caption: scene.caption(
            format!("{}, variant {label}", capitalised(&scene.subject(what))),
            scene.explained(what.metric, &notes),
        ),
        rows: grid::rows(summary),
        columns: grid::columns(summary),
        facets: facets
            .into_iter()
            .map(|(payload, cells)| Facet {
                title: format!("payload {payload}"),
                is_difference: false,
                cells,
            })
            .collect(),
        across,
        scale: grid::scale(summary, whats, &scene.shown),
        difference_scale: None,
    };
    let site = what.site.map_or("worker", |site| site.name());
    scene.entry(
        "All cells",
        stem(&["heatmap", what.metric.name(), site, label]),
        format!("{} ({site}), `{label}`", what.metric.words()),
        picture,
    )
}
