//! Reads the table of the first published benchmark, which has one row and one run per cell and no uncertainties.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Error, Result, ensure};
use program::{Failure, bad_input, reject};
use run_format::{Axes, Budgets, Cell, Payload, Rtt, SLOW_NS, Site, files};

use crate::load::{ComparedRole, ComparedVariant, plain_name};
use crate::measure::{Metric, MetricKey};
use crate::options::Options;
use crate::site::SiteNames;
use crate::stats::{BareEstimate, percent};
use crate::summary::{CellFigure, CellSummary, Identity, Summary};

pub(crate) fn read(path: &Path, options: &Options) -> Result<Summary, Failure> {
    if options.figures.threshold != SLOW_NS {
        reject!("--threshold: a published table only counts polls over 50us");
    }
    let text = files::read(path).map_err(bad_input)?;
    let mut cells = cells(&text)
        .with_context(|| path.display().to_string())
        .map_err(bad_input)?;
    let axes = Axes::of_cells(cells.iter().map(|cell| &cell.measured.cell));
    let grid = axes.cells();
    cells.sort_by_key(|cell| grid.iter().position(|known| *known == cell.measured.cell));
    Ok(Summary {
        identity: Identity {
            name: plain_name(&path.with_extension("")),
            sites: SiteNames::libp2p(),
            ..Identity::default()
        },
        axes,
        variants: vec![ComparedVariant {
            label: "none".to_owned(),
            role: ComparedRole::Baseline,
            budgets: Budgets::NONE,
            subject: 0,
        }],
        cells,
        calibrations: BTreeMap::new(),
    })
}

fn cells(text: &[u8]) -> Result<Vec<CellSummary>> {
    let mut cells: Vec<CellSummary> = Vec::new();
    for (row, line) in csv::Reader::from_reader(text).deserialize().zip(2..) {
        let found = summary(&row?).with_context(|| format!("line {line}"))?;
        let cell = found.measured.cell;
        let is_known = cells.iter().any(|other| other.measured.cell == cell);
        ensure!(!is_known, "line {line}: the cell {cell} appears twice");
        cells.push(found);
    }
    ensure!(!cells.is_empty(), "the table has no rows");
    Ok(cells)
}

fn summary(row: &BTreeMap<String, String>) -> Result<CellSummary> {
    let number = |name: &str| {
        let field = row
            .get(name)
            .with_context(|| format!("this is not a published table: column {name} is missing"))?;
        let number: f64 = field.parse().unwrap_or(f64::NAN);
        ensure!(
            number.is_finite() && number >= 0.0,
            "{name} is not a number from zero up"
        );
        Ok(number)
    };
    let share = |slow: &str, all: &str| -> Result<Option<f64>> {
        let [part, whole] = [number(slow)?, number(all)?];
        ensure!(part <= whole, "{slow} is more than {all}");
        Ok(percent(part, whole))
    };
    let cell = Cell {
        peers: number("n_peers")? as usize,
        rtt_ms: Rtt::from_ms(number("rtt_ms")?).map_err(Error::msg)?,
        payload_bytes: Payload::of_bytes(number("payload")? as u32),
    };
    let connection = share("poll_slow_count", "poll_samples")?;
    let swarm = share("swarm_poll_slow_count", "swarm_poll_samples")?;
    let task = share("ct_total_slow_poll_count", "ct_total_poll_count")?;
    let rps = number("total_rps")?;
    let (p99_us, swarm_p99_us) = (number("poll_p99_us")?, number("swarm_poll_p99_us")?);
    let figures = [
        (Site::Connection, Metric::SlowPercent, connection),
        (Site::Connection, Metric::PollP99Us, Some(p99_us)),
        (Site::Connection, Metric::RequestsPerS, Some(rps)),
        (Site::Swarm, Metric::SlowPercent, swarm),
        (Site::Swarm, Metric::PollP99Us, Some(swarm_p99_us)),
        (Site::Task, Metric::SlowPercent, task),
    ]
    .map(|(site, metric, value)| {
        let figure = value.map(|value| CellFigure {
            estimate: BareEstimate::without_error(value),
            change: None,
        });
        (MetricKey::new(site, metric), vec![figure])
    });
    Ok(CellSummary {
        figures: figures.into(),
        ..CellSummary::new(cell, 0)
    })
}
