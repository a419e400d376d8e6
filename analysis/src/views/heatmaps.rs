//! Heatmaps. One kind shows the baseline, a variant and their difference in every cell, or the baseline alone if there is no
//! variant. The other kind shows the time of polls by child.

use run_format::{Axes, BASELINE, Cell, Rtt, Site};

use super::scene::{Entry, Scene, of_figure};
use crate::charts::{
    Categories, ChartValue, ColourScale, Colours, Facet, Heatmap, HeatmapCell, NoValue,
};
use crate::measure::{Better, CellState, Metric, MetricKey, Place, Quantity};
use crate::stats::{CONFIDENCE, Interval};
use crate::summary::{CellSummary, ChangeFigure, Resolved, Summary};
use crate::text::{capitalised, unique};
use crate::verdict::Judged;
use crate::verdict::holders::{self, Shares};

/// Draws the metrics and variants that the options name, or those that a report opens with. The page has all of them.
pub(super) fn before_after(scene: &Scene) -> Vec<Entry> {
    let first = scene.verdict.site;
    let metrics = match &*scene.options.figures.metric {
        [] => Metric::shown_in(Place::BeforeAfter),
        asked => asked.to_vec(),
    };
    let of_first = metrics
        .into_iter()
        .map(|metric| MetricKey::new(first, metric));
    let other_sites = scene.sites.iter().filter(|site| **site != first);
    let of_others = other_sites.map(|site| MetricKey::new(*site, Metric::BeyondMsPerS));
    let mut keys: Vec<MetricKey> = of_first.chain(of_others).collect();
    keys.dedup();
    keys.retain(|key| scene.summary.has(*key));
    let opening = opening_variant(scene);
    let variants = match (&scene.options.pictures.budget[..], &scene.shown[1..]) {
        ([], _) | (_, []) => vec![opening],
        (_, asked) => asked.to_vec(),
    };
    let all = scene.summary.shown_axes();
    let mut entries = Vec::new();
    for key in &keys {
        for variant in &variants {
            let pair = (*key, *variant);
            let is_first = pair == (keys[0], opening);
            let large = largest(scene, *key, &all).filter(|_| is_first);
            entries.extend(large.map(|axes| entry(scene, pair, &axes, true)));
            entries.push(entry(scene, pair, &all, is_first));
        }
    }
    entries
}

/// The two payloads and the three round trips with the greatest values without a budget, which fit into a picture for an
/// issue. None if the sweep has no more than these.
fn largest(scene: &Scene, key: MetricKey, all: &Axes) -> Option<Axes> {
    const PAYLOADS: usize = 2;
    const RTTS: usize = 3;
    let sum = |is_here: &dyn Fn(&Cell) -> bool| {
        let cells = scene.summary.measured();
        let here = cells.filter(|cell| is_here(&cell.measured.cell));
        let values = here.filter_map(|cell| cell.value(key, BASELINE));
        values.sum::<f64>()
    };
    let mut largest = all.clone();
    let of_payload = |payload| sum(&|cell: &Cell| cell.payload_bytes == payload);
    let payloads = &mut largest.payload_bytes;
    payloads.sort_by(|a, b| of_payload(*b).total_cmp(&of_payload(*a)));
    payloads.truncate(PAYLOADS);
    let of_rtt = |rtt| sum(&|cell: &Cell| cell.rtt_ms == rtt);
    let rtts = &mut largest.rtt_ms;
    rtts.sort_by(|a, b| of_rtt(*b).total_cmp(&of_rtt(*a)));
    rtts.truncate(RTTS);
    let is_less = all.payload_bytes.len() * all.rtt_ms.len() > PAYLOADS * RTTS;
    (is_less && scene.summary.identity.application.is_none()).then(|| largest.sorted())
}

/// The variant that the report opens with: the best candidate if it is shown, else the first that ended a poll, else any.
/// Zero if no variant is shown.
fn opening_variant(scene: &Scene) -> usize {
    let all = scene.verdict.candidates.iter();
    let (fired, idle): (Vec<_>, Vec<_>) = all.partition(|candidate| !candidate.is_idle);
    let best = scene.verdict.best().into_iter();
    let candidates = best
        .chain(fired)
        .chain(idle)
        .map(|candidate| candidate.variant);
    let mut variants = candidates.chain(scene.shown[1..].iter().copied());
    let shown = variants.find(|variant| scene.shown.contains(variant));
    shown.unwrap_or(0)
}

fn entry(scene: &Scene, (key, variant): (MetricKey, usize), axes: &Axes, is_first: bool) -> Entry {
    let (summary, metric) = (scene.summary, key.metric.info());
    let levels = summary.cells.iter().flat_map(|cell| {
        let variants = scene.shown.iter();
        variants.filter_map(move |variant| cell.value(key, *variant))
    });
    let colours = Colours::Sequential;
    let mut scales = vec![ColourScale::new(metric.words, metric.unit, colours, levels)];
    let level = |variant| move |cell: Option<&CellSummary>| level(cell, key, variant);
    let (before, after) = (level(0), level(variant));
    let between = |cell: Option<&CellSummary>| difference(cell, key, variant);
    let label = scene.label(variant);
    let mut parts: Vec<Part> = vec![(scene.label(0), 0, &before)];
    let (mut kind, mut about_rows) = ("heatmap", "");
    if variant > 0 {
        scales.push(difference_scale(scene, key));
        let name = match is_relative(key.metric) {
            false => "difference",
            true => "change in %",
        };
        // The title has the whole name.
        let short = if label.len() > MOST_LETTERS {
            "after"
        } else {
            label
        };
        parts.extend([(short, 0, &after as _), (name, 1, &between as _)]);
        kind = "before-after";
        if summary.identity.application.is_none() {
            about_rows = "one row of panels per payload; ";
        }
    }
    let is_whole = *axes == summary.shown_axes();
    if !is_whole {
        kind = "largest";
        about_rows = "the two payloads and the three round trips with the greatest values; ";
    }
    let (rows, columns) = match &summary.identity.application {
        Some(application) => (
            Categories::new("", [&application.file.program]),
            Categories::new("", [""]),
        ),
        None => (
            Categories::new("peers", &axes.peers),
            Categories::new("RTT, ms", &axes.rtt_ms),
        ),
    };
    let facets = facets(summary, axes, &parts);
    let heatmap = Heatmap {
        rows,
        columns,
        across: facets.len().clamp(1, 3),
        facets,
        scales,
    };
    let site = key.site.map_or("worker", |site| site.name());
    let notes = format!("{about_rows}below each value: {}", scene.intervals());
    let subtitle = scene.explained(key.metric, &notes);
    let texts = [title(scene, key, variant), subtitle];
    scene.entry(&[kind, metric.name, site, label], is_first, texts, heatmap)
}

/// The letters of a longer name would be smaller than those above the other panels.
const MOST_LETTERS: usize = 20;

/// The title has the change over all cells if the quantity decides, else the number of cells in which it is resolved.
fn title(scene: &Scene, key: MetricKey, variant: usize) -> String {
    let verdict = scene.verdict;
    let subject = capitalised(&scene.subject(key));
    let label = scene.label(variant);
    let mut candidates = verdict.candidates.iter().chain(&verdict.control);
    let candidate = candidates.find(|candidate| candidate.variant == variant);
    let is_same = |judged: &&Judged| MetricKey::new(verdict.site, judged.quantity.metric) == key;
    if let Some(judged) = candidate.and_then(|candidate| candidate.judged.iter().find(is_same)) {
        return judged.title(&subject, label);
    }
    if variant == BASELINE {
        return format!("{subject}, {label}");
    }
    let [lower, higher, all] = scene.summary.resolved(key, variant);
    format!(
        "{subject}, {label}: resolved to be lower in {lower}, higher in {higher} of {all} cells"
    )
}

fn difference(cell: Option<&CellSummary>, key: MetricKey, variant: usize) -> HeatmapCell {
    let change = cell.and_then(|cell| cell.change(key, variant));
    let value = value_of(cell, |_| {
        let (value, interval) = shown(change?, key.metric)?;
        Some(ChartValue::new(value, interval))
    });
    HeatmapCell {
        value,
        is_resolved: change.is_some_and(|change| change.resolved != Resolved::No),
    }
}

/// Whether the change is shown in percent of the baseline. A cost is, since its level differs between cells by orders of
/// magnitude.
fn is_relative(metric: Metric) -> bool {
    Quantity::of_metric(metric).is_some_and(|quantity| !quantity.is_benefit)
}

/// The change with its interval: of a cost in percent, of any other metric in its unit.
fn shown(change: ChangeFigure, metric: Metric) -> Option<(f64, Option<Interval>)> {
    match is_relative(metric) {
        false => Some((change.value, change.interval())),
        true => {
            let relative = change.relative?;
            Some((relative.value, Some(relative.interval(CONFIDENCE))))
        }
    }
}

/// The scale of differences. All variants have the same, so that their pictures can be laid side by side.
fn difference_scale(scene: &Scene, key: MetricKey) -> ColourScale {
    let changes = scene.summary.cells.iter().flat_map(|cell| {
        let variants = scene.shown[1..].iter();
        variants.filter_map(move |variant| cell.change(key, *variant))
    });
    let resolved = changes.filter(|change| change.resolved != Resolved::No);
    let colours = of_differences(key.metric);
    let values = resolved.filter_map(|change| Some(shown(change, key.metric)?.0));
    let (name, unit) = match is_relative(key.metric) {
        false => ("difference", key.metric.change_unit()),
        true => ("change", "%"),
    };
    ColourScale::new(name, unit, colours, values)
}

/// The name of a facet, the index of its scale, and what it shows of a cell.
type Part<'a> = (
    &'a str,
    usize,
    &'a dyn Fn(Option<&CellSummary>) -> HeatmapCell,
);

fn facets(summary: &Summary, axes: &Axes, parts: &[Part]) -> Vec<Facet> {
    let mut facets = Vec::new();
    for &payload_bytes in &axes.payload_bytes {
        for &(name, scale, shown) in parts {
            let title = match summary.identity.application {
                Some(_) => name.to_owned(),
                None => format!("{}: {name}", payload_bytes.in_words()),
            };
            let cell = |&peers: &usize, &rtt_ms: &Rtt| {
                shown(summary.cell(Cell {
                    peers,
                    rtt_ms,
                    payload_bytes,
                }))
            };
            facets.push(Facet::new(title, scale, &axes.peers, &axes.rtt_ms, cell));
        }
    }
    facets
}

fn level(cell: Option<&CellSummary>, key: MetricKey, variant: usize) -> HeatmapCell {
    HeatmapCell::level(value_of(cell, |cell| {
        cell.figure(key, variant).map(of_figure)
    }))
}

fn value_of(
    cell: Option<&CellSummary>,
    value: impl Fn(&CellSummary) -> Option<ChartValue>,
) -> Result<ChartValue, NoValue> {
    let cell = cell.ok_or(NoValue::Missing)?;
    match cell.measured.state {
        CellState::Missing => Err(NoValue::Missing),
        CellState::Failed(_) => Err(NoValue::Failed),
        CellState::Invalid(_) => Err(NoValue::Invalid),
        CellState::Measured => value(cell).ok_or(NoValue::NotApplicable),
    }
}

pub(super) fn of_differences(metric: Metric) -> Colours {
    match metric.info().better {
        Better::Higher => Colours::HigherIsBetter,
        Better::Lower | Better::Neither => Colours::LowerIsBetter,
    }
}

/// Children with a smaller share of the time are drawn as one.
const LEAST_PERCENT: f64 = 1.0;
const REST: &str = "others";

/// The shares of children in the time of all polls, and beside them those in the time of slow polls. A child has a row, and a
/// payload has a column. None if the site has no children.
pub(super) fn time(scene: &Scene, site: Site) -> Option<Entry> {
    let summary = scene.summary;
    let of_all_cells = holders::shares(summary.measured(), site).concat();
    let large = of_all_cells
        .into_iter()
        .filter(|(_, percent)| *percent >= LEAST_PERCENT);
    let children: Vec<&str> = unique(large.map(|(child, _)| child));
    if children.len() < 2 {
        return None;
    }
    let payloads = summary.shown_axes().payload_bytes;
    let shares = payloads.iter().map(|payload| {
        let has_payload = |cell: &&CellSummary| cell.measured.cell.payload_bytes == *payload;
        holders::shares(summary.measured().filter(has_payload), site)
    });
    let by_payload: Vec<[Shares; 2]> = shares.collect();
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
    let facet = |(title, index): (&str, usize)| {
        let of_payload = |row: &_, shares: &[Shares; 2]| cell(row, &shares[index]);
        Facet::new(title.to_owned(), 0, &rows, &by_payload, of_payload)
    };
    let facets = [("all polls", 0), ("slow polls", 1)].map(facet);
    let percents = facets.iter().flat_map(Facet::coloured);
    let scale = ColourScale::new("share of poll time", "%", Colours::Sequential, percents);
    let labels = payloads.iter().map(|payload| payload.in_words());
    let heatmap = Heatmap {
        rows: Categories::new("child", rows.iter().map(|row| row.unwrap_or(REST))),
        columns: Categories::new("payload", labels),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::charts::NoValue;
    use run_format::Site;

    #[test]
    fn a_cell_that_is_missing_has_no_difference() {
        let key = MetricKey::new(Site::Connection, Metric::SlowPercent);
        let expected = HeatmapCell {
            value: Err(NoValue::Missing),
            is_resolved: false,
        };
        assert_eq!(difference(None, key, 1), expected);
    }
}
