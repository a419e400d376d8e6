//! The baseline, a variant, and the difference.

use super::{Entry, Scene, grid, of_uncertain, stem};
use crate::{
    budget::Budget,
    charts::{self, BeforeAfter, Comparison, Difference, DifferenceScale, Estimate, Mapping},
    measure::metric::{Better, Metric, What},
    site::Site,
    summary::{CellSummary, Resolved},
    text::capitalised,
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
    let opening = opening(scene);
    let twin = scene.summary.twin().map(|(twin, _)| twin);
    let mut entries = Vec::new();
    for &what in &whats {
        for &variant in &scene.shown[1..] {
            // Chance looks alike in all of them.
            if Some(variant) == twin && what != whats[0] {
                continue;
            }
            let mut entry = before_after(scene, what, variant);
            entry.is_first = what == whats[0] && Some(variant) == opening;
            entries.push(entry);
        }
    }
    entries
}

/// Whether any variant has a budget there.
fn is_bounded(scene: &Scene, site: Site) -> bool {
    let variants = scene.summary.variants.iter();
    let mut budgets = variants.flat_map(|variant| Budget::all(&variant.budgets));
    budgets.any(|budget| budget.site == site)
}

/// The leading candidate, else the first that is shown.
fn opening(scene: &Scene) -> Option<usize> {
    let leading = scene
        .verdict
        .leading
        .map(|at| scene.verdict.candidates[at].variant);
    let mut candidates = scene.verdict.candidates.iter().map(|judged| judged.variant);
    leading
        .filter(|variant| scene.shown.contains(variant))
        .or_else(|| candidates.find(|variant| scene.shown.contains(variant)))
        .or_else(|| scene.shown.get(1).copied())
}

fn before_after(scene: &Scene, what: What, variant: usize) -> Entry {
    let summary = scene.summary;
    let label = scene.label(variant);
    let before = grid::facets(summary, |cell| grid::level(cell, what, 0));
    let after = grid::facets(summary, |cell| grid::level(cell, what, variant));
    let difference = grid::facets(summary, |cell| difference(cell, what, variant));
    let payloads = before.into_iter().zip(after).zip(difference);
    let subtitle = scene.with_slow(
        what.metric,
        "95 % intervals; a difference that is not resolved is grey",
    );
    let picture = BeforeAfter {
        caption: scene.caption(title(scene, what, variant), subtitle),
        rows: grid::rows(summary),
        columns: grid::columns(summary),
        names: [scene.label(0).to_owned(), label.to_owned()],
        payloads: payloads
            .map(
                |(((payload, before), (_, after)), (_, difference))| Comparison {
                    payload,
                    before,
                    after,
                    difference,
                },
            )
            .collect(),
        scale: grid::scale(summary, &[what], &scene.shown),
        difference_scale: difference_scale(scene, what),
    };
    let site = what.site.map_or("worker", |site| site.name());
    scene.entry(
        "Before and after",
        stem(&["before-after", what.metric.name(), site, label]),
        format!("{} ({site}), `{label}`", what.metric.words()),
        picture,
    )
}

/// What one sees.
fn title(scene: &Scene, what: What, variant: usize) -> String {
    let changes: Vec<Resolved> = scene
        .summary
        .measured()
        .filter_map(|cell| cell.change(what, variant))
        .map(|change| change.resolved)
        .collect();
    let count = |resolved| changes.iter().filter(|it| **it == resolved).count();
    format!(
        "{}, {}: lower in {}, higher in {} of {} cells",
        capitalised(&scene.subject(what)),
        scene.label(variant),
        count(Resolved::Lower),
        count(Resolved::Higher),
        changes.len()
    )
}

fn difference(cell: Option<&CellSummary>, what: What, variant: usize) -> Difference {
    let change = cell.and_then(|cell| cell.change(what, variant));
    let value = grid::marked(cell, |_| {
        let change = change?;
        Some(change.difference.map_or(
            Estimate {
                value: change.value,
                interval: None,
            },
            of_uncertain,
        ))
    });
    Difference {
        value,
        resolved: change.is_some_and(|change| change.resolved != Resolved::No),
    }
}

/// The same for all variants, so that their pictures can be laid side by side.
fn difference_scale(scene: &Scene, what: What) -> DifferenceScale {
    let changes = scene.summary.cells.iter().flat_map(|cell| {
        let variants = scene.shown[1..].iter();
        variants.filter_map(|variant| cell.change(what, *variant))
    });
    let limit = changes
        .filter(|change| change.resolved != Resolved::No)
        .map(|change| change.value.abs())
        .fold(0.0, f64::max);
    DifferenceScale {
        name: "difference".to_owned(),
        unit: what.metric.change_unit().to_owned(),
        limit,
        mapping: Mapping::SquareRoot,
        better: match what.metric.better() {
            Better::Higher => charts::Better::Higher,
            Better::Lower | Better::Neither => charts::Better::Lower,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::charts::CellValue;

    #[test]
    fn a_cell_that_is_not_there_has_no_difference() {
        let what = What::of(crate::site::Site::Connection, Metric::SlowPercent);
        assert_eq!(
            difference(None, what, 1),
            Difference {
                value: CellValue::Missing,
                resolved: false
            }
        );
    }
}
