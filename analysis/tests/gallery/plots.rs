//! Pictures of lines and points.

use super::invented::{Noise, PAYLOADS, around, categories, picture, strings};
use crate::charts::{Axis, LineChart, LineChartPanel, Picture};

pub(crate) fn lines(panels: usize) -> Picture {
    let mut all = vec![
        line_panel("throughput, requests/s", [9_000.0, 8_900.0, 4_000.0]),
        line_panel("latency p50, µs", [110.0, 111.0, 260.0]),
    ];
    all.truncate(panels);
    picture(
        "A request by raw TCP and by libp2p",
        "one request at a time with each peer; bars: 95 % interval",
        LineChart {
            is_apart: true,
            series: strings(&["raw-tcp", "raw-tcp (A/A): a second copy", "libp2p"]),
            places: categories("payload of the request and of the response", &PAYLOADS),
            panels: all,
        },
    )
}

fn line_panel(name: &str, levels: [f64; 3]) -> LineChartPanel {
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
        name: name.to_owned(),
        axis: Axis::FromZero,
        lines: levels.map(&mut line).to_vec(),
    }
}

pub(crate) fn marks() -> Picture {
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
    let panel = |name: &str, base: f64| {
        let mut noise = Noise::new(base as u64);
        let mut near = |part: f64| {
            let value = base * part * (1.0 + 0.04 * noise.next());
            around(value, 0.06 * base)
        };
        let marks = (0..labels.len()).map(|place| Some(near(1.0 - 0.1 * place as f64)));
        LineChartPanel {
            name: name.to_owned(),
            axis: Axis::FromZero,
            lines: vec![marks.collect()],
        }
    };
    picture(
        "Effect of each variant over all cells",
        "each dot: the mean over cells; bars and bands: 95 % intervals",
        LineChart {
            is_apart: true,
            series: Vec::new(),
            places: categories("variant", &labels),
            panels: vec![
                panel("slow polls, %", 10.0),
                panel("change of co-tenant wake-up latency, p99, %", 80.0),
            ],
        },
    )
}
