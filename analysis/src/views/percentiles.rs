//! How long polls take in the worst cells, up to the rarest.

use super::{Entry, Scene, budgets::worst, stem};
use crate::{
    charts::{CurvePanel, PercentileCurves, Quantity, Threshold},
    site::Site,
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
            title: cell.cell.to_string(),
            curves: scene.shown.iter().map(curve).collect(),
        }
    };
    let threshold = scene.options.threshold_text();
    let picture = PercentileCurves {
        caption: scene.caption(
            format!(
                "How long {} takes, where {} has the most slow time",
                site.function(),
                scene.verdict.site.function()
            ),
            "all polls of a cell together",
        ),
        quantity: Quantity {
            name: "duration of a poll".to_owned(),
            unit: "µs".to_owned(),
            from_zero: false,
        },
        series: scene.series(),
        panels: cells.iter().map(panel).collect(),
        threshold: Threshold {
            value: scene.options.threshold as f64 / 1000.0,
            label: format!("{threshold}: slow"),
        },
    };
    scene.entry(
        "Percentiles",
        stem(&["percentiles", site.name()]),
        site.name().to_owned(),
        picture,
    )
}
