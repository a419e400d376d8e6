//! Percentiles of the duration of polls in the cells with the most time in slow polls.

use run_format::Site;

use super::{
    budgets::worst,
    scene::{Entry, Scene, cell_name, stem},
};
use crate::{
    charts::{CurvePanel, PercentileCurves, SlowLine, ValueAxis},
    site::UpstreamFunction,
    summary::CellSummary,
};

const CELLS: usize = 4;

pub(super) fn entries(scene: &Scene) -> Vec<Entry> {
    let cells = worst(scene, CELLS);
    let is_there = |site: &&Site| {
        let mut curves = cells.iter().flat_map(|cell| &cell.curves);
        curves.any(|curve| curve.site == **site)
    };
    let sites = scene.sites.iter().filter(is_there);
    sites.map(|site| curves(scene, &cells, *site)).collect()
}

fn curves(scene: &Scene, cells: &[&CellSummary], site: Site) -> Entry {
    let panel = |cell: &&CellSummary| {
        let curve = |variant: &usize| {
            let curves = cell.curves.iter();
            curves
                .filter(|curve| curve.variant == *variant && curve.site == site)
                .flat_map(|curve| curve.points.iter().copied())
                .collect()
        };
        CurvePanel {
            title: cell_name(&cell.cell),
            curves: scene.shown.iter().map(curve).collect(),
        }
    };
    let threshold = scene.options.threshold_text();
    let picture = PercentileCurves {
        caption: scene.caption(
            format!(
                "Duration of {} in the cells with the most time in slow polls",
                site.function()
            ),
            format!(
                "polls above the dashed line are slow; the cells are those where {} spends most time in slow polls",
                scene.verdict.site.function()
            ),
        ),
        axis: ValueAxis {
            name: "duration of a poll".to_owned(),
            unit: "µs".to_owned(),
            from_zero: false,
        },
        series: scene.series(),
        panels: cells.iter().map(panel).collect(),
        threshold: SlowLine {
            value: scene.options.threshold as f64 / 1000.0,
            label: threshold,
        },
    };
    scene.entry(
        "Percentiles",
        stem(&["percentiles", site.name()]),
        site.name().to_owned(),
        picture,
    )
}
