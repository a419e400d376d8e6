//! The baseline, a variant, and the difference between them, in every cell.

use run_format::Site;

use super::{
    grid,
    scene::{Entry, Scene, of_uncertain, stem},
};
use crate::{
    charts::{ChartValue, ColourScale, Colours, Facet, Heatmap, HeatmapCell, Mapping},
    load::compared::ComparedVariant,
    measure::metric::{Better, Metric, What},
    summary::{CellSummary, Resolved},
    text::capitalised,
    verdict::Judged,
};

pub(super) fn entries(scene: &Scene) -> Vec<Entry> {
    let first = scene.verdict.site;
    let mut whats: Vec<What> = scene
        .options
        .metrics()
        .into_iter()
        .map(|metric| What::of(first, metric))
        .collect();
    let others = scene
        .sites
        .iter()
        .filter(|site| **site != first && is_bounded(scene, **site));
    whats.extend(others.map(|site| What::of(*site, Metric::SlowPercent)));
    whats.dedup();
    whats.retain(|what| scene.summary.has(*what));
    let opening = opening(scene);
    let control = scene.summary.control().map(|(variant, _)| variant);
    let mut entries = Vec::new();
    for &what in &whats {
        for &variant in &scene.shown[1..] {
            // One picture shows the noise of the A/A control.
            if Some(variant) == control && what != whats[0] {
                continue;
            }
            let mut entry = before_after(scene, what, variant);
            // A high share of slow polls matters only if they also take much time.
            let is_opening = what == whats[0] || what == What::of(first, Metric::SlowMsPerS);
            entry.is_first = is_opening && Some(variant) == opening;
            entries.push(entry);
        }
    }
    entries
}

/// Whether any variant has a budget there.
fn is_bounded(scene: &Scene, site: Site) -> bool {
    let variants = scene.summary.variants.iter();
    let mut bounds = variants.flat_map(ComparedVariant::bounds);
    bounds.any(|(bounded, _)| bounded == site)
}

/// The leading candidate, else the first that is shown.
fn opening(scene: &Scene) -> Option<usize> {
    let leading = scene.verdict.leaders().into_iter();
    let mut leading = leading.map(|at| scene.verdict.candidates[at].variant);
    let mut candidates = scene.verdict.candidates.iter().map(|judged| judged.variant);
    leading
        .find(|variant| scene.shown.contains(variant))
        .or_else(|| candidates.find(|variant| scene.shown.contains(variant)))
        .or_else(|| scene.shown.get(1).copied())
}

fn before_after(scene: &Scene, what: What, variant: usize) -> Entry {
    let summary = scene.summary;
    let label = scene.label(variant);
    let before = grid::payloads(summary, |cell| grid::level(cell, what, 0));
    let after = grid::payloads(summary, |cell| grid::level(cell, what, variant));
    let between = grid::payloads(summary, |cell| difference(cell, what, variant));
    let payloads = before.into_iter().zip(after).zip(between);
    let facets = payloads.flat_map(|(((payload, before), (_, after)), (_, between))| {
        let facet = |name: &str, is_difference, cells| Facet {
            title: format!("{payload}: {name}"),
            is_difference,
            cells,
        };
        [
            facet(scene.label(0), false, before),
            facet(label, false, after),
            facet("difference", true, between),
        ]
    });
    let subtitle = scene.explained(
        what.metric,
        "one row of panels per payload; below each value: its 95 % interval",
    );
    let picture = Heatmap {
        caption: scene.caption(title(scene, what, variant), subtitle),
        rows: grid::rows(summary),
        columns: grid::columns(summary),
        facets: facets.collect(),
        across: 3,
        scale: grid::scale(summary, &[what], &scene.shown),
        difference_scale: Some(difference_scale(scene, what)),
    };
    let site = what.site.map_or("worker", |site| site.name());
    scene.entry(
        "Before and after",
        stem(&["before-after", what.metric.name(), site, label]),
        format!("{} ({site}), `{label}`", what.metric.words()),
        picture,
    )
}

/// What decides is named with its change over all cells; of all else, in how many cells it is resolved.
fn title(scene: &Scene, what: What, variant: usize) -> String {
    let verdict = scene.verdict;
    let subject = capitalised(&scene.subject(what));
    let label = scene.label(variant);
    let mut judged = verdict.candidates.iter().chain(&verdict.control);
    let judged = judged.find(|it| it.variant == variant);
    let is_it = |it: &&Judged| What::of(verdict.site, it.quantity.metric) == what;
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

fn difference(cell: Option<&CellSummary>, what: What, variant: usize) -> HeatmapCell {
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
fn difference_scale(scene: &Scene, what: What) -> ColourScale {
    let changes = scene.summary.cells.iter().flat_map(|cell| {
        let variants = scene.shown[1..].iter();
        variants.filter_map(|variant| cell.change(what, *variant))
    });
    let max = changes
        .filter(|change| change.resolved != Resolved::No)
        .map(|change| change.value.abs())
        .fold(0.0, f64::max);
    ColourScale {
        name: "difference".to_owned(),
        unit: what.metric.change_unit().to_owned(),
        max,
        mapping: Mapping::SquareRoot,
        colours: match what.metric.better() {
            Better::Higher => Colours::HigherIsBetter,
            Better::Lower | Better::Neither => Colours::LowerIsBetter,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::charts::NoValue;

    #[test]
    fn a_cell_that_is_missing_has_no_difference() {
        let what = What::of(Site::Connection, Metric::SlowPercent);
        let expected = HeatmapCell {
            value: Err(NoValue::Missing),
            is_resolved: false,
        };
        assert_eq!(difference(None, what, 1), expected);
    }
}
