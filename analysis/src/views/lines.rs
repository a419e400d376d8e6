//! The pictures with lines: over thresholds, over payloads, and over the time of a soak.

use run_format::BASELINE;

use super::input::{ReportInput, ReportPicture};
use crate::charts::{Axis, Categories, ChartValue, LineChart, LineChartPanel, name_with_unit};
use crate::drift::{Drift, Drifts};
use crate::load::{ComparedRole, ComparedVariant};
use crate::metrics::{Metric, ReportPart};
use crate::options::Options;
use crate::stats::{CONFIDENCE, mean};
use crate::summary::{CellSummary, Summary};
use crate::text::{capitalised, lasting, number, short};
use crate::verdict::{AtThreshold, Candidate};

/// The most candidates in a picture, because the bars of more lines would cover each other.
const MOST_CANDIDATES: usize = 4;

/// Draws the time beyond every threshold, for the best candidates that fired and for the A/A control. A reader sees whether a
/// conclusion depends on the threshold. None if no candidate has a curve.
pub(super) fn curve(input: &ReportInput) -> Option<ReportPicture> {
    let verdict = input.verdict;
    let ranked = verdict.ranked();
    let is_ranked = |variant| ranked.iter().any(|other| other.variant == variant);
    let all = verdict.candidates.iter();
    let others = all.filter(|candidate| !candidate.never_fired && !is_ranked(candidate.variant));
    let candidates = ranked.iter().copied().chain(others).take(MOST_CANDIDATES);
    let shown: Vec<&Candidate> = candidates.chain(&verdict.control).collect();
    shown.iter().find(|candidate| !candidate.curve.is_empty())?;
    let whole = &verdict.baseline_curve;
    // Beyond longer thresholds the baseline has almost nothing left, and a few polls make any change.
    let greatest = whole.iter().map(|point| point.level).fold(0.0, f64::max);
    let is_shown = |point: &&AtThreshold| point.level >= greatest / 100.0;
    let baseline: Vec<&AtThreshold> = whole.iter().take_while(is_shown).collect();
    let level = |point: &AtThreshold| Some(ChartValue::exact(point.level));
    let change = |point: &AtThreshold| {
        let mean = point.change?;
        Some(ChartValue::new(
            mean.value(),
            Some(mean.interval(CONFIDENCE)),
        ))
    };
    let mut levels: Vec<Vec<_>> = vec![baseline.iter().copied().map(level).collect()];
    let mut changes = vec![vec![None; baseline.len()]];
    let mut series = vec![input.label(BASELINE).to_owned()];
    for candidate in shown {
        let points = || candidate.curve.iter().take(baseline.len());
        levels.push(points().map(level).collect());
        changes.push(points().map(change).collect());
        series.push(candidate.label.clone());
    }
    let info = Metric::BeyondMsPerS.info();
    let thresholds = baseline
        .iter()
        .map(|point| short(point.threshold_ns as f64 / 1e3));
    let chart = LineChart {
        is_apart: false,
        series,
        positions: Categories::new("threshold, µs", thresholds),
        panels: vec![
            LineChartPanel {
                axis: Axis::TwoDecades,
                ..panel(info.words, info.unit, levels)
            },
            LineChartPanel {
                axis: Axis::Free,
                ..panel(&format!("change of {}", info.words), "%", changes)
            },
        ],
    };
    let function = input.summary.function(verdict.site);
    let words = capitalised(info.words);
    let title = format!("{words} of {function}, by the threshold");
    let subtitle = "means over cells; bars: 95 % intervals of the mean change, each by itself; an arrow marks an end beyond the axis; values below 1 % of the greatest are left out";
    Some(input.picture(&["curve"], true, [title, subtitle.to_owned()], chart))
}

pub(crate) fn rr(summary: &Summary, options: &Options) -> ReportPicture {
    let name = |variant: &ComparedVariant| match variant.role {
        ComparedRole::Control => format!("{}: a second copy of the baseline", variant.label),
        _ => variant.label.clone(),
    };
    let cells: Vec<&CellSummary> = summary.measured_cells().collect();
    let panel_of = |metric: Metric| {
        let line = |variant| {
            let figures = cells.iter().map(|cell| cell.worker_figure(metric, variant));
            figures.map(|figure| figure.map(ChartValue::from)).collect()
        };
        let lines = (0..summary.variants.len()).map(line).collect();
        panel(metric.info().words, metric.info().unit, lines)
    };
    let payloads = cells.iter().map(|cell| {
        let payload = cell.cell().payload_bytes;
        payload.in_words()
    });
    let metrics = Metric::shown_in(ReportPart::RawTcp).into_iter();
    let chart = LineChart {
        is_apart: true,
        series: summary.variants.iter().map(name).collect(),
        panels: metrics.map(panel_of).collect(),
        positions: Categories::new("payload of the request and of the response", payloads),
    };
    let texts = [
        "A request by raw TCP and by libp2p: rate, CPU time, latency".to_owned(),
        "one request at a time with each peer; bars: 95 % intervals for this launch".to_owned(),
        summary.identity.line(),
    ];
    ReportPicture::new(&["rr"], true, texts, chart, options)
}

fn panel(name: &str, unit: &str, lines: Vec<Vec<Option<ChartValue>>>) -> LineChartPanel {
    LineChartPanel {
        name: name_with_unit(name, unit),
        axis: Axis::FromZero,
        lines,
    }
}

/// The number of points of a line. Each is the mean of several rows.
const POINTS: usize = 40;
/// The distance between two points that have their time below them.
const LABELLED: usize = 5;
const MOST_PANELS: usize = 5;

pub(crate) fn drift(drifts: &Drifts, small_print: String, options: &Options) -> ReportPicture {
    let mut shown: Vec<&Drift> = drifts.drifting().take(MOST_PANELS).collect();
    if shown.is_empty() {
        shown.extend(drifts.all.first());
    }
    let (seconds, unit) = time_unit(drifts.last_s);
    let label = |point: usize| match point % LABELLED {
        0 => number(point as f64 * drifts.last_s / seconds / POINTS as f64),
        _ => String::new(),
    };
    let names: Vec<&str> = shown.iter().map(|drift| drift.series.words).collect();
    let title = match drifts.drifting().count() {
        0 => "Nothing drifts".to_owned(),
        _ => format!("Drift of {}", names.join(", ")),
    };
    let words: Vec<String> = shown.iter().map(|drift| in_short(drift, drifts)).collect();
    let panels = shown
        .iter()
        .map(|drift| panel_of_drift(drift, drifts.last_s));
    let time = format!("time since all peers were connected, {unit}");
    let chart = LineChart {
        is_apart: true,
        series: vec!["measured".to_owned(), "trend (Sen's slope)".to_owned()],
        positions: Categories::new(time, (0..POINTS).map(label)),
        panels: panels.collect(),
    };
    let subtitle = format!("{}; each point: a mean over rows", words.join("; "));
    let texts = [title, subtitle, small_print];
    ReportPicture::new(&["drift"], true, texts, chart, options)
}

fn panel_of_drift(drift: &Drift, last_s: f64) -> LineChartPanel {
    let time_s = |position: usize| last_s * (position as f64 + 0.5) / POINTS as f64;
    let measured = |position: usize| {
        let is_here = |at_s: f64| (at_s / last_s * POINTS as f64).ceil() as usize == position + 1;
        let rows = drift.values.iter().filter(|(at_s, _)| is_here(*at_s));
        mean(rows.filter_map(|(_, value)| *value)).map(ChartValue::exact)
    };
    let ends = trend(drift);
    let on_trend = |position: usize| {
        let [(from_s, from), (to_s, to)] = ends?;
        let part = (time_s(position) - from_s) / (to_s - from_s);
        let value = ChartValue::exact(from + part * (to - from));
        (0.0..=1.0).contains(&part).then_some(value)
    };
    LineChartPanel {
        name: name_with_unit(drift.series.words, drift.series.unit),
        axis: Axis::Free,
        lines: vec![
            (0..POINTS).map(measured).collect(),
            (0..POINTS).map(on_trend).collect(),
        ],
    }
}

/// Returns words such as "+60.0 per hour [+59.1, +60.8]; 2.0 hours in all".
pub(crate) fn in_short(drift: &Drift, drifts: &Drifts) -> String {
    let how = match drift.slope() {
        Some(slope) if drift.is_drifting() => slope,
        Some(slope) => format!("no drift beyond noise: {slope}"),
        None => "too few rows to judge whether it drifts".to_owned(),
    };
    format!("{how}; {} in all", lasting(drifts.last_s))
}

/// The ends of the line through a series that drifts, in seconds. None without a drift, since a line through noise would look
/// like a trend.
pub(crate) fn trend(drift: &Drift) -> Option<[(f64, f64); 2]> {
    let trend = drift.trend.filter(|_| drift.is_drifting())?;
    let judged = || {
        let values = drift.values.iter();
        values.filter(|(at_s, value)| value.is_some() && *at_s > drift.warm_up_s)
    };
    let (first, last) = (judged().next()?.0, judged().next_back()?.0);
    Some([(first, trend.from), (last, trend.to)])
}

pub(crate) fn time_unit(last_s: f64) -> (f64, &'static str) {
    const ENOUGH: f64 = 2.0;
    let units = [(3600.0, "h"), (60.0, "min")].into_iter();
    let mut long_enough = units.filter(|(seconds, _)| last_s >= ENOUGH * seconds);
    long_enough.next().unwrap_or((1.0, "s"))
}
