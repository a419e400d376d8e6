//! The data of a page as compact JSON. A list of figures has those of the first cell's variants, then those of the second
//! cell's, and so on.

use run_format::{Axes, HistogramOf, Site};
use serde_json::{Map, Value, json};

use crate::charts::Colours;
use crate::drift::{Drift, Drifts};
use crate::load::ComparedVariant;
use crate::metrics::details::edges;
use crate::metrics::{CellState, Metric, MetricKey};
use crate::new_folder::NewFile;
use crate::options::Options;
use crate::report::trust;
use crate::summary::children::{ChildShare, PollTimeShares};
use crate::summary::{CellFigure, CellSummary, Summary};
use crate::text::rounded;
use crate::verdict::{AtThreshold, Candidate, Verdict};
use crate::views::{ReportInput, lines};

fn metrics() -> Value {
    let metric = |metric: Metric| {
        let info = metric.info();
        let polls = metric.is_by_site().then_some("polls");
        let counted = polls.or(info.is_of_wake_ups.then_some("wake-ups"));
        json!({
            "name": info.name, "words": info.words, "unit": info.unit, "changeUnit": metric.unit_of_difference(),
            "better": info.better as i8, "bySite": metric.is_by_site(), "counted": counted,
        })
    };
    Metric::ALL.iter().copied().map(metric).collect()
}

/// All data of a page with these runs.
pub(super) fn page(runs: &[Value], soak: &[Value]) -> Value {
    json!({
        "metrics": metrics(),
        "checks": trust::limits(),
        "colours": {"level": Colours::Sequential.for_page(), "change": Colours::HigherIsBetter.for_page()},
        "runs": runs,
        "soak": soak,
    })
}

/// The thresholds of the slider: those of the curve up to 1 ms, and the report's own. Empty without a curve.
pub(crate) fn thresholds_ns(verdict: &Verdict, options: &Options) -> Vec<u64> {
    const MOST_NS: u64 = 1_000_000;
    let report_threshold_ns = options.figures.threshold_ns;
    let points = verdict.baseline_curve.iter();
    let all = points.map(|point| point.threshold_ns);
    all.filter(|threshold_ns| *threshold_ns <= MOST_NS || *threshold_ns == report_threshold_ns)
        .collect()
}

/// The data of one run, which a reader chooses by this name: a sweep, a round of a search, or a budget in two sweeps.
pub(crate) fn run(name: &str, input: &ReportInput, explained: &[NewFile]) -> Value {
    let (summary, verdict, options) = (input.summary, input.verdict, input.options);
    let mut sites = options.sites();
    sites.retain(|site| summary.identity.sites.has(*site));
    let axes = summary.shown_axes();
    let variant = |variant: &ComparedVariant| json!({"label": variant.label});
    let function = |site: &Site| (site.name().to_owned(), summary.function(*site).into());
    let payloads = axes.payload_bytes.iter().map(|payload| payload.in_words());
    let thresholds = thresholds_ns(verdict, options);
    let report_threshold_ns = options.figures.threshold_ns;
    let others = thresholds
        .iter()
        .filter(|threshold_ns| **threshold_ns != report_threshold_ns);
    let beyond = |threshold_ns: &u64| {
        let figures = figures_beyond(summary, verdict.site, *threshold_ns);
        (threshold_ns.to_string(), figures)
    };
    let shown = ShownCells::new(summary, &summary.cells);
    let cell = |cell: &CellSummary| cell_data(cell, &axes, &sites, explained);
    json!({
        "name": name,
        "identity": summary.line(),
        "threshold": report_threshold_ns,
        "thresholds": thresholds,
        "site": verdict.site.name(),
        "functions": sites.iter().map(function).collect::<Map<_, _>>(),
        "variants": summary.variants.iter().map(variant).collect::<Value>(),
        "peers": axes.peers,
        "rtt": axes.rtt_ms.iter().map(|rtt| rtt.ms()).collect::<Vec<_>>(),
        "payload": payloads.collect::<Vec<_>>(),
        "cells": shown.cells.iter().copied().map(cell).collect::<Value>(),
        "figures": by_metric(&sites, |key| figures(&shown, key)),
        "beyond": others.map(beyond).collect::<Map<_, _>>(),
        "durations": durations(&shown, &sites),
        "byBlock": by_block(&shown, &sites),
        "edges": edges(report_threshold_ns),
        "verdict": verdict_data(verdict),
    })
}

pub(crate) fn soak(drifts: &Drifts) -> Vec<Value> {
    let (seconds, unit) = lines::time_unit(drifts.last_s);
    let quiet = drifts.all.iter().filter(|drift| !drift.is_drifting());
    let in_panel = |drift: &Drift| {
        let end = |(at_s, value): (f64, f64)| [number(at_s / seconds), number(value)];
        let times = drift.values.iter().map(|(at_s, _)| number(at_s / seconds));
        let values = drift.values.iter().map(|(_, value)| optional(*value));
        json!({
            "words": drift.series.words,
            "inShort": lines::in_short(drift, drifts),
            "unit": drift.series.unit,
            "timeUnit": unit,
            "warmUp": number(drifts.warm_up_s / seconds),
            "times": times.collect::<Value>(),
            "values": values.collect::<Value>(),
            "trend": lines::trend(drift).map(|ends| ends.map(end)),
        })
    };
    drifts.drifting().chain(quiet).map(in_panel).collect()
}

/// A number with at most four digits, as in `summary.csv`. A number that is not finite is null there, too.
fn number(value: f64) -> Value {
    let value = rounded(value);
    match value.fract() == 0.0 && value.abs() < 1e15 {
        true => (value as i64).into(),
        false => value.into(),
    }
}

fn optional(value: Option<f64>) -> Value {
    value.map_or(Value::Null, number)
}

struct ShownCells<'a> {
    cells: Vec<&'a CellSummary>,
    variants: usize,
}

impl<'a> ShownCells<'a> {
    /// The cells of the summary, or the same cells with other figures.
    fn new(summary: &Summary, cells: &'a [CellSummary]) -> ShownCells<'a> {
        ShownCells {
            cells: summary.shown(cells),
            variants: summary.variants.len(),
        }
    }

    fn every_variant(&self) -> impl Iterator<Item = (&'a CellSummary, usize)> {
        let cells = self.cells.iter().copied();
        cells.flat_map(|cell| (0..self.variants).map(move |variant| (cell, variant)))
    }

    /// The values of every cell and variant, or null if none has a value.
    fn by_variant(&self, value: impl Fn(&CellSummary, usize) -> Value) -> Value {
        let values = self.every_variant();
        let all: Vec<Value> = values.map(|(cell, variant)| value(cell, variant)).collect();
        match all.iter().all(Value::is_null) {
            true => Value::Null,
            false => all.into(),
        }
    }
}

/// The data that the panel of a cell shows beside its figures.
fn cell_data(cell: &CellSummary, axes: &Axes, sites: &[Site], explained: &[NewFile]) -> Value {
    let id = cell.cell().id();
    let data = &cell.data;
    let why = match &data.state {
        CellState::Measured => None,
        CellState::Missing => Some("not measured".to_owned()),
        CellState::Invalid(reason) => Some(format!("invalid: {reason}")),
        CellState::Failed(reason) => Some(format!("failed: {reason}")),
    };
    let start = format!("{id}.");
    let files = explained.iter().filter_map(|file| {
        let (_, name) = file.name.split_once('/')?;
        name.starts_with(&start).then_some(name)
    });
    let children_of = |site: &Site| (site.name().to_owned(), children(cell, *site));
    let waited = |group: &Vec<Option<f64>>| {
        let percents = group.iter().map(|percent| optional(*percent));
        percents.collect::<Value>()
    };
    json!({
        "n": cell.cell().peers,
        "rtt": cell.cell().rtt_ms.ms(),
        "payload": axes.payload_bytes.iter().position(|payload| *payload == cell.cell().payload_bytes),
        "why": why,
        "flaws": data.flaws,
        "runs": data.launch_count,
        "blocks": data.blocks,
        "aside": data.checks.set_aside.values().sum::<usize>(),
        "checks": trust::cell_checks(&data.checks),
        "connects": data.checks.rtt_ms.map(|rtt| [rtt.least, rtt.upper_median, rtt.greatest].map(number)),
        "children": sites.iter().map(children_of).collect::<Map<_, _>>(),
        "waited": data.details.waited.iter().map(waited).collect::<Value>(),
        "launches": data.details.launch_lines,
        "files": files.collect::<Vec<_>>(),
        "id": id,
    })
}

/// Each child with its share of the time of all polls of the baseline, and its share of the time of slow polls.
fn children(cell: &CellSummary, site: Site) -> Value {
    let shares = PollTimeShares::add_up([cell].into_iter(), site);
    let row = |ChildShare { child, percent }: &ChildShare| {
        let mut slow_polls = shares.slow_polls.iter();
        let slow = slow_polls.find(|slow| slow.child == *child);
        json!([
            child,
            number(*percent),
            optional(slow.map(|slow| slow.percent))
        ])
    };
    shares.all_polls.iter().map(row).collect()
}

fn by_metric(sites: &[Site], values: impl Fn(MetricKey) -> Option<Value>) -> Value {
    let keys = MetricKey::all(sites).into_iter();
    let all = keys.filter_map(|key| {
        let site = key.site.map_or("worker", Site::name);
        Some((format!("{site} {}", key.metric.info().name), values(key)?))
    });
    Value::Object(all.collect())
}

/// Values and changes, each with the ends of its interval, and a letter for each change: resolved to be lower, higher, or not.
/// None if no cell has a value.
fn figures(shown: &ShownCells, key: MetricKey) -> Option<Value> {
    let column = |part: fn(&CellFigure) -> Option<f64>| {
        shown.by_variant(|cell, variant| optional(cell.figure(key, variant).and_then(part)))
    };
    let letter = |(cell, variant): (&CellSummary, usize)| {
        let change = cell.change(key, variant);
        change.map_or("-", |change| &change.resolved.name()[..1])
    };
    let figures = json!({
        "low": column(|figure| Some(figure.interval()?.low)),
        "high": column(|figure| Some(figure.interval()?.high)),
        "change": column(|figure| Some(figure.change?.value)),
        "changeLow": column(|figure| Some(figure.change?.interval()?.low)),
        "changeHigh": column(|figure| Some(figure.change?.interval()?.high)),
        "resolved": shown.every_variant().map(letter).collect::<String>(),
        "value": column(|figure| Some(figure.estimate.value)),
    });
    (!figures["value"].is_null()).then_some(figures)
}

/// The figures of the time beyond another threshold than the report's.
fn figures_beyond(summary: &Summary, site: Site, threshold_ns: u64) -> Value {
    let cells = summary.beyond(site, threshold_ns);
    let key = MetricKey::new(site, Metric::BeyondMsPerS);
    figures(&ShownCells::new(summary, &cells), key).unwrap_or_default()
}

/// The number of durations between each two edges. The first number says how many empty buckets come before the others.
fn durations(shown: &ShownCells, sites: &[Site]) -> Value {
    let polls = sites
        .iter()
        .map(|site| (site.name(), HistogramOf::Polls(*site)));
    let all = polls.chain([("worker", HistogramOf::CotenantWake)]);
    let named_counts = |(name, histogram): (&str, HistogramOf)| {
        let trimmed = |cell: &CellSummary, variant: usize| {
            let durations = &cell.data.details.durations;
            let counts = durations.get(&histogram)?.get(variant)?.as_ref()?;
            let first = counts.iter().position(|count| *count > 0)?;
            let last = counts.iter().rposition(|count| *count > 0)?;
            let others = counts[first..=last].iter().copied();
            Some([first as u64].into_iter().chain(others).collect::<Value>())
        };
        let counts = shown.by_variant(|cell, variant| trimmed(cell, variant).unwrap_or_default());
        (name.to_owned(), counts)
    };
    Value::Object(all.map(named_counts).collect())
}

fn by_block(shown: &ShownCells, sites: &[Site]) -> Value {
    by_metric(sites, |key| {
        let values = shown.by_variant(|cell, variant| {
            let all = cell.data.details.by_block.get(&key);
            let groups = all.and_then(|by_variant| by_variant.get(variant)?.as_ref());
            let in_group = |group: &Vec<f64>| {
                group
                    .iter()
                    .map(|value| three_digits(*value))
                    .collect::<Value>()
            };
            groups.map_or(Value::Null, |groups| groups.iter().map(in_group).collect())
        });
        (!values.is_null()).then_some(values)
    })
}

/// Three digits are enough for a dot.
fn three_digits(value: f64) -> Value {
    format!("{value:.2e}").parse().map_or(Value::Null, number)
}

/// Each threshold with the mean over cells of the time beyond it.
fn curve_data(curve: &[AtThreshold]) -> Value {
    let pair = |point: &AtThreshold| json!([point.threshold_ns, number(point.level)]);
    curve.iter().map(pair).collect()
}

fn verdict_data(verdict: &Verdict) -> Value {
    let candidate = |candidate: &Candidate| {
        json!({
            "variant": candidate.variant,
            "neverFired": candidate.never_fired,
            "curve": curve_data(&candidate.curve),
        })
    };
    let candidates = verdict.candidates.iter().chain(&verdict.control);
    let quantities = verdict.quantities.iter();
    json!({
        "curve": curve_data(&verdict.baseline_curve),
        "leading": verdict.best().map(|best| best.variant),
        "candidates": candidates.map(candidate).collect::<Value>(),
        "quantities": quantities.map(|quantity| quantity.metric.info().name).collect::<Value>(),
    })
}
