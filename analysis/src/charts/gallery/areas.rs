//! Views of areas: grids and bars.

use super::grids::{Noise, PAYLOADS, around, caption, cell, peers, rtts, slow_scale, slow_share};
use crate::charts::{
    Bar, BarGroup, BeforeAfter, Better, CellValue, Comparison, Difference, DifferenceScale, Facet,
    Heatmap, Mapping, Palette, Stacks,
};

pub(crate) fn heatmap(rows: usize, columns: usize, payloads: usize) -> Heatmap {
    let mut noise = Noise::new(7);
    let mut facet = |payload: usize| Facet {
        title: format!("payload {}", PAYLOADS[payload]),
        cells: (0..rows)
            .map(|row| {
                (0..columns)
                    .map(|column| cell(&mut noise, payload, row, column))
                    .collect()
            })
            .collect(),
    };
    Heatmap {
        caption: caption(
            "Slow polls of the connection task without a budget",
            "share of polls over 50 µs; small: 95 % interval over runs and blocks",
        ),
        rows: peers(rows),
        columns: rtts(columns),
        facets: (0..payloads).map(&mut facet).collect(),
        scale: slow_scale(),
    }
}

pub(crate) fn before_after(rows: usize, columns: usize, payloads: usize) -> BeforeAfter {
    let mut noise = Noise::new(3);
    BeforeAfter {
        caption: caption(
            "A budget of 2 in the muxer, with a deferred wake, against none",
            "share of slow polls of the task, %; difference in percentage points; small: 95 % interval",
        ),
        rows: peers(rows),
        columns: rtts(columns),
        names: ["none".to_owned(), "muxer=2, deferred".to_owned()],
        payloads: (0..payloads)
            .map(|payload| comparison(&mut noise, payload, rows, columns))
            .collect(),
        scale: slow_scale(),
        difference_scale: DifferenceScale {
            name: "difference".to_owned(),
            unit: "percentage points".to_owned(),
            limit: 45.0,
            mapping: Mapping::SquareRoot,
            better: Better::Lower,
        },
    }
}

fn comparison(noise: &mut Noise, payload: usize, rows: usize, columns: usize) -> Comparison {
    let mut lines: [Vec<Vec<CellValue>>; 2] = [vec![Vec::new(); rows], vec![Vec::new(); rows]];
    let mut difference = vec![Vec::new(); rows];
    for row in 0..rows {
        for column in 0..columns {
            let before = slow_share(noise, payload, row, column);
            let after = before
                * if payload == 0 {
                    1.1 + 0.3 * noise.next()
                } else {
                    0.25
                };
            let values =
                [before, after].map(|value| CellValue::Measured(around(value, 0.07 * value)));
            let change = after - before;
            let half = 0.1 * before + 0.1;
            let failed = (payload, row, column) == (1, 1, 2);
            lines[0][row].push(values[0]);
            lines[1][row].push(if failed { CellValue::Failed } else { values[1] });
            difference[row].push(Difference {
                value: if failed {
                    CellValue::NotApplicable
                } else {
                    CellValue::Measured(around(change, half))
                },
                resolved: change.abs() > half,
            });
        }
    }
    let [before, after] = lines;
    Comparison {
        payload: PAYLOADS[payload].to_owned(),
        before,
        after,
        difference,
    }
}

pub(crate) fn time_stacks() -> Stacks {
    let bar = |name: &str, shares: &[f64], count: &str| Bar {
        name: name.to_owned(),
        shares: Some(shares.to_vec()),
        note: format!("n = {count}"),
    };
    let none = Bar {
        name: "slow polls".to_owned(),
        shares: None,
        note: "no slow poll was seen".to_owned(),
    };
    let groups = [
        (
            "4 KiB",
            vec![
                bar("all polls", &[41.0, 22.4, 11.6, 9.0, 8.0, 8.0], "2.41M"),
                none,
            ],
        ),
        (
            "64 KiB",
            vec![
                bar("all polls", &[63.0, 14.0, 9.2, 5.8, 3.0, 5.0], "812k"),
                bar("slow polls", &[84.0, 7.0, 4.0, 2.4, 0.6, 2.0], "41.2k"),
            ],
        ),
        (
            "256 KiB",
            vec![
                bar("all polls", &[78.0, 9.0, 6.0, 3.0, 1.0, 3.0], "301k"),
                bar("slow polls", &[91.0, 4.2, 2.0, 1.2, 0.2, 1.4], "38.9k"),
            ],
        ),
    ];
    Stacks {
        caption: caption(
            "Where the time of polls goes",
            "time inside each child of the connection's loop",
        ),
        axis: "share of poll time, %".to_owned(),
        segments: [
            "muxing.poll_unpin",
            "handler.poll",
            "negotiating_out",
            "negotiating_in",
            "shutdown",
            "own code",
        ]
        .map(str::to_owned)
        .to_vec(),
        palette: Palette::Kinds,
        groups: groups
            .into_iter()
            .map(|(name, bars)| BarGroup {
                name: name.to_owned(),
                bars,
            })
            .collect(),
    }
}

pub(crate) fn iteration_stacks() -> Stacks {
    let mut stacks = time_stacks();
    stacks.caption = caption("How often the connection's loop goes round", "");
    stacks.axis = "share of polls, %".to_owned();
    stacks.segments = ["1", "2", "3–4", "5–8", "9 or more iterations"]
        .map(str::to_owned)
        .to_vec();
    stacks.palette = Palette::Ordered;
    for bar in stacks.groups.iter_mut().flat_map(|group| &mut group.bars) {
        bar.shares = bar
            .shares
            .as_ref()
            .map(|_| vec![52.0, 31.0, 12.4, 4.1, 0.5]);
    }
    stacks
}
