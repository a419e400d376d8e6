//! Pictures of areas: grids and bars.

use super::invented::{
    Noise, PAYLOADS, PEERS, RTTS, around, caption, categories, cell, slow_share, strings,
};
use crate::charts::{
    BarGroup, CellValue, ColourScale, Colours, Facet, Heatmap, HeatmapCell, NoValue, Stacks,
    across_for,
};

pub(crate) fn heatmap(rows: usize, columns: usize, payloads: usize) -> Heatmap {
    let mut noise = Noise::new(7);
    let facet = |payload: usize| Facet {
        title: format!("payload {}", PAYLOADS[payload]),
        is_difference: false,
        cells: by_cell(rows, columns, |row, column| {
            resolved(cell(&mut noise, payload, row, column))
        }),
    };
    Heatmap {
        caption: caption(
            "Slow polls of the connection task without a budget",
            "share of polls over 50 µs; small: 95 % interval over runs and blocks",
        ),
        rows: categories("peers", &PEERS[..rows]),
        columns: categories("RTT, ms", &RTTS[..columns]),
        facets: (0..payloads).map(facet).collect(),
        across: across_for(payloads),
        scale: scale("slow polls of the task", 62.0, Colours::Sequential),
        difference_scale: None,
    }
}

pub(crate) fn before_after(rows: usize, columns: usize, payloads: usize) -> Heatmap {
    let mut noise = Noise::new(3);
    let facets = (0..payloads).flat_map(|payload| comparison(&mut noise, payload, rows, columns));
    let difference = scale("difference", 45.0, Colours::LowerIsBetter);
    Heatmap {
        caption: caption(
            "A budget of 2 in the muxer, with a deferred wake, against none",
            "share of slow polls of the task, %; difference in percentage points; small: 95 % interval",
        ),
        facets: facets.collect(),
        across: 3,
        difference_scale: Some(difference),
        ..heatmap(rows, columns, 0)
    }
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
        is_difference: name == "difference",
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

fn resolved(value: CellValue) -> HeatmapCell {
    HeatmapCell {
        value,
        is_resolved: true,
    }
}

fn scale(name: &str, max: f64, colours: Colours) -> ColourScale {
    ColourScale {
        name: name.to_owned(),
        unit: "%".to_owned(),
        max,
        colours,
    }
}

pub(crate) fn time_stacks() -> Stacks {
    let all = |shares: [f64; 6]| ("all polls", Some(shares.to_vec()));
    let slow = |shares: Option<[f64; 6]>| ("slow polls", shares.map(Vec::from));
    let groups = [
        vec![all([41.0, 22.4, 11.6, 9.0, 8.0, 8.0]), slow(None)],
        vec![
            all([63.0, 14.0, 9.2, 5.8, 3.0, 5.0]),
            slow(Some([84.0, 7.0, 4.0, 2.4, 0.6, 2.0])),
        ],
        vec![
            all([78.0, 9.0, 6.0, 3.0, 1.0, 3.0]),
            slow(Some([91.0, 4.2, 2.0, 1.2, 0.2, 1.4])),
        ],
    ];
    let groups = groups.into_iter().zip(PAYLOADS);
    let group = |(bars, name): (_, &str)| BarGroup {
        name: name.to_owned(),
        bars,
    };
    Stacks {
        caption: caption(
            "Where the time of polls goes",
            "time inside each child of the connection's loop",
        ),
        axis: "share of poll time, %".to_owned(),
        segments: strings(&[
            "muxing.poll_unpin",
            "handler.poll",
            "negotiating_out",
            "negotiating_in",
            "shutdown",
            "own code",
        ]),
        groups: groups.map(group).collect(),
    }
}
