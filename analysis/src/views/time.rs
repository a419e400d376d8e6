//! The time of polls by child.

use run_format::Site;

use super::scene::{Entry, Scene};
use crate::charts::{
    Categories, ChartValue, ColourScale, Colours, Facet, Heatmap, HeatmapCell, NoValue,
};
use crate::summary::CellSummary;
use crate::verdict::holders::{self, Shares};

/// Children with a smaller share of all time are drawn as one.
const LEAST_PERCENT: f64 = 1.0;
const REST: &str = "others";

/// All polls beside slow polls: a row for each child, a column for each payload. None for a site without children.
pub(super) fn entry(scene: &Scene, site: Site) -> Option<Entry> {
    let summary = scene.summary;
    let mut children: Vec<&str> = Vec::new();
    for (child, percent) in holders::of(summary.measured(), site).concat() {
        if percent >= LEAST_PERCENT && !children.contains(&child) {
            children.push(child);
        }
    }
    if children.len() < 2 {
        return None;
    }
    let payloads = summary.shown_axes().payload_bytes;
    let by_payload = payloads.iter().map(|payload| {
        let is_one = |cell: &&CellSummary| cell.measured.cell.payload_bytes == *payload;
        holders::of(summary.measured().filter(is_one), site)
    });
    let by_payload: Vec<[Shares; 2]> = by_payload.collect();
    let named = children.iter().map(|child| Some(*child));
    let rows: Vec<Option<&str>> = named.chain([None]).collect();
    let cell = |row: &Option<&str>, shares: &Shares| {
        let is_here = |(child, _): &&(&str, f64)| match row {
            Some(name) => child == name,
            None => !children.contains(child),
        };
        let percents = shares.iter().filter(is_here).map(|(_, percent)| percent);
        HeatmapCell::level(match shares.is_empty() {
            true => Err(NoValue::NotApplicable),
            false => Ok(ChartValue::exact(percents.sum())),
        })
    };
    let facet = |(title, at): (&str, usize)| {
        let of_payload = |row: &_, shares: &[Shares; 2]| cell(row, &shares[at]);
        Facet::new(title.to_owned(), 0, &rows, &by_payload, of_payload)
    };
    let facets = [("all polls", 0), ("slow polls", 1)].map(facet);
    let percents = facets.iter().flat_map(Facet::coloured);
    let scale = ColourScale::new("share of poll time", "%", Colours::Sequential, percents);
    let payloads = payloads.iter().map(|payload| payload.in_words());
    let heatmap = Heatmap {
        rows: Categories::new("child", rows.iter().map(|row| row.unwrap_or(REST))),
        columns: Categories::new("payload", payloads),
        facets: facets.into(),
        across: 2,
        scales: vec![scale],
    };
    let title = format!("Time of {} by child", summary.function(site));
    let subtitle = format!(
        "child: a function that a poll calls; slow: longer than {}; baseline, in slices that record children",
        scene.options.threshold_text()
    );
    Some(scene.entry(&["time", site.name()], false, [title, subtitle], heatmap))
}
