//! The time of polls by child.

use run_format::Site;

use super::scene::{Entry, Scene};
use crate::charts::{
    Categories, ChartValue, ColourScale, Colours, Facet, Heatmap, HeatmapCell, NoValue,
};
use crate::summary::CellSummary;
use crate::verdict::holders::{self, Holder};

/// Children with a smaller share of all time are drawn as one.
const LEAST_PERCENT: f64 = 1.0;
const REST: &str = "others";

/// All polls beside slow polls: a row for each child, a column for each payload. None for a site without children.
pub(super) fn entry(scene: &Scene, site: Site) -> Option<Entry> {
    let summary = scene.summary;
    let mut children: Vec<String> = Vec::new();
    for holder in holders::of(summary, site) {
        if holder.percent >= LEAST_PERCENT && !children.contains(&holder.child) {
            children.push(holder.child);
        }
    }
    if children.len() < 2 {
        return None;
    }
    let payloads = summary.shown_axes().payload_bytes;
    let by_payload = payloads.iter().map(|payload| {
        let is_one = |cell: &&CellSummary| cell.measured.cell.payload_bytes == *payload;
        holders::among(summary.measured().filter(is_one), site)
    });
    let by_payload: Vec<Vec<Holder>> = by_payload.collect();
    let named = children.iter().map(|child| Some(child.as_str()));
    let rows: Vec<Option<&str>> = named.chain([None]).collect();
    let facet = |(title, slow): (&str, bool)| {
        Facet::new(title.to_owned(), 0, &rows, &by_payload, |row, holders| {
            let is_here = |child: &String| match row {
                Some(name) => child == name,
                None => !children.contains(child),
            };
            let holders = || holders.iter().filter(|it| it.slow == slow);
            let here = holders().filter(|it| is_here(&it.child));
            let percent = ChartValue::exact(here.map(|it| it.percent).sum());
            let is_known = holders().next().is_some();
            HeatmapCell::level(is_known.then_some(percent).ok_or(NoValue::NotApplicable))
        })
    };
    let facets = [("all polls", false), ("slow polls", true)].map(facet);
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
    Some(scene.entry(&["time", site.name()], title, subtitle, heatmap))
}
