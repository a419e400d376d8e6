//! The baseline, a variant, and the difference between them, in every cell. Without a variant, the baseline alone.

use super::{
    grid,
    scene::{Entry, Scene, of_uncertain, stem},
};
use crate::{
    charts::{ChartValue, ColourScale, Facet, Heatmap, HeatmapCell, across_for},
    measure::{
        metric::{Metric, MetricKey},
        metric_info::Place,
    },
    summary::{CellSummary, Resolved},
    text::capitalised,
    verdict::Judged,
};

/// The page has all metrics under all variants. Drawn is what the options name, or what a report opens with.
pub(super) fn entries(scene: &Scene) -> Vec<Entry> {
    let first = scene.verdict.site;
    let metrics = match &*scene.options.figures.metric {
        [] => Metric::shown_in(Place::BeforeAfter),
        asked => asked.to_vec(),
    };
    let mut whats: Vec<MetricKey> = Vec::new();
    whats.extend(metrics.iter().map(|metric| MetricKey::new(first, *metric)));
    let others = scene.sites.iter().filter(|site| **site != first);
    whats.extend(others.map(|site| MetricKey::new(*site, Metric::BeyondMsPerS)));
    whats.dedup();
    whats.retain(|what| scene.summary.has(*what));
    let opening = opening(scene);
    let named = match scene.options.pictures.budget.is_empty() {
        true => opening.as_slice(),
        false => &scene.shown[1..],
    };
    let variants: Vec<Option<usize>> = match named {
        [] => vec![None],
        some => some.iter().copied().map(Some).collect(),
    };
    let mut entries = Vec::new();
    for &what in &whats {
        for &variant in &variants {
            let mut entry = picture(scene, what, variant);
            entry.is_first = what == whats[0] && variant == opening;
            entries.push(entry);
        }
    }
    entries
}

/// The leading candidate, else the first that is shown.
fn opening(scene: &Scene) -> Option<usize> {
    let mut leading = scene.verdict.best().map(|it| it.variant).into_iter();
    let (fired, idle): (Vec<_>, Vec<_>) =
        scene.verdict.candidates.iter().partition(|it| !it.is_idle);
    let mut candidates = fired.into_iter().chain(idle).map(|it| it.variant);
    leading
        .find(|variant| scene.shown.contains(variant))
        .or_else(|| candidates.find(|variant| scene.shown.contains(variant)))
        .or_else(|| scene.shown.get(1).copied())
}

fn picture(scene: &Scene, what: MetricKey, variant: Option<usize>) -> Entry {
    let summary = scene.summary;
    let level = |variant| grid::payloads(summary, |cell| grid::level(cell, what, variant));
    let facet = |title: String, is_difference, cells| Facet {
        title,
        is_difference,
        cells,
    };
    let facets: Vec<Facet> = match variant {
        None => level(0)
            .into_iter()
            .map(|(payload, cells)| facet(format!("payload {payload}"), false, cells))
            .collect(),
        Some(variant) => {
            let between = grid::payloads(summary, |cell| difference(cell, what, variant));
            let payloads = level(0).into_iter().zip(level(variant)).zip(between);
            payloads
                .flat_map(|(((payload, before), (_, after)), (_, between))| {
                    [
                        (scene.label(0), false, before),
                        (scene.label(variant), false, after),
                        ("difference", true, between),
                    ]
                    .map(|(name, is_difference, cells)| {
                        facet(format!("{payload}: {name}"), is_difference, cells)
                    })
                })
                .collect()
        }
    };
    let rows = match variant {
        Some(_) => "one row of panels per payload; ",
        None => "",
    };
    let notes = format!("{rows}below each value: {}", scene.intervals());
    let label = scene.label(variant.unwrap_or(0));
    let site = what.site.map_or("worker", |site| site.name());
    let (kind, title) = match variant {
        Some(variant) => ("before-after", title(scene, what, variant)),
        None => (
            "heatmap",
            format!("{}, {label}", capitalised(&scene.subject(what))),
        ),
    };
    let picture = Heatmap {
        caption: scene.caption(title, scene.explained(what.metric, &notes)),
        rows: grid::rows(summary),
        columns: grid::columns(summary),
        across: variant.map_or(across_for(facets.len()), |_| 3),
        facets,
        scale: grid::scale(summary, what, &scene.shown),
        difference_scale: variant.map(|_| difference_scale(scene, what)),
    };
    scene.entry(stem(&[kind, what.metric.info().name, site, label]), picture)
}

/// What decides is named with its change over all cells; of all else, in how many cells it is resolved.
fn title(scene: &Scene, what: MetricKey, variant: usize) -> String {
    let verdict = scene.verdict;
    let subject = capitalised(&scene.subject(what));
    let label = scene.label(variant);
    let mut judged = verdict.candidates.iter().chain(&verdict.control);
    let judged = judged.find(|it| it.variant == variant);
    let is_it = |it: &&Judged| MetricKey::new(verdict.site, it.quantity.metric) == what;
    if let Some(judged) = judged.and_then(|it| it.judged.iter().find(is_it)) {
        return judged.title(&subject, label);
    }
    let changes: Vec<Resolved> = scene
        .summary
        .measured()
        .filter_map(|cell| cell.change(what, variant))
        .map(|change| change.resolved)
        .collect();
    let cells = |resolved| changes.iter().filter(|it| **it == resolved).count();
    format!(
        "{subject}, {label}: resolved to be lower in {}, higher in {} of {} cells",
        cells(Resolved::Lower),
        cells(Resolved::Higher),
        changes.len()
    )
}

fn difference(cell: Option<&CellSummary>, what: MetricKey, variant: usize) -> HeatmapCell {
    let change = cell.and_then(|cell| cell.change(what, variant));
    let value = grid::value_of(cell, |_| {
        let change = change?;
        Some(
            change
                .difference
                .map_or(ChartValue::exact(change.value), of_uncertain),
        )
    });
    HeatmapCell {
        value,
        is_resolved: change.is_some_and(|change| change.resolved != Resolved::No),
    }
}

/// The same for all variants, so that their pictures can be laid side by side.
fn difference_scale(scene: &Scene, what: MetricKey) -> ColourScale {
    let changes = scene.summary.cells.iter().flat_map(|cell| {
        let variants = scene.shown[1..].iter();
        variants.filter_map(|variant| cell.change(what, *variant))
    });
    let resolved = changes.filter(|change| change.resolved != Resolved::No);
    let metric = what.metric;
    grid::difference_scale(
        "difference".to_owned(),
        metric.change_unit(),
        metric.info().better,
        resolved.map(|change| change.value),
    )
}

#[cfg(test)]
mod tests {
    use run_format::Site;

    use super::*;
    use crate::charts::NoValue;

    #[test]
    fn a_cell_that_is_missing_has_no_difference() {
        let what = MetricKey::new(Site::Connection, Metric::SlowPercent);
        let expected = HeatmapCell {
            value: Err(NoValue::Missing),
            is_resolved: false,
        };
        assert_eq!(difference(None, what, 1), expected);
    }
}
