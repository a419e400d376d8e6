//! Pictures of lines and points.

use super::invented::{Noise, PAYLOADS, around, axis, caption, categories, strings};
use crate::charts::{ChartValue, LineChart, LineChartPanel, ValueAxis};

pub(crate) fn lines() -> LineChart {
    LineChart {
        caption: caption(
            "A request by raw TCP and by libp2p",
            "one request at a time with each peer; bars: 95 % interval",
        ),
        series: strings(&["raw-tcp", "raw-tcp (A/A): a second copy", "libp2p"]),
        places: categories("payload of the request and of the response", &PAYLOADS),
        panels: vec![
            line_panel(
                axis("throughput", "requests/s", true),
                [9_000.0, 8_900.0, 4_000.0],
            ),
            line_panel(axis("latency p50", "µs", true), [110.0, 111.0, 260.0]),
        ],
    }
}

fn line_panel(axis: ValueAxis, levels: [f64; 3]) -> LineChartPanel {
    let mut noise = Noise::new(levels[0] as u64);
    let mut line = |level: f64| {
        let places = 0..PAYLOADS.len();
        places
            .map(|place| {
                let value = level * (1.0 + 0.1 * place as f64 + 0.05 * noise.next());
                // One is missing, and must not be drawn.
                (place != 2 || level != levels[1]).then(|| around(value, 0.08 * value))
            })
            .collect()
    };
    LineChartPanel {
        axis,
        marks: Vec::new(),
        lines: levels.map(&mut line).to_vec(),
    }
}

pub(crate) fn marks() -> LineChart {
    let labels = [
        "none (A/A)",
        "connection=128",
        "connection=8",
        "muxer=2",
        "muxer=1/deferred",
        "muxer=50us/deferred",
        "connection+muxer=coop",
        "task=4",
    ];
    let panel = |axis: ValueAxis, base: f64| {
        let mut noise = Noise::new(base as u64);
        let mut near = |part: f64| {
            let value = base * part * (1.0 + 0.04 * noise.next());
            around(value, 0.06 * base)
        };
        let marks: Vec<(usize, ChartValue)> = (0..labels.len())
            .map(|place| (place, near(1.0 - 0.1 * place as f64)))
            .collect();
        LineChartPanel {
            axis,
            marks,
            lines: Vec::new(),
        }
    };
    LineChart {
        caption: caption(
            "Effect of each variant over all cells",
            "each ring: the mean over cells; bars and bands: 95 % intervals",
        ),
        series: Vec::new(),
        places: categories("variant", &labels),
        panels: vec![
            panel(axis("slow polls", "%", true), 10.0),
            panel(
                axis("change of co-tenant wake-up latency, p99", "%", true),
                80.0,
            ),
        ],
    }
}
