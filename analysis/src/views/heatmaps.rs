//! A metric over the grid: a picture per variant and site, all on one scale.

use super::{Entry, Scene, grid, stem};
use crate::{
    charts::{Facet, Heatmap},
    measure::metric::{Metric, What},
    text::capitalised,
};

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
                entries.push(heatmap(scene, &whats, what, variant));
            }
        }
    }
    entries
}

/// What changes is drawn before and after; where there is no after, all of it is drawn here.
fn metrics(scene: &Scene) -> Vec<Metric> {
    if scene.shown.len() > 1 {
        vec![Metric::SlowPercent]
    } else {
        scene.options.metrics()
    }
}

fn heatmap(scene: &Scene, whats: &[What], what: What, variant: usize) -> Entry {
    let summary = scene.summary;
    let facets = grid::facets(summary, |cell| grid::level(cell, what, variant));
    let label = scene.label(variant);
    let picture = Heatmap {
        caption: scene.caption(
            format!("{}, budget {label}", capitalised(&scene.subject(what))),
            scene.with_slow(
                what.metric,
                &format!(
                    "{}; one scale for all sites and variants",
                    scene.intervals()
                ),
            ),
        ),
        rows: grid::rows(summary),
        columns: grid::columns(summary),
        facets: facets
            .into_iter()
            .map(|(title, cells)| Facet { title, cells })
            .collect(),
        scale: grid::scale(summary, whats, &scene.shown),
    };
    let site = what.site.map_or("worker", |site| site.name());
    scene.entry(
        "Over the grid",
        stem(&["heatmap", what.metric.name(), site, label]),
        format!("{} ({site}), `{label}`", what.metric.words()),
        picture,
    )
}
