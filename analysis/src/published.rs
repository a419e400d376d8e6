//! The table of the first published benchmark: a row per cell, of one run each, with poll counts and
//! percentiles but nothing that says how certain they are.

use std::{collections::BTreeMap, fs, io::Cursor, path::Path};

use anyhow::{Context, Result, anyhow, bail};
use polars::prelude::*;
use polars_io::{SerReader, csv::read::CsvReadOptions};

use crate::{
    failure::{Failure, bad_input},
    grid::{Axes, Cell},
    load::variant::{Role, Variant},
    measure::{
        State,
        checks::Checks,
        metric::{Metric, What},
    },
    options::Options,
    site::Site,
    summary::{CellSummary, Figure, Summary, identity::Identity},
};

/// The only threshold that those figures know.
const THRESHOLD_NS: u64 = 50_000;

/// The columns that are used, all of them numbers.
const COLUMNS: [&str; 12] = [
    "n_peers",
    "rtt_ms",
    "payload",
    "poll_p99_us",
    "poll_samples",
    "poll_slow_count",
    "swarm_poll_p99_us",
    "swarm_poll_samples",
    "swarm_poll_slow_count",
    "ct_total_poll_count",
    "ct_total_slow_poll_count",
    "total_rps",
];

/// Reads it as a sweep of one variant without a budget.
pub(crate) fn read(path: &Path, options: &Options) -> Result<Summary, Failure> {
    if options.threshold != THRESHOLD_NS {
        return Err(bad_input(anyhow!(
            "--threshold: published figures count polls over 50us only"
        )));
    }
    let rows = rows(path)
        .with_context(|| path.display().to_string())
        .map_err(bad_input)?;
    let name = path
        .file_stem()
        .map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let mut cells: Vec<CellSummary> = rows.iter().map(cell).collect();
    let axes = Axes::of(cells.iter().map(|cell| &cell.cell));
    let grid = axes.cells();
    cells.sort_by_key(|cell| grid.iter().position(|it| *it == cell.cell));
    Ok(Summary {
        identity: Identity {
            name,
            backends: Vec::new(),
            manifest: None,
        },
        axes,
        variants: vec![Variant {
            label: "none".to_owned(),
            role: Role::Baseline,
            budgets: "none".to_owned(),
            subject: 0,
        }],
        cells,
        calibrations: BTreeMap::new(),
    })
}

/// A row by column.
type Row = BTreeMap<&'static str, f64>;

fn rows(path: &Path) -> Result<Vec<Row>> {
    let text = fs::read(path)?;
    let frame = CsvReadOptions::default()
        .with_has_header(true)
        .with_infer_schema_length(None)
        .into_reader_with_file_handle(Cursor::new(text))
        .finish()
        .map_err(|error| anyhow!("{}", error.to_string().lines().next().unwrap_or_default()))?;
    let mut rows = vec![Row::new(); frame.height()];
    for name in COLUMNS {
        let column = frame
            .column(name)
            .map_err(|_| anyhow!("not a published table: column {name} is missing"))?;
        let numbers = column
            .strict_cast(&DataType::Float64)
            .map_err(|_| anyhow!("column {name} is not one of numbers"))?;
        for (at, number) in numbers.f64()?.iter().enumerate() {
            let number = number.filter(|number| *number >= 0.0);
            let number =
                number.ok_or_else(|| anyhow!("line {}: {name} is absent or negative", at + 2))?;
            rows[at].insert(name, number);
        }
    }
    if rows.is_empty() {
        bail!("it has no rows");
    }
    refuse_repetition(&rows)?;
    Ok(rows)
}

fn refuse_repetition(rows: &[Row]) -> Result<()> {
    for (at, row) in rows.iter().enumerate() {
        let cell = grid_point(row);
        if rows[..at].iter().any(|other| grid_point(other) == cell) {
            bail!("line {}: the cell {cell} is there twice", at + 2);
        }
    }
    Ok(())
}

fn grid_point(row: &Row) -> Cell {
    Cell {
        peers: row["n_peers"] as u32,
        rtt_ms: row["rtt_ms"],
        payload_bytes: row["payload"] as u64,
    }
}

fn cell(row: &Row) -> CellSummary {
    const PERCENT: f64 = 100.0;
    let share = |slow: &str, all: &str| (row[all] > 0.0).then(|| PERCENT * row[slow] / row[all]);
    let mut figures = BTreeMap::new();
    let mut put = |site: Site, metric: Metric, value: Option<f64>| {
        let figure = value.map(|value| Figure {
            value,
            interval: None,
            level: None,
            change: None,
        });
        figures.insert(What::of(site, metric), vec![figure]);
    };
    put(
        Site::Connection,
        Metric::SlowPercent,
        share("poll_slow_count", "poll_samples"),
    );
    put(
        Site::Connection,
        Metric::PollP99Us,
        Some(row["poll_p99_us"]),
    );
    put(
        Site::Swarm,
        Metric::SlowPercent,
        share("swarm_poll_slow_count", "swarm_poll_samples"),
    );
    put(
        Site::Swarm,
        Metric::PollP99Us,
        Some(row["swarm_poll_p99_us"]),
    );
    put(
        Site::Task,
        Metric::SlowPercent,
        share("ct_total_slow_poll_count", "ct_total_poll_count"),
    );
    put(
        Site::Connection,
        Metric::RequestsPerS,
        Some(row["total_rps"]),
    );
    CellSummary {
        cell: grid_point(row),
        state: State::Measured,
        flaws: Vec::new(),
        runs: 1,
        blocks: 0,
        at_cap: false,
        slow_polls: BTreeMap::new(),
        figures,
        checks: Checks::default(),
        breakdown: None,
        curves: Vec::new(),
    }
}
