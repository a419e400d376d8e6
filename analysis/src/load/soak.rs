//! `soak.json` and `soak.csv`: one cell for hours, a row per interval.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use super::{
    json,
    manifest::{LabConfig, Machine, Node, SCHEMA, Tool},
    tables::{self, Columns, Kind},
};
use crate::{
    failure::{Failure, bad_input},
    grid::Cell,
};

pub(super) const FILE: &str = "soak.json";
const ROWS: &str = "soak.csv";

/// When a row ends, and how long it is.
pub(crate) const AT: &str = "at_s";
pub(crate) const INTERVAL: &str = "interval_s";

use Kind::{Count, Real};

const COLUMNS: Columns = &[
    (AT, Real, false),
    (INTERVAL, Real, false),
    ("connection_polls", Count, false),
    ("connection_slow_polls", Count, false),
    ("task_polls", Count, false),
    ("task_slow_polls", Count, false),
    ("requests", Count, false),
    ("latency_p50_ns", Count, true),
    ("latency_p99_ns", Count, true),
    ("wakes", Count, false),
    ("late_wakes", Count, false),
    ("wake_p50_ns", Count, true),
    ("wake_p90_ns", Count, true),
    ("wake_p99_ns", Count, true),
    ("resident_bytes", Count, true),
    ("connections", Count, false),
    ("peers_connected", Count, false),
    ("tasks", Count, false),
    ("dials", Count, false),
    ("dial_failures", Count, false),
    ("connections_opened", Count, false),
    ("connections_closed", Count, false),
    ("restarts", Count, true),
    ("central_cpu_ns", Count, true),
    ("lost_records", Count, false),
];

/// A soak on disk.
pub(crate) struct Soak {
    pub(crate) dir: PathBuf,
    pub(crate) file: SoakFile,
    /// At least one.
    pub(crate) rows: Rows,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct SoakFile {
    pub(crate) command: Vec<String>,
    pub(crate) created_unix_s: u64,
    pub(crate) config: SoakConfig,
    pub(crate) tool: Tool,
    pub(crate) machine: Machine,
    /// None of a soak that goes on, or was killed.
    pub(crate) end: Option<SoakEnd>,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct SoakConfig {
    pub(crate) cell: Cell,
    pub(crate) duration_ms: u64,
    pub(crate) interval_ms: u64,
    pub(crate) churn: String,
    pub(crate) budgets: String,
    pub(crate) node: Node,
    pub(crate) lab: LabConfig,
    pub(crate) seed: u64,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct SoakEnd {
    /// `ok`, `invalid` or `failed`.
    pub(crate) status: String,
    pub(crate) stop: Option<String>,
    pub(crate) stage: Option<String>,
    pub(crate) reason: Option<String>,
    pub(crate) network: Network,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Network {
    pub(crate) lab: Option<LabFacts>,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct LabFacts {
    /// What made the delay; none where nothing did.
    pub(crate) backend: Option<String>,
}

/// The columns of the table, by name. All are as long.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Rows(BTreeMap<&'static str, Vec<Option<f64>>>);

impl Rows {
    #[cfg(test)]
    pub(crate) fn of(columns: impl IntoIterator<Item = (&'static str, Vec<Option<f64>>)>) -> Rows {
        Rows(columns.into_iter().collect())
    }

    /// None of a column is what was not measured.
    pub(crate) fn column(&self, name: &str) -> &[Option<f64>] {
        self.0.get(name).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn len(&self) -> usize {
        self.column(AT).len()
    }

    /// The end of the last one.
    pub(crate) fn last_s(&self) -> f64 {
        self.column(AT).last().copied().flatten().unwrap_or(0.0)
    }
}

impl Soak {
    pub(crate) fn open(dir: &Path) -> Result<Soak, Failure> {
        open(dir).map_err(bad_input)
    }

    pub(crate) fn name(&self) -> String {
        super::folder_name(&self.dir)
    }
}

fn open(dir: &Path) -> Result<Soak> {
    let file: SoakFile = json(&dir.join(FILE), SCHEMA)?;
    let path = dir.join(ROWS);
    let rows = if path.is_file() {
        rows(&path, file.end.is_none())?
    } else {
        Rows::default()
    };
    if rows.len() == 0 {
        let why = file.end.as_ref().and_then(|end| end.reason.as_deref());
        bail!(
            "{}: not a row was measured ({})",
            path.display(),
            why.unwrap_or("it was killed, or goes on")
        );
    }
    Ok(Soak {
        dir: dir.to_owned(),
        file,
        rows,
    })
}

fn rows(path: &Path, may_be_torn: bool) -> Result<Rows> {
    let frame = tables::read(path, COLUMNS, may_be_torn)?;
    let mut columns = BTreeMap::new();
    for (name, kind, _) in COLUMNS {
        let values = match kind {
            Real => tables::maybe_reals(&frame, name)?,
            _ => {
                let counts = tables::maybe_counts(&frame, name)?.into_iter();
                counts.map(|count| count.map(|it| it as f64)).collect()
            }
        };
        columns.insert(*name, values);
    }
    let rows = Rows(columns);
    check(&rows).with_context(|| path.display().to_string())?;
    Ok(rows)
}

/// Refuses what cannot have been written so.
fn check(rows: &Rows) -> Result<()> {
    for (part, of) in [
        ("connection_slow_polls", "connection_polls"),
        ("task_slow_polls", "task_polls"),
        ("late_wakes", "wakes"),
    ] {
        let mut pairs = rows.column(part).iter().zip(rows.column(of));
        if let Some(row) = pairs.position(|(part, of)| part > of) {
            bail!("line {}: {part} is more than {of}", row + 2);
        }
    }
    let lengths = rows.column(INTERVAL).iter();
    if let Some(row) = lengths.copied().position(|length| length <= Some(0.0)) {
        bail!("line {}: {INTERVAL} is not above zero", row + 2);
    }
    let mut ends = rows.column(AT).windows(2);
    if let Some(row) = ends.position(|two| two[1] <= two[0]) {
        bail!("line {}: {AT} does not go up", row + 3);
    }
    Ok(())
}
