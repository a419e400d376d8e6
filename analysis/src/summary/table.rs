//! `summary.csv`: every figure in a row.

use std::{fs, io::Cursor, path::Path, sync::Arc};

use anyhow::{Context, Result, anyhow};
use polars::prelude::*;
use polars_io::{
    SerReader, SerWriter,
    csv::{read::CsvReadOptions, write::CsvWriter},
};

use super::{CellSummary, Figure, Summary};
use crate::{measure::metric::What, site::Site, text::rounded};

/// The file's name in a report.
pub(crate) const FILE: &str = "summary.csv";

/// The numbers of a row.
const NUMBERS: [&str; 6] = [
    "value",
    "low",
    "high",
    "change",
    "change_low",
    "change_high",
];

/// The figures of some sites, and of the worker, as a table; numbers have four significant digits.
pub(crate) fn table(summary: &Summary, sites: &[Site]) -> Result<DataFrame> {
    let mut rows = Rows::default();
    for cell in &summary.cells {
        let is_shown = |what: &What| what.site.is_none_or(|site| sites.contains(&site));
        for (&what, figures) in cell.figures.iter().filter(|(what, _)| is_shown(what)) {
            for (variant, figure) in figures.iter().enumerate() {
                if let Some(figure) = figure {
                    rows.push(cell, what, &summary.variants[variant].label, figure);
                }
            }
        }
    }
    rows.frame()
}

#[derive(Default)]
struct Rows {
    peers: Vec<u32>,
    rtt_ms: Vec<f64>,
    payload_bytes: Vec<i64>,
    variant: Vec<String>,
    site: Vec<Option<&'static str>>,
    metric: Vec<&'static str>,
    numbers: [Vec<Option<f64>>; NUMBERS.len()],
    resolved: Vec<Option<&'static str>>,
}

impl Rows {
    fn push(&mut self, cell: &CellSummary, what: What, variant: &str, figure: &Figure) {
        self.peers.push(cell.cell.peers);
        self.rtt_ms.push(cell.cell.rtt_ms);
        self.payload_bytes
            .push(i64::try_from(cell.cell.payload_bytes).unwrap_or(i64::MAX));
        self.variant.push(variant.to_owned());
        self.site.push(what.site.map(|site| site.name()));
        self.metric.push(what.metric.name());
        let change = figure.change;
        let of_change = change.and_then(|change| change.interval());
        let numbers = [
            Some(figure.value),
            figure.interval.map(|it| it.low),
            figure.interval.map(|it| it.high),
            change.map(|it| it.value),
            of_change.map(|it| it.low),
            of_change.map(|it| it.high),
        ];
        for (column, number) in self.numbers.iter_mut().zip(numbers) {
            // An end that the data did not set is absent.
            let number = number.filter(|number| number.is_finite());
            column.push(number.map(rounded));
        }
        self.resolved
            .push(change.map(|change| change.resolved.name()));
    }

    fn frame(self) -> Result<DataFrame> {
        let mut columns = vec![
            Column::new("peers".into(), self.peers),
            Column::new("rtt_ms".into(), self.rtt_ms),
            Column::new("payload_bytes".into(), self.payload_bytes),
            Column::new("variant".into(), self.variant),
            Column::new("site".into(), self.site),
            Column::new("metric".into(), self.metric),
        ];
        for (name, values) in NUMBERS.into_iter().zip(self.numbers) {
            columns.push(Column::new(name.into(), values));
        }
        columns.push(Column::new("resolved".into(), self.resolved));
        Ok(DataFrame::new_infer_height(columns)?)
    }
}

/// One table under another.
pub(crate) fn under_each_other(frames: Vec<DataFrame>) -> Result<DataFrame> {
    let all = frames
        .into_iter()
        .map(Ok)
        .reduce(|all, more| Ok(all?.vstack(&more?)?));
    all.unwrap_or_else(|| Ok(DataFrame::empty()))
}

pub(crate) fn write(frame: &mut DataFrame, dir: &Path) -> Result<()> {
    let path = dir.join(FILE);
    let file = fs::File::create(&path).with_context(|| path.display().to_string())?;
    CsvWriter::new(file)
        .include_header(true)
        .finish(frame)
        .map_err(|error| anyhow!("{}: {error}", path.display()))
}

/// Reads what [`write`] wrote.
pub(crate) fn read(dir: &Path) -> Result<DataFrame> {
    let path = dir.join(FILE);
    let text = fs::read(&path).with_context(|| path.display().to_string())?;
    let mut schema = Schema::default();
    for name in ["peers", "rtt_ms", "payload_bytes"] {
        schema.insert(name.into(), DataType::Float64);
    }
    for name in ["variant", "site", "metric"] {
        schema.insert(name.into(), DataType::String);
    }
    for name in NUMBERS {
        schema.insert(name.into(), DataType::Float64);
    }
    schema.insert("resolved".into(), DataType::String);
    CsvReadOptions::default()
        .with_has_header(true)
        .with_schema(Some(Arc::new(schema)))
        .into_reader_with_file_handle(Cursor::new(text))
        .finish()
        .map_err(|error| {
            let reason = error.to_string();
            anyhow!(
                "{}: {}",
                path.display(),
                reason.lines().next().unwrap_or_default()
            )
        })
}

/// A row as text, field by field; an absent one is empty.
pub(crate) type Line = Vec<(String, String)>;

/// The rows of a table, in a form in which what was written and what is made can be compared.
pub(crate) fn lines(frame: &DataFrame) -> Result<Vec<Line>> {
    let mut lines = vec![Line::new(); frame.height()];
    for column in frame.columns() {
        let name = column.name().to_string();
        let fields = texts(column)?;
        for (line, field) in lines.iter_mut().zip(fields) {
            line.push((name.clone(), field));
        }
    }
    Ok(lines)
}

fn texts(column: &Column) -> Result<Vec<String>> {
    if column.dtype() == &DataType::String {
        let words = column.str()?.iter();
        return Ok(words
            .map(|word| word.unwrap_or_default().to_owned())
            .collect());
    }
    let numbers = column.cast(&DataType::Float64)?;
    let numbers = numbers.f64()?.iter();
    Ok(numbers
        .map(|number| number.map_or_else(String::new, |number| number.to_string()))
        .collect())
}

/// The name of the first field that differs, with both.
pub(crate) fn first_difference<'a>(
    stored: &'a Line,
    made: &'a Line,
) -> Option<(&'a str, &'a str, &'a str)> {
    stored
        .iter()
        .zip(made)
        .find(|(stored, made)| stored != made)
        .map(|((name, stored), (_, made))| (name.as_str(), stored.as_str(), made.as_str()))
}
