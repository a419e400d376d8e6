//! Views of lines and points.

use super::grids::{Noise, PAYLOADS, around, caption};
use crate::charts::{
    Better, BudgetCurve, BudgetPanel, Categories, CurvePanel, EffectPanel, Effects, Estimate,
    PercentileCurves, Quantity, Series, Threshold, TimeSeries, TradeOff, TradePoint, TrendLine,
};

pub(crate) fn quantity(name: &str, unit: &str, from_zero: bool) -> Quantity {
    Quantity {
        name: name.to_owned(),
        unit: unit.to_owned(),
        from_zero,
    }
}

fn series(names: &[&str]) -> Vec<Series> {
    names
        .iter()
        .enumerate()
        .map(|(slot, name)| Series {
            name: (*name).to_owned(),
            slot,
        })
        .collect()
}

pub(crate) fn budget_curve() -> BudgetCurve {
    let labels = ["none", "128", "8", "4", "2", "1"]
        .map(str::to_owned)
        .to_vec();
    BudgetCurve {
        caption: caption(
            "Tighter budgets: what they gain and what they cost",
            "15 peers, RTT 0 ms, 256 KiB; bars: 95 % interval",
        ),
        budgets: Categories {
            name: "budget, iterations per poll".to_owned(),
            labels,
        },
        series: series(&[
            "connection, immediate",
            "muxer, immediate",
            "muxer, deferred",
        ]),
        baseline_name: "none".to_owned(),
        twin_name: "none again (A/A)".to_owned(),
        panels: vec![
            budget_panel(
                quantity("slow polls", "%", true),
                10.0,
                [0.98, 0.2, 0.15],
                0.08,
            ),
            budget_panel(
                quantity("co-tenant p99", "µs", true),
                682.0,
                [1.0, 0.99, 0.4],
                0.06,
            ),
            budget_panel(
                quantity("throughput", "MB/s", false),
                512.0,
                [1.0, 0.985, 0.962],
                0.012,
            ),
            budget_panel(
                quantity("polls", "per request", true),
                4.1,
                [1.0, 1.9, 2.1],
                0.03,
            ),
        ],
    }
}

fn budget_panel(quantity: Quantity, base: f64, ends: [f64; 3], noise_level: f64) -> BudgetPanel {
    let mut noise = Noise::new(base as u64);
    let mut near = |value: f64| {
        around(
            value * (1.0 + 0.5 * noise_level * noise.next()),
            value * noise_level,
        )
    };
    let mut line = |end: f64, from: usize| -> Vec<Option<Estimate>> {
        (0..6)
            .map(|place| {
                (place >= from).then(|| near(base * (1.0 + (end - 1.0) * (place as f64 / 5.0))))
            })
            .collect()
    };
    let lines = vec![line(ends[0], 1), line(ends[1], 2), line(ends[2], 2)];
    BudgetPanel {
        quantity,
        baseline: Some(near(base)),
        twin: Some(near(base)),
        lines,
    }
}

pub(crate) fn trade_off() -> TradeOff {
    let points = [
        ("none again (A/A)", -0.4, 1.2, 2.1, 4.0),
        ("connection=128", 0.3, 1.0, 1.9, 3.5),
        ("connection=8", -0.2, -1.0, 2.2, 4.2),
        ("muxer=4", -0.9, -6.0, 2.4, 6.0),
        ("muxer=2", -1.8, 12.0, 2.2, 7.0),
        ("muxer=1", -1.3, -6.0, 2.2, 6.0),
        ("muxer=2, deferred", -2.9, -48.0, 2.0, 5.0),
        ("muxer=1, deferred", -3.6, -59.5, 2.1, 4.0),
    ];
    TradeOff {
        caption: caption(
            "What a budget gains the co-tenant and costs in throughput",
            "change against none over all cells; bars: 95 % interval",
        ),
        x: quantity("change of throughput", "%", true),
        y: quantity("change of co-tenant p99", "%", true),
        x_better: Better::Higher,
        y_better: Better::Lower,
        good_corner: "better: more throughput, shorter delay".to_owned(),
        points: points
            .iter()
            .enumerate()
            .map(|(slot, (name, x, y, half_x, half_y))| TradePoint {
                name: (*name).to_owned(),
                slot,
                x: around(*x, *half_x),
                y: around(*y, *half_y),
            })
            .collect(),
    }
}

pub(crate) fn percentile_curves(count: usize) -> PercentileCurves {
    let names = ["none", "connection=8", "muxer=2", "muxer=1, deferred"];
    let panel = |cell: usize| CurvePanel {
        title: format!(
            "15 peers, RTT {} ms, {}",
            [0, 5, 50, 200][cell],
            PAYLOADS[1 + cell % 2]
        ),
        curves: [1.0, 0.97, 0.4, 0.28]
            .map(|reach| curve(reach * (1.0 + 0.4 * cell as f64)))
            .to_vec(),
    };
    PercentileCurves {
        caption: caption(
            "How long a poll of the connection task takes",
            "each further nine is as far as the one before",
        ),
        quantity: quantity("poll", "µs", false),
        series: series(&names),
        panels: (0..count).map(panel).collect(),
        threshold: Threshold {
            value: 50.0,
            label: "slow: 50 µs".to_owned(),
        },
    }
}

fn curve(reach: f64) -> Vec<(f64, f64)> {
    (0..220)
        .map(|step| {
            let nines = f64::from(step) / 50.0;
            let steps = (nines * 1.7 + 0.4 * (nines * 3.0).sin()).max(0.0);
            (
                1.0 - 10_f64.powf(-nines),
                2.5 + 6.0 * reach * (steps.exp2() - 1.0) * 1.8,
            )
        })
        .chain([(1.0, 9000.0)])
        .collect()
}

pub(crate) fn effects() -> Effects {
    let names = [
        "none",
        "none again (A/A)",
        "connection=8",
        "muxer=2",
        "muxer=1, deferred",
    ];
    let panel = |title: &str, name: &str, labels: &[&str], slope: f64| EffectPanel {
        title: title.to_owned(),
        places: Categories {
            name: name.to_owned(),
            labels: labels.iter().map(ToString::to_string).collect(),
        },
        lines: effect_lines(labels.len(), slope),
    };
    Effects {
        caption: caption(
            "What RTT, payload and number of peers do to slow polls",
            "mean over the other two axes; bars: 95 % interval",
        ),
        quantity: quantity("slow polls of the task", "%", true),
        series: series(&names),
        panels: vec![
            panel(
                "effect of RTT",
                "RTT, ms",
                &["0", "5", "25", "50", "100", "200"],
                0.25,
            ),
            panel(
                "effect of payload",
                "payload",
                &["4 KiB", "64 KiB", "256 KiB", "1 MiB"],
                0.8,
            ),
            panel(
                "effect of peers",
                "peers",
                &["1", "2", "5", "10", "15"],
                -0.1,
            ),
        ],
    }
}

fn effect_lines(places: usize, slope: f64) -> Vec<Vec<Option<Estimate>>> {
    let mut noise = Noise::new(places as u64);
    [10.0, 9.7, 9.9, 2.5, 1.2]
        .map(|level: f64| {
            (0..places)
                .map(|place| level * (1.0 + slope * place as f64) * (1.0 + 0.05 * noise.next()))
                .enumerate()
                // One is not there, and must not be drawn as anything.
                .map(|(place, value)| {
                    (place != 2 || level > 3.0).then(|| around(value, 0.08 * value))
                })
                .collect()
        })
        .to_vec()
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
        quantity: quantity("resident memory", "MiB", false),
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
