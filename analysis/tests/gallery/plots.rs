//! Pictures of lines and points.

use super::invented::{Noise, PAYLOADS, PEERS, RTTS, around, axis, caption, categories, series};
use crate::charts::{
    ChartValue, LineChart, LineChartPanel, PanelLayout, TimeSeries, TradeOff, TradePoint,
    TrendLine, ValueAxis,
};

pub(crate) fn budget_curve() -> LineChart {
    LineChart {
        caption: caption(
            "Tighter budgets: what they gain and what they cost",
            "15 peers, RTT 0 ms, 256 KiB; bars: 95 % interval",
        ),
        layout: PanelLayout::OneBelowTheOther,
        series: series(&[
            "connection, immediate",
            "muxer, immediate",
            "muxer, deferred",
        ]),
        baseline_name: "none".to_owned(),
        marks_name: "none again (A/A)".to_owned(),
        panels: vec![
            budget_panel(axis("slow polls", "%", true), 10.0, [0.98, 0.2, 0.15], 0.08),
            budget_panel(
                axis("co-tenant p99", "µs", true),
                682.0,
                [1.0, 0.99, 0.4],
                0.06,
            ),
            budget_panel(
                axis("throughput", "MB/s", false),
                512.0,
                [1.0, 0.985, 0.962],
                0.012,
            ),
            budget_panel(
                axis("polls", "per request", true),
                4.1,
                [1.0, 1.9, 2.1],
                0.03,
            ),
        ],
    }
}

fn budget_panel(axis: ValueAxis, base: f64, ends: [f64; 3], spread: f64) -> LineChartPanel {
    let mut noise = Noise::new(base as u64);
    let mut near = |value: f64| {
        let seen = value * (1.0 + 0.5 * spread * noise.next());
        around(seen, value * spread)
    };
    let mut line = |end: f64, from: usize| -> Vec<Option<ChartValue>> {
        let value = |place: usize| base * (1.0 + (end - 1.0) * (place as f64 / 5.0));
        let places = 0..6;
        places
            .map(|place| (place >= from).then(|| near(value(place))))
            .collect()
    };
    let lines = vec![line(ends[0], 1), line(ends[1], 2), line(ends[2], 2)];
    LineChartPanel {
        title: String::new(),
        places: categories(
            "budget, iterations per poll",
            &["none", "128", "8", "4", "2", "1"],
        ),
        axis,
        baseline: Some(near(base)),
        marks: vec![(0, near(base))],
        lines,
    }
}

pub(crate) fn effects() -> LineChart {
    let panel = |title: &str, labels: &[&str], slope: f64| LineChartPanel {
        title: format!("effect of {title}"),
        places: categories(title, labels),
        axis: axis("slow polls of the task", "%", true),
        baseline: None,
        marks: Vec::new(),
        lines: effect_lines(labels.len(), slope),
    };
    LineChart {
        caption: caption(
            "What RTT, payload and number of peers do to slow polls",
            "mean over the other two axes; bars: 95 % interval",
        ),
        layout: PanelLayout::SideBySide,
        series: series(&[
            "none",
            "none again (A/A)",
            "connection=8",
            "muxer=2",
            "muxer=1, deferred",
        ]),
        panels: vec![
            panel("RTT, ms", &RTTS[..6], 0.25),
            panel("payload", &PAYLOADS[..4], 0.8),
            panel("peers", &PEERS[..5], -0.1),
        ],
        ..budget_curve()
    }
}

fn effect_lines(places: usize, slope: f64) -> Vec<Vec<Option<ChartValue>>> {
    let mut noise = Noise::new(places as u64);
    let mut line = |level: f64| {
        let places = 0..places;
        places
            .map(|place| {
                let value = level * (1.0 + slope * place as f64) * (1.0 + 0.05 * noise.next());
                // One is missing, and must not be drawn.
                (place != 2 || level > 3.0).then(|| around(value, 0.08 * value))
            })
            .collect()
    };
    [10.0, 9.7, 9.9, 2.5, 1.2].map(&mut line).to_vec()
}

pub(crate) fn trade_off() -> TradeOff {
    let points = [
        ("none again (A/A)", [-0.4, 2.1, 1.2, 4.0]),
        ("connection=128", [0.3, 1.9, 1.0, 3.5]),
        ("connection=8", [-0.2, 2.2, -1.0, 4.2]),
        ("muxer=4", [-0.9, 2.4, -6.0, 6.0]),
        ("muxer=2", [-1.8, 2.2, 12.0, 7.0]),
        ("muxer=1", [-1.3, 2.2, -6.0, 6.0]),
        ("muxer=2, deferred", [-2.9, 2.0, -48.0, 5.0]),
        ("muxer=1, deferred", [-3.6, 2.1, -59.5, 4.0]),
    ];
    let point = |(slot, (name, [x, x_half, y, y_half])): (usize, (&str, [f64; 4]))| TradePoint {
        name: name.to_owned(),
        slot,
        x: around(x, x_half),
        y: around(y, y_half),
    };
    TradeOff {
        caption: caption(
            "What a budget gains the co-tenant and costs in throughput",
            "change against none over all cells; bars: 95 % interval",
        ),
        x: axis("change of throughput", "%", true),
        y: axis("change of co-tenant p99", "%", true),
        good_corner: "better: more throughput, lower latency".to_owned(),
        points: points.into_iter().enumerate().map(point).collect(),
    }
}

/// A night of memory that grows, with a gap.
pub(crate) fn time_series(count: usize) -> TimeSeries {
    let mut noise = Noise::new(count as u64);
    let hours = |row: usize| 8.0 * (row + 1) as f64 / count as f64;
    let points = (0..count).map(|row| {
        let value = 57.0 + 0.4 * hours(row) + 0.3 * noise.next();
        (hours(row), (row % 50 != 7).then_some(value))
    });
    TimeSeries {
        caption: caption(
            "Drift of resident memory",
            "+0.40 MiB per hour [+0.38, +0.42], p < 0.001; around 58.6 MiB",
        ),
        axis: axis("resident memory", "MiB", false),
        time_unit: "h".to_owned(),
        points: points.collect(),
        warm_up: 0.5,
        trend: Some(TrendLine {
            from: (0.5, 57.2),
            to: (8.0, 60.2),
            name: "trend, +0.40 MiB per hour".to_owned(),
        }),
    }
}
