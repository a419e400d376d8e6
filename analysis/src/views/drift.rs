//! The picture of a soak: what drifts. The page has every row of every series.

use super::scene::Entry;
use crate::charts::{Categories, ChartValue, LineChart, LineChartPanel, with_unit};
use crate::drift::{Drift, Drifts};
use crate::options::Options;
use crate::stats::mean;
use crate::text::{lasting, number};

/// Rows are averaged to so many points.
const POINTS: usize = 40;
/// Every so many points the time stands below.
const LABELLED: usize = 5;
const MOST_PANELS: usize = 5;

pub(crate) fn entry(drifts: &Drifts, small_print: String, options: &Options) -> Option<Entry> {
    let mut shown: Vec<&Drift> = drifts.drifting().take(MOST_PANELS).collect();
    if shown.is_empty() {
        shown.extend(drifts.all.first());
    }
    let (seconds, unit) = time_unit(drifts.last_s);
    let label = |at: usize| match at % LABELLED {
        0 => number(at as f64 * drifts.last_s / seconds / POINTS as f64),
        _ => String::new(),
    };
    let names: Vec<&str> = shown.iter().map(|drift| drift.series.words).collect();
    let title = match drifts.drifting().count() {
        0 => "Nothing drifts".to_owned(),
        _ => format!("Drift of {}", names.join(", ")),
    };
    let words: Vec<String> = shown.iter().map(|drift| in_short(drift, drifts)).collect();
    let panels = shown.iter().map(|drift| panel(drift, drifts.last_s));
    let time = format!("time since all peers were connected, {unit}");
    let chart = LineChart {
        series: vec!["measured".to_owned(), "trend (Sen's slope)".to_owned()],
        places: Categories::new(time, (0..POINTS).map(label)),
        panels: panels.collect(),
    };
    let subtitle = format!("{}; each point: a mean over rows", words.join("; "));
    let texts = [title, subtitle, small_print];
    (!shown.is_empty()).then(|| Entry::new(&["drift"], true, texts, chart, options))
}

fn panel(drift: &Drift, last_s: f64) -> LineChartPanel {
    let at = |place: usize| last_s * (place as f64 + 0.5) / POINTS as f64;
    let measured = |place: usize| {
        let is_here = |at_s: f64| (at_s / last_s * POINTS as f64).ceil() as usize == place + 1;
        let rows = drift.values.iter().filter(|(at_s, _)| is_here(*at_s));
        mean(rows.filter_map(|(_, value)| *value)).map(ChartValue::exact)
    };
    let trend = trend(drift);
    let on_trend = |place: usize| {
        let [from, to] = trend?;
        let part = (at(place) - from.0) / (to.0 - from.0);
        let value = ChartValue::exact(from.1 + part * (to.1 - from.1));
        (0.0..=1.0).contains(&part).then_some(value)
    };
    LineChartPanel {
        name: with_unit(drift.series.words, drift.series.unit),
        from_zero: false,
        lines: vec![
            (0..POINTS).map(measured).collect(),
            (0..POINTS).map(on_trend).collect(),
        ],
    }
}

/// "+60.0 per hour [+59.1, +60.8]; 2.0 hours in all"
pub(crate) fn in_short(drift: &Drift, drifts: &Drifts) -> String {
    let how = match drift.slope() {
        Some(slope) if drift.is_drifting() => slope,
        Some(slope) => format!("no drift beyond noise: {slope}"),
        None => "too few rows to judge whether it drifts".to_owned(),
    };
    format!("{how}; {} in all", lasting(drifts.last_s))
}

/// Its ends, in seconds. Only of a drift: a line through noise would look like a trend.
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
