//! `summary.csv` and `summary.parquet`: one row for each figure.

use std::{fs, path::Path};

use anyhow::{Context, Result};
use polars_core::prelude::{Column, CompatLevel, DataFrame, SchemaExt};
use polars_io::{SerWriter, csv::write::CsvWriter};
use polars_parquet::write::{
    CompressionOptions, FileWriter, RowGroupIterator, StatisticsOptions, Version, WriteOptions,
    get_dtype_encoding,
};
use run_format::{Site, grid::Cell};

use super::{CellFigure, Summary};
use crate::{
    measure::metric::{Metric, What},
    options::Options,
    text::rounded,
};

/// The names of the files in a report.
pub(crate) const FILE: &str = "summary.csv";
/// The same rows with types. What is empty in the other file is null here.
pub(crate) const PARQUET: &str = "summary.parquet";

/// A figure with what it is of.
struct FigureRow<'a> {
    cell: Cell,
    what: What,
    variant: &'a str,
    figure: &'a CellFigure,
}

/// The figures of one metric, without its name.
pub(crate) fn of_metric(summary: &Summary, options: &Options, metric: Metric) -> Result<DataFrame> {
    let options = Options {
        metric: vec![metric],
        ..options.clone()
    };
    Ok(table(summary, &options)?.drop("metric")?)
}

/// The figures that the options ask for.
pub(crate) fn table(summary: &Summary, options: &Options) -> Result<DataFrame> {
    let sites = options.sites();
    let is_shown = |what: &What| {
        let is_named = options.metric.is_empty() || options.metric.contains(&what.metric);
        is_named && what.site.is_none_or(|site| sites.contains(&site))
    };
    let mut rows = Vec::new();
    for cell in &summary.cells {
        for (&what, figures) in cell.figures.iter().filter(|(what, _)| is_shown(what)) {
            let figures = figures.iter().zip(&summary.variants);
            rows.extend(figures.filter_map(|(figure, variant)| {
                Some(FigureRow {
                    cell: cell.cell,
                    what,
                    variant: &variant.label,
                    figure: figure.as_ref()?,
                })
            }));
        }
    }
    let number = |name: &str, of: fn(&CellFigure) -> Option<f64>| {
        numbers(name, rows.iter().map(|row| of(row.figure)))
    };
    let mut columns = cells(&rows.iter().map(|row| row.cell).collect::<Vec<_>>());
    columns.extend([
        texts("variant", rows.iter().map(|row| Some(row.variant))),
        texts("site", rows.iter().map(|row| row.what.site.map(Site::name))),
        texts("metric", rows.iter().map(|row| Some(row.what.metric.name))),
        number("value", |it| Some(it.value)),
        number("low", |it| Some(it.interval?.low)),
        number("high", |it| Some(it.interval?.high)),
        number("change", |it| Some(it.change?.value)),
        number("change_low", |it| Some(it.change?.interval()?.low)),
        number("change_high", |it| Some(it.change?.interval()?.high)),
        texts(
            "resolved",
            rows.iter()
                .map(|row| Some(row.figure.change?.resolved.name())),
        ),
    ]);
    Ok(DataFrame::new_infer_height(columns)?)
}

/// The columns that name the cell of each row.
pub(crate) fn cells(cells: &[Cell]) -> Vec<Column> {
    let peers = |cell: &Cell| u32::try_from(cell.peers).unwrap_or(u32::MAX);
    let payload = |cell: &Cell| i64::from(cell.payload_bytes.bytes());
    let peers: Vec<u32> = cells.iter().map(peers).collect();
    let rtt_ms: Vec<f64> = cells.iter().map(|cell| cell.rtt_ms.ms()).collect();
    vec![
        Column::new("peers".into(), peers),
        Column::new("rtt_ms".into(), rtt_ms),
        Column::new(
            "payload_bytes".into(),
            cells.iter().map(payload).collect::<Vec<_>>(),
        ),
    ]
}

pub(crate) fn texts<'a>(name: &str, values: impl Iterator<Item = Option<&'a str>>) -> Column {
    Column::new(name.into(), values.collect::<Vec<_>>())
}

/// Numbers with four significant digits. One that is not finite, such as the open end of an interval, is absent.
pub(crate) fn numbers(name: &str, values: impl Iterator<Item = Option<f64>>) -> Column {
    let values = values.map(|value| value.filter(|it| it.is_finite()).map(rounded));
    Column::new(name.into(), values.collect::<Vec<_>>())
}

/// Appends tables to each other.
pub(crate) fn under_each_other(frames: Vec<DataFrame>) -> Result<DataFrame> {
    let all = frames
        .into_iter()
        .map(Ok)
        .reduce(|all, more| Ok(all?.vstack(&more?)?));
    all.unwrap_or_else(|| Ok(DataFrame::empty()))
}

/// Writes both files.
pub(crate) fn write(frame: &mut DataFrame, dir: &Path) -> Result<()> {
    for (name, content) in [(FILE, text(frame)?), (PARQUET, parquet(frame)?)] {
        let path = dir.join(name);
        fs::write(&path, content).with_context(|| path.display().to_string())?;
    }
    Ok(())
}

/// The content of [`FILE`].
pub(crate) fn text(frame: &mut DataFrame) -> Result<Vec<u8>> {
    let mut text = Vec::new();
    CsvWriter::new(&mut text)
        .include_header(true)
        .finish(frame)?;
    Ok(text)
}

/// The content of [`PARQUET`]. The file is small, so it is not compressed.
pub(crate) fn parquet(frame: &mut DataFrame) -> Result<Vec<u8>> {
    let options = WriteOptions {
        statistics: StatisticsOptions::default(),
        compression: CompressionOptions::Uncompressed,
        version: Version::V1,
        data_page_size: None,
    };
    let level = CompatLevel::oldest();
    let schema = frame.schema().to_arrow(level);
    let encodings = schema
        .iter_values()
        .map(|field| get_dtype_encoding(&field.dtype));
    let encodings = encodings.collect();
    frame.rechunk_mut();
    let chunks = frame.iter_chunks(level, false).map(Ok);
    let groups = RowGroupIterator::try_new(chunks, &schema, options, encodings)?;
    let mut content = Vec::new();
    let mut file = FileWriter::try_new(&mut content, schema, options)?;
    for group in groups {
        file.write(u64::try_from(frame.height())?, group?)?;
    }
    file.end(None)?;
    Ok(content)
}
