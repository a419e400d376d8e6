//! Heatmaps of the baseline, a variant and their difference in every cell, or of the baseline alone if there is no variant.

use run_format::{Axes, BASELINE, Cell, Rtt};

use super::input::{ReportInput, ReportPicture};
use crate::charts::{
    Categories, ChartValue, ColourScale, Colours, Facet, Heatmap, HeatmapCell, NoValue,
};
use crate::metrics::{Better, CellState, Metric, MetricKey, ReportPart};
use crate::stats::CONFIDENCE;
use crate::summary::{CellSummary, ChangeFigure, Resolved, Summary};
use crate::text::capitalised;

/// Draws the metrics and variants that the options name, or those that a report opens with. The page has all of them.
pub(super) fn before_after(input: &ReportInput) -> Vec<ReportPicture> {
    let first = input.verdict.site;
    let metrics = match &*input.options.figures.metric {
        [] => Metric::shown_in(ReportPart::BeforeAfter),
        asked => asked.to_vec(),
    };
    let metrics = metrics.into_iter();
    let mut keys: Vec<MetricKey> = metrics
        .map(|metric| MetricKey::new(first, metric))
        .collect();
    let other_sites = input.sites.iter().filter(|site| **site != first);
    keys.extend(other_sites.map(|site| MetricKey::new(*site, Metric::BeyondMsPerS)));
    keys.dedup();
    keys.retain(|key| input.summary.has(*key));
    let opening = opening_variant(input);
    let variants = match (
        &input.options.pictures.budget[..],
        &input.shown_variants[1..],
    ) {
        ([], _) | (_, []) => vec![opening],
        (_, asked) => asked.to_vec(),
    };
    let all = input.summary.shown_axes();
    let mut pictures = Vec::new();
    for &key in &keys {
        for &variant in &variants {
            let is_opening = (key, variant) == (keys[0], opening);
            if is_opening && let Some(axes) = largest(input, key, &all) {
                pictures.push(picture(input, key, variant, &axes, true));
            }
            pictures.push(picture(input, key, variant, &all, is_opening));
        }
    }
    pictures
}

/// Returns the two payloads and the three round trips with the greatest values without a budget, which fit into a picture for
/// an issue. None if the sweep has no more than these.
fn largest(input: &ReportInput, key: MetricKey, all: &Axes) -> Option<Axes> {
    const PAYLOADS: usize = 2;
    const RTTS: usize = 3;
    let sum = |is_here: &dyn Fn(&Cell) -> bool| {
        let cells = input.summary.measured_cells();
        let here = cells.filter(|cell| is_here(&cell.cell()));
        let values = here.filter_map(|cell| cell.value(key, BASELINE));
        values.sum::<f64>()
    };
    let mut largest = all.clone();
    let by_payload = |payload| sum(&|cell: &Cell| cell.payload_bytes == payload);
    let payloads = &mut largest.payload_bytes;
    payloads.sort_by(|a, b| by_payload(*b).total_cmp(&by_payload(*a)));
    payloads.truncate(PAYLOADS);
    let by_rtt = |rtt| sum(&|cell: &Cell| cell.rtt_ms == rtt);
    let rtts = &mut largest.rtt_ms;
    rtts.sort_by(|a, b| by_rtt(*b).total_cmp(&by_rtt(*a)));
    rtts.truncate(RTTS);
    let is_less = all.payload_bytes.len() * all.rtt_ms.len() > PAYLOADS * RTTS;
    (is_less && input.summary.identity.application.is_none()).then(|| largest.sorted())
}

/// Returns the variant that the report opens with: the best candidate if it is shown, else the first that ended a poll, else
/// any. It is the baseline if no other variant is shown.
fn opening_variant(input: &ReportInput) -> usize {
    let all = input.verdict.candidates.iter();
    let (fired, never_fired): (Vec<_>, Vec<_>) = all.partition(|candidate| !candidate.never_fired);
    let best = input.verdict.best().into_iter();
    let candidates = best
        .chain(fired)
        .chain(never_fired)
        .map(|candidate| candidate.variant);
    let mut variants = candidates.chain(input.shown_variants[1..].iter().copied());
    let shown = variants.find(|variant| input.shown_variants.contains(variant));
    shown.unwrap_or(BASELINE)
}

fn picture(
    input: &ReportInput,
    key: MetricKey,
    variant: usize,
    axes: &Axes,
    is_opening: bool,
) -> ReportPicture {
    let (summary, metric) = (input.summary, key.metric.info());
    let levels = summary.cells.iter().flat_map(|cell| {
        let variants = input.shown_variants.iter();
        variants.filter_map(move |variant| cell.value(key, *variant))
    });
    let colours = Colours::Sequential;
    let mut scales = vec![ColourScale::new(metric.words, metric.unit, colours, levels)];
    let subject = capitalised(&input.subject(key));
    let [before, after] = [BASELINE, variant].map(|variant| input.label(variant));
    let baseline = Shown::Level(BASELINE);
    let (mut kind, mut about_rows) = ("heatmap", "");
    let (title, panels) = if variant == BASELINE {
        (format!("{subject}: {before}"), vec![(before, baseline)])
    } else {
        scales.push(difference_scale(input, key));
        let change = match is_relative(key.metric) {
            false => "difference",
            true => "change in %",
        };
        kind = "before-after";
        if summary.identity.application.is_none() {
            about_rows = "one row of panels per payload; ";
        }
        (
            format!("{subject}: {before} (left), {after} (middle), {change} (right)"),
            vec![
                ("before", baseline),
                ("after", Shown::Level(variant)),
                (change, Shown::Change(variant)),
            ],
        )
    };
    if *axes != summary.shown_axes() {
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
    let facets = facets(summary, axes, key, &panels);
    let heatmap = Heatmap {
        rows,
        columns,
        across: facets.len().clamp(1, 3),
        facets,
        scales,
    };
    let site = key.site.map_or("worker", |site| site.name());
    let subtitle = format!(
        "threshold: {}; {about_rows}below each value: its 95 % interval",
        input.options.threshold_text()
    );
    let names = [kind, metric.name, site, after];
    input.picture(&names, is_opening, [title, subtitle], heatmap)
}

/// The figures of a variant that a panel shows.
#[derive(Clone, Copy)]
enum Shown {
    Level(usize),
    Change(usize),
}

impl Shown {
    fn cell(self, cell: Option<&CellSummary>, key: MetricKey) -> HeatmapCell {
        match self {
            Shown::Level(variant) => level(cell, key, variant),
            Shown::Change(variant) => difference(cell, key, variant),
        }
    }

    /// The index of the colour scale.
    fn scale(self) -> usize {
        match self {
            Shown::Level(_) => 0,
            Shown::Change(_) => 1,
        }
    }
}

/// Makes the panels of every payload. A panel has its name and its figures.
fn facets(summary: &Summary, axes: &Axes, key: MetricKey, panels: &[(&str, Shown)]) -> Vec<Facet> {
    let mut all = Vec::new();
    for &payload_bytes in &axes.payload_bytes {
        for &(name, shown) in panels {
            let title = match summary.identity.application {
                Some(_) => name.to_owned(),
                None => format!("{}: {name}", payload_bytes.in_words()),
            };
            let row = |peers: usize| {
                let cell = |rtt_ms: &Rtt| {
                    let cell = Cell {
                        peers,
                        rtt_ms: *rtt_ms,
                        payload_bytes,
                    };
                    shown.cell(summary.cell(cell), key)
                };
                axes.rtt_ms.iter().map(cell).collect()
            };
            all.push(Facet {
                title,
                scale: shown.scale(),
                cells: axes.peers.iter().copied().map(row).collect(),
            });
        }
    }
    all
}

fn difference(cell: Option<&CellSummary>, key: MetricKey, variant: usize) -> HeatmapCell {
    let change = cell.and_then(|cell| cell.change(key, variant));
    let value = value_of(cell, |_| chart_value(change?, key.metric));
    HeatmapCell {
        value,
        is_resolved: change.is_some_and(|change| change.resolved != Resolved::No),
    }
}

/// Whether the change is shown in percent of the baseline. A cost is, since margins of costs are percentages.
fn is_relative(metric: Metric) -> bool {
    metric.is_cost()
}

/// The change with its interval. That of a cost is in percent, and any other in the unit of its metric.
fn chart_value(change: ChangeFigure, metric: Metric) -> Option<ChartValue> {
    Some(match is_relative(metric) {
        false => ChartValue::new(change.value, change.interval()),
        true => {
            let relative = change.relative?;
            ChartValue::new(relative.value, Some(relative.interval(CONFIDENCE)))
        }
    })
}

/// The scale of differences. All variants have the same, so that their pictures can be laid side by side.
fn difference_scale(input: &ReportInput, key: MetricKey) -> ColourScale {
    let changes = input.summary.cells.iter().flat_map(|cell| {
        let variants = input.shown_variants[1..].iter();
        variants.filter_map(move |variant| cell.change(key, *variant))
    });
    let resolved = changes.filter(|change| change.resolved != Resolved::No);
    let colours = difference_colours(key.metric);
    let values = resolved.filter_map(|change| Some(chart_value(change, key.metric)?.value));
    let (name, unit) = match is_relative(key.metric) {
        false => ("difference", key.metric.unit_of_difference()),
        true => ("change", "%"),
    };
    ColourScale::new(name, unit, colours, values)
}

fn level(cell: Option<&CellSummary>, key: MetricKey, variant: usize) -> HeatmapCell {
    HeatmapCell::level(value_of(cell, |cell| {
        cell.figure(key, variant).map(ChartValue::from)
    }))
}

fn value_of(
    cell: Option<&CellSummary>,
    value: impl Fn(&CellSummary) -> Option<ChartValue>,
) -> Result<ChartValue, NoValue> {
    let cell = cell.ok_or(NoValue::Missing)?;
    match cell.data.state {
        CellState::Missing => Err(NoValue::Missing),
        CellState::Failed(_) => Err(NoValue::Failed),
        CellState::Invalid(_) => Err(NoValue::Invalid),
        CellState::Measured => value(cell).ok_or(NoValue::NotApplicable),
    }
}

fn difference_colours(metric: Metric) -> Colours {
    match metric.info().better {
        Better::Higher => Colours::HigherIsBetter,
        Better::Lower | Better::Neither => Colours::LowerIsBetter,
    }
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
