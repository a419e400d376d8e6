//! Pictures of areas: grids and bars.

use super::invented::{
    Noise, PAYLOADS, PEERS, RTTS, around, categories, cell, picture, slow_share,
};
use crate::charts::{
    ChartValue, ColourScale, Colours, Facet, Heatmap, HeatmapCell, NoValue, Picture,
};

pub(crate) fn heatmap(rows: usize, columns: usize, payloads: usize) -> Picture {
    let mut noise = Noise::new(7);
    let facet = |payload: usize| Facet {
        title: format!("payload {}", PAYLOADS[payload]),
        scale: 0,
        cells: by_cell(rows, columns, |row, column| {
            resolved(cell(&mut noise, payload, row, column))
        }),
    };
    picture(
        "Slow polls of the connection task without a budget",
        "share of polls over 50 µs; small: 95 % interval over runs and blocks",
        Heatmap {
            rows: categories("peers", &PEERS[..rows]),
            columns: categories("RTT, ms", &RTTS[..columns]),
            facets: (0..payloads).map(facet).collect(),
            across: payloads.clamp(1, 3),
            scales: vec![scale("slow polls of the task", 62.0, Colours::Sequential)],
        },
    )
}

pub(crate) fn before_after(rows: usize, columns: usize, payloads: usize) -> Picture {
    let mut noise = Noise::new(3);
    let facets = (0..payloads).flat_map(|payload| comparison(&mut noise, payload, rows, columns));
    picture(
        "A budget of 2 in the muxer, with a deferred wake, against none",
        "share of slow polls of the task, %; difference in percentage points; small: 95 % interval",
        Heatmap {
            rows: categories("peers", &PEERS[..rows]),
            columns: categories("RTT, ms", &RTTS[..columns]),
            facets: facets.collect(),
            across: 3,
            scales: vec![
                scale("slow polls of the task", 62.0, Colours::Sequential),
                scale("difference", 45.0, Colours::LowerIsBetter),
            ],
        },
    )
}

fn comparison(noise: &mut Noise, payload: usize, rows: usize, columns: usize) -> [Facet; 3] {
    let shares = by_cell(rows, columns, |row, column| {
        let before = slow_share(noise, payload, row, column);
        let ratio = if payload == 0 {
            1.1 + 0.3 * noise.next()
        } else {
            0.25
        };
        (before, before * ratio)
    });
    let is_failed = |row, column| (payload, row, column) == (1, 1, 2);
    let facet = |name: &str, cell: &dyn Fn(usize, usize) -> HeatmapCell| Facet {
        title: format!("{}: {name}", PAYLOADS[payload]),
        scale: usize::from(name == "difference"),
        cells: by_cell(rows, columns, cell),
    };
    let measured = |value: f64| resolved(Ok(around(value, 0.07 * value)));
    [
        facet("none", &|row, column| measured(shares[row][column].0)),
        facet("muxer=2, deferred", &|row, column| {
            if is_failed(row, column) {
                return resolved(Err(NoValue::Failed));
            }
            measured(shares[row][column].1)
        }),
        facet("difference", &|row, column| {
            if is_failed(row, column) {
                return resolved(Err(NoValue::NotApplicable));
            }
            let (before, after) = shares[row][column];
            let half = 0.1 * before + 0.1;
            HeatmapCell {
                value: Ok(around(after - before, half)),
                is_resolved: (after - before).abs() > half,
            }
        }),
    ]
}

fn by_cell<T>(rows: usize, columns: usize, mut cell: impl FnMut(usize, usize) -> T) -> Vec<Vec<T>> {
    let mut row = |row| (0..columns).map(|column| cell(row, column)).collect();
    (0..rows).map(&mut row).collect()
}

fn resolved(value: Result<ChartValue, NoValue>) -> HeatmapCell {
    HeatmapCell {
        value,
        is_resolved: true,
    }
}

fn scale(name: &str, max: f64, colours: Colours) -> ColourScale {
    ColourScale::new(name, "%", colours, [max].into_iter())
}

pub(crate) fn time_by_child() -> Picture {
    let children = [
        "muxing.poll_unpin",
        "handler.poll",
        "negotiating_out",
        "negotiating_in",
        "shutdown",
        "own code",
    ];
    let all = [
        [41.0, 22.4, 11.6, 9.0, 8.0, 8.0],
        [63.0, 14.0, 9.2, 5.8, 3.0, 5.0],
        [78.0, 9.0, 6.0, 3.0, 1.0, 3.0],
    ];
    let slow = [
        None,
        Some([84.0, 7.0, 4.0, 2.4, 0.6, 2.0]),
        Some([91.0, 4.2, 2.0, 1.2, 0.2, 1.4]),
    ];
    let facet = |title: &str, shares: [Option<[f64; 6]>; 3]| Facet {
        title: title.to_owned(),
        scale: 0,
        cells: by_cell(children.len(), PAYLOADS[..3].len(), |row, column| {
            let share = shares[column].map(|shares| ChartValue::exact(shares[row]));
            resolved(share.ok_or(NoValue::NotApplicable))
        }),
    };
    picture(
        "Where the time of polls goes",
        "time inside each child of the connection's loop",
        Heatmap {
            rows: categories("child", &children),
            columns: categories("payload", &PAYLOADS[..3]),
            facets: vec![facet("all polls", all.map(Some)), facet("slow polls", slow)],
            across: 2,
            scales: vec![scale("share of poll time", 91.0, Colours::Sequential)],
        },
    )
}
