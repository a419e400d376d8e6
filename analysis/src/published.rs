//! The table of the first published benchmark. It has one row and one run per cell, with poll counts and
//! percentiles but no uncertainties.

use std::{collections::BTreeMap, path::Path};

use anyhow::{Context, Result, anyhow, bail};
use program::{Failure, bad_input, reject};
use run_format::{
    Budgets, Site,
    config::SLOW_NS,
    files,
    grid::{Axes, Cell},
    network::Rtt,
    payload::Payload,
    variant::Role,
};

use crate::{
    load::{compared::ComparedVariant, table_name},
    measure::metric::{Metric, MetricKey},
    options::Options,
    site::SiteNames,
    stats::BareEstimate,
    summary::{CellFigure, CellSummary, Summary, identity::Identity},
};

/// The columns that are used. All have numbers.
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

pub(crate) fn read(path: &Path, options: &Options) -> Result<Summary, Failure> {
    if options.figures.threshold != SLOW_NS {
        reject!("--threshold: a published table only counts polls over 50us");
    }
    let text = files::read(path).map_err(bad_input)?;
    let mut cells = rows(&text)
        .and_then(|rows| cells(&rows))
        .with_context(|| path.display().to_string())
        .map_err(bad_input)?;
    let name = table_name(path);
    let axes = Axes::of(cells.iter().map(|cell| &cell.measured.cell));
    let grid = axes.cells();
    cells.sort_by_key(|cell| grid.iter().position(|it| *it == cell.measured.cell));
    Ok(Summary {
        identity: Identity {
            name,
            backends: Vec::new(),
            hosts: Vec::new(),
            real_network: None,
            manifest: None,
            sites: SiteNames::of(None),
            took_ms: 0,
            unsealed: 0,
        },
        axes,
        variants: vec![ComparedVariant {
            label: "none".to_owned(),
            role: Role::Baseline,
            budgets: Budgets::NONE,
            subject: 0,
        }],
        cells,
        calibrations: BTreeMap::new(),
    })
}

type PublishedRow = BTreeMap<&'static str, f64>;

fn rows(text: &[u8]) -> Result<Vec<PublishedRow>> {
    let mut reader = csv::Reader::from_reader(text);
    let header = reader.headers()?.clone();
    let mut places = Vec::new();
    for name in COLUMNS {
        let place = header.iter().position(|it| it == name);
        let place = place
            .with_context(|| format!("this is not a published table: column {name} is missing"))?;
        places.push((name, place));
    }
    let mut rows = Vec::new();
    for (at, record) in reader.records().enumerate() {
        let record = record?;
        let field = |&(name, place): &(&'static str, usize)| {
            let number = record.get(place).and_then(|field| field.parse().ok());
            let number = number.filter(|number: &f64| number.is_finite() && *number >= 0.0);
            number
                .map(|number| (name, number))
                .with_context(|| format!("line {}: {name} is not a number from zero up", at + 2))
        };
        rows.push(places.iter().map(field).collect::<Result<_>>()?);
    }
    if rows.is_empty() {
        bail!("the table has no rows");
    }
    Ok(rows)
}

fn cells(rows: &[PublishedRow]) -> Result<Vec<CellSummary>> {
    let mut cells: Vec<CellSummary> = Vec::new();
    for (at, row) in rows.iter().enumerate() {
        let line = || format!("line {}", at + 2);
        let cell = Cell {
            peers: row["n_peers"] as usize,
            rtt_ms: Rtt::from_ms(row["rtt_ms"]).map_err(|it| anyhow!("{}: {it}", line()))?,
            payload_bytes: Payload::of_bytes(row["payload"] as u32),
        };
        if cells.iter().any(|other| other.measured.cell == cell) {
            bail!("{}: the cell {cell} appears twice", line());
        }
        cells.push(summary(cell, row));
    }
    Ok(cells)
}

fn summary(cell: Cell, row: &PublishedRow) -> CellSummary {
    const PERCENT: f64 = 100.0;
    let share = |slow: &str, all: &str| (row[all] > 0.0).then(|| PERCENT * row[slow] / row[all]);
    let [connection, swarm, task] = [
        ("poll_slow_count", "poll_samples"),
        ("swarm_poll_slow_count", "swarm_poll_samples"),
        ("ct_total_slow_poll_count", "ct_total_poll_count"),
    ]
    .map(|(slow, all)| share(slow, all));
    let value = |name: &str| Some(row[name]);
    let figures = [
        (Site::Connection, Metric::SlowPercent, connection),
        (Site::Connection, Metric::PollP99Us, value("poll_p99_us")),
        (Site::Connection, Metric::RequestsPerS, value("total_rps")),
        (Site::Swarm, Metric::SlowPercent, swarm),
        (Site::Swarm, Metric::PollP99Us, value("swarm_poll_p99_us")),
        (Site::Task, Metric::SlowPercent, task),
    ]
    .map(|(site, metric, value)| {
        let figure = value.map(|value| CellFigure {
            estimate: BareEstimate::of(value),
            change: None,
        });
        (MetricKey::new(site, metric), vec![figure])
    });
    CellSummary {
        figures: figures.into(),
        ..CellSummary::new(cell, 0)
    }
}
