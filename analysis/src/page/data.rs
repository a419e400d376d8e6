//! The data of a page, as compact JSON: each figure once, by cell and then by variant.

use run_format::{Axes, HistogramOf, Site};
use serde_json::{Map, Value, json};

use crate::charts::Colours;
use crate::drift::{Drift, Drifts};
use crate::explain::files::File;
use crate::load::name_in_files;
use crate::measure::details::{edges, stops};
use crate::measure::{CellState, Metric, MetricKey};
use crate::report::trust;
use crate::summary::{CellFigure, CellSummary, Summary};
use crate::text::rounded;
use crate::verdict::{AtThreshold, Judged, RANKS, Verdict, holders};
use crate::views::{Scene, lines};

fn metrics() -> Value {
    let metric = |metric: Metric| {
        let info = metric.info();
        let polls = metric.is_by_site().then_some("polls");
        let counted = polls.or(info.is_of_wake_ups.then_some("wake-ups"));
        json!({
            "name": info.name, "words": info.words, "unit": info.unit, "changeUnit": metric.change_unit(),
            "says": info.says, "better": info.better as i8, "bySite": metric.is_by_site(), "scale": info.scale,
            "recounted": info.recounted.map(name_in_files),
            "counted": counted, "isOfSpeed": info.is_of_speed,
        })
    };
    Metric::ALL.iter().copied().map(metric).collect()
}

/// All that a page with these runs knows. It opens with the first of the gains that the verdict has, against the cost.
pub(super) fn of_page(runs: &[Value], soak: &[Value]) -> Value {
    let gains = RANKS.map(|metric| metric.info().name);
    json!({
        "metrics": metrics(),
        "opening": {"gains": gains, "cost": Metric::RequestsPerS.info().name},
        "work": Metric::FixedWorkUs.info().name,
        "checks": trust::limits(),
        "colours": {"level": Colours::Sequential.of_page(), "change": Colours::HigherIsBetter.of_page()},
        "runs": runs,
        "soak": soak,
    })
}

/// One sweep, or one round of a search, or one budget in two sweeps. `name` is what a reader chooses it by.
pub(crate) fn of(name: &str, scene: &Scene, explained: &[File]) -> Value {
    let (summary, verdict, options) = (scene.summary, scene.verdict, scene.options);
    let mut sites = options.sites();
    sites.retain(|site| summary.identity.sites.has(*site));
    let axes = summary.shown_axes();
    let variants = summary.variants.iter();
    let variants = variants.map(|it| json!({"label": it.label, "role": name_in_files(it.role)}));
    let names = sites.iter();
    let functions = names.map(|site| (site.name().to_owned(), summary.function(*site).into()));
    let manifest = summary.identity.manifest.as_ref();
    let payloads = axes.payload_bytes.iter().map(|it| it.in_words());
    let edges = edges(options.figures.threshold);
    let stops = stops(options.figures.threshold).into_iter();
    let stops = stops.map(|stop| edges.iter().position(|edge| *edge == stop));
    let cells = summary.shown_cells().into_iter();
    let cells = cells.map(|it| of_cell(it, &axes, &sites, explained));
    json!({
        "name": name,
        "identity": summary.line(),
        "workload": manifest.map(|it| name_in_files(it.config.node.workload)),
        "threshold": options.figures.threshold,
        "site": verdict.site.name(),
        "functions": functions.collect::<Map<_, _>>(),
        "variants": variants.collect::<Value>(),
        "peers": axes.peers,
        "rtt": axes.rtt_ms.iter().map(|it| it.ms()).collect::<Vec<_>>(),
        "payload": payloads.collect::<Vec<_>>(),
        "cells": cells.collect::<Value>(),
        "figures": figures(summary, &sites),
        "stops": stops.collect::<Vec<_>>(),
        "durations": durations(summary, &sites),
        "requests": by_variant(summary, |cell, at| {
            cell.measured.details.requests.get(at).copied().flatten().map_or(Value::Null, number)
        }),
        "byBlock": by_block(summary, &sites),
        "edges": edges,
        "verdict": of_verdict(verdict),
        "parts": trust::parts(summary, verdict),
    })
}

pub(crate) fn of_soak(drifts: &Drifts) -> Vec<Value> {
    let (seconds, unit) = lines::time_unit(drifts.last_s);
    let quiet = drifts.all.iter().filter(|it| !it.is_drifting());
    let of_one = |it: &Drift| {
        let end = |(at_s, value): (f64, f64)| [number(at_s / seconds), number(value)];
        let times = it.values.iter().map(|(at_s, _)| number(at_s / seconds));
        let values = it.values.iter().map(|(_, value)| optional(*value));
        json!({
            "words": it.series.words,
            "inShort": lines::in_short(it, drifts),
            "unit": it.series.unit,
            "timeUnit": unit,
            "warmUp": number(drifts.warm_up_s / seconds),
            "times": times.collect::<Value>(),
            "values": values.collect::<Value>(),
            "trend": lines::trend(it).map(|ends| ends.map(end)),
        })
    };
    drifts.drifting().chain(quiet).map(of_one).collect()
}

/// With the four digits of `summary.csv`, or fewer; what is not finite is null there, too.
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

fn every_variant(summary: &Summary) -> impl Iterator<Item = (&CellSummary, usize)> {
    let cells = summary.shown_cells().into_iter();
    cells.flat_map(|cell| (0..summary.variants.len()).map(move |at| (cell, at)))
}

/// Values of every cell and variant, one after the other; nothing if none has a value.
fn by_variant(summary: &Summary, of: impl Fn(&CellSummary, usize) -> Value) -> Value {
    let all = every_variant(summary);
    let all: Vec<Value> = all.map(|(cell, at)| of(cell, at)).collect();
    match all.iter().all(Value::is_null) {
        true => Value::Null,
        false => all.into(),
    }
}

fn of_cell(cell: &CellSummary, axes: &Axes, sites: &[Site], explained: &[File]) -> Value {
    let id = cell.measured.cell.id();
    let measured = &cell.measured;
    let why = match &measured.state {
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
    let sites = sites.iter();
    let children = sites.map(|site| (site.name().to_owned(), children(cell, *site)));
    let waited = measured.details.waited.iter();
    let waited = waited.map(|run| run.iter().map(|it| optional(*it)).collect::<Value>());
    json!({
        "n": measured.cell.peers,
        "rtt": measured.cell.rtt_ms.ms(),
        "payload": axes.payload_bytes.iter().position(|it| *it == measured.cell.payload_bytes),
        "why": why,
        "flaws": measured.flaws,
        "runs": measured.runs,
        "blocks": measured.blocks,
        "aside": measured.checks.set_aside.values().sum::<usize>(),
        "checks": trust::of_cell(&measured.checks),
        "connects": measured.checks.rtt_ms.map(|(least, median, most)| [least, median, most].map(number)),
        "children": children.collect::<Map<_, _>>(),
        "waited": waited.collect::<Value>(),
        "launches": measured.details.launches,
        "files": files.collect::<Vec<_>>(),
        "id": id,
    })
}

/// Of the baseline: each child with its share of the time of all polls, and of that of slow polls.
fn children(cell: &CellSummary, site: Site) -> Value {
    let [all, slow] = holders::of([cell].into_iter(), site);
    let row = |(child, percent): (&str, f64)| {
        let of_slow = slow.iter().find(|(other, _)| *other == child);
        json!([child, number(percent), optional(of_slow.map(|it| it.1))])
    };
    all.into_iter().map(row).collect()
}

fn by_metric(sites: &[Site], of: impl Fn(MetricKey) -> Option<Value>) -> Value {
    let whats = MetricKey::all(sites).into_iter();
    let all = whats.filter_map(|what| {
        let site = what.site.map_or("worker", Site::name);
        Some((format!("{site} {}", what.metric.info().name), of(what)?))
    });
    Value::Object(all.collect())
}

/// Values, ends of intervals, changes and their ends, and as letters whether changes are resolved.
fn figures(summary: &Summary, sites: &[Site]) -> Value {
    by_metric(sites, |what| {
        let column = |of: fn(&CellFigure) -> Option<f64>| {
            by_variant(summary, |cell, at| {
                optional(cell.figure(what, at).and_then(of))
            })
        };
        let value = column(|it| Some(it.estimate.value));
        // The first letter: lower, higher, no.
        let resolved = |(cell, at): (&CellSummary, usize)| {
            let change = cell.change(what, at);
            change.map_or("-", |change| &change.resolved.name()[..1])
        };
        let figures = json!({
            "low": column(|it| Some(it.interval()?.low)),
            "high": column(|it| Some(it.interval()?.high)),
            "change": column(|it| Some(it.change?.value)),
            "changeLow": column(|it| Some(it.change?.interval()?.low)),
            "changeHigh": column(|it| Some(it.change?.interval()?.high)),
            "resolved": every_variant(summary).map(resolved).collect::<String>(),
            "value": value,
        });
        (!figures["value"].is_null()).then_some(figures)
    })
}

/// Counts between edges, each after the number of empty buckets before them.
fn durations(summary: &Summary, sites: &[Site]) -> Value {
    let sites = sites.iter();
    let of_sites = sites.map(|site| (site.name(), HistogramOf::Polls(*site)));
    let all = of_sites.chain([("worker", HistogramOf::CotenantWake)]);
    let of_one = |(name, of): (&str, HistogramOf)| {
        let counts = |cell: &CellSummary, at: usize| {
            let durations = &cell.measured.details.durations;
            let counts = durations.get(&of)?.get(at)?.as_ref()?;
            let first = counts.iter().position(|count| *count > 0)?;
            let last = counts.iter().rposition(|count| *count > 0)?;
            let shown = counts[first..=last].iter().copied();
            Some([first as u64].into_iter().chain(shown).collect::<Value>())
        };
        let counts = by_variant(summary, |cell, at| counts(cell, at).unwrap_or_default());
        (name.to_owned(), counts)
    };
    Value::Object(all.map(of_one).collect())
}

fn by_block(summary: &Summary, sites: &[Site]) -> Value {
    by_metric(sites, |what| {
        let values = by_variant(summary, |cell, at| {
            let of_cell = cell.measured.details.by_block.get(&what);
            let runs = of_cell.and_then(|it| it.get(at)?.as_ref());
            let run = |run: &Vec<f64>| run.iter().map(|it| three_digits(*it)).collect::<Value>();
            runs.map_or(Value::Null, |runs| runs.iter().map(run).collect())
        });
        (!values.is_null()).then_some(values)
    })
}

/// Enough for a dot.
fn three_digits(value: f64) -> Value {
    format!("{value:.2e}").parse().map_or(Value::Null, number)
}

/// The means over cells at each threshold: the level, and the change with its interval.
fn curve(curve: &[AtThreshold]) -> Value {
    let point = |at: &AtThreshold| {
        let change = at
            .change
            .map(|(value, ends)| [value, ends.low, ends.high].map(number));
        json!([at.threshold_ns, number(at.level), change])
    };
    curve.iter().map(point).collect()
}

fn of_verdict(verdict: &Verdict) -> Value {
    let judged = |judged: &Judged| {
        let ends = [judged.value, judged.interval.low, judged.interval.high];
        let name = judged.quantity.metric.info().name;
        (name.to_owned(), json!(ends.map(number)))
    };
    let candidates = verdict.candidates.iter().chain(&verdict.control);
    let candidate = candidates.map(|it| {
        let judged = it.judged.iter().map(judged);
        json!({
            "variant": it.variant, "idle": it.is_idle, "changes": judged.collect::<Map<_, _>>(), "curve": curve(&it.curve),
        })
    });
    let quantities = verdict.quantities.iter();
    let quantity = quantities.map(|(it, margin)| {
        json!({
            "metric": it.metric.info().name, "words": it.words, "unit": it.unit(), "margin": margin,
            "lowerIsBetter": it.is_lower_better(),
        })
    });
    json!({
        "curve": curve(&verdict.baseline_curve),
        "leading": verdict.best().map(|it| it.variant),
        "candidates": candidate.collect::<Value>(),
        "quantities": quantity.collect::<Value>(),
    })
}
