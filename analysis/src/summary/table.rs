//! The table of figures, which has one row for each figure: `summary.csv` of a report, and Parquet for `export`.

use anyhow::Result;
use polars_core::prelude::{Column, CompatLevel, DataFrame, SchemaExt};
use polars_io::SerWriter;
use polars_io::csv::write::CsvWriter;
use polars_parquet::write::{
    CompressionOptions, FileWriter, RowGroupIterator, StatisticsOptions, Version, WriteOptions,
    get_dtype_encoding,
};
use run_format::Site;

use super::{CellFigure, CellSummary, Summary};
use crate::metrics::MetricKey;
use crate::options::Options;
use crate::text::{not_a_formula, rounded};

pub(crate) const FILE: &str = "summary.csv";

/// The tables of the figures that the options ask for. Each is about some of the cells, because a table of all cells of a
/// large grid takes more memory than its files.
pub(crate) fn tables<'a>(
    summary: &'a Summary,
    options: &'a Options,
) -> impl Iterator<Item = Result<DataFrame>> + 'a {
    const CELLS: usize = 500;
    let parts = summary.cells.chunks(CELLS);
    parts.map(move |cells| table(summary, cells, options))
}

fn table(summary: &Summary, cells: &[CellSummary], options: &Options) -> Result<DataFrame> {
    let sites = options.sites();
    let is_shown = |key: &MetricKey| {
        let is_named =
            options.figures.metric.is_empty() || options.figures.metric.contains(&key.metric);
        is_named && key.site.is_none_or(|site| sites.contains(&site))
    };
    let mut rows = Vec::new();
    for cell in cells {
        for (&key, figures) in cell.figures.iter().filter(|(key, _)| is_shown(key)) {
            let by_variant = figures.iter().zip(&summary.variants);
            rows.extend(by_variant.filter_map(|(figure, variant)| {
                let label = variant.label.as_str();
                Some((cell.cell(), key, label, figure.as_ref()?))
            }));
        }
    }
    let number = |name: &str, value: fn(&CellFigure) -> Option<f64>| {
        numbers(name, rows.iter().map(|(.., figure)| value(figure)))
    };
    let keys = || rows.iter().map(|(_, key, ..)| key);
    let changes = rows.iter().map(|(.., figure)| figure.change);
    let cells = || rows.iter().map(|(cell, ..)| cell);
    let peers = cells().map(|cell| u32::try_from(cell.peers).unwrap_or(u32::MAX));
    let rtt_ms = cells().map(|cell| cell.rtt_ms.ms());
    let payloads = cells().map(|cell| i64::from(cell.payload_bytes.bytes()));
    let columns = vec![
        Column::new("peers".into(), peers.collect::<Vec<u32>>()),
        Column::new("rtt_ms".into(), rtt_ms.collect::<Vec<f64>>()),
        Column::new("payload_bytes".into(), payloads.collect::<Vec<i64>>()),
        texts("variant", rows.iter().map(|(_, _, label, _)| Some(*label))),
        texts("site", keys().map(|key| key.site.map(Site::name))),
        texts("metric", keys().map(|key| Some(key.metric.info().name))),
        number("value", |figure| Some(figure.estimate.value)),
        number("low", |figure| Some(figure.interval()?.low)),
        number("high", |figure| Some(figure.interval()?.high)),
        number("change", |figure| Some(figure.change?.value)),
        number("change_low", |figure| Some(figure.change?.interval()?.low)),
        number("change_high", |figure| {
            Some(figure.change?.interval()?.high)
        }),
        texts(
            "resolved",
            changes.map(|change| Some(change?.resolved.name())),
        ),
    ];
    Ok(DataFrame::new_infer_height(columns)?)
}

pub(crate) fn texts<'a>(name: &str, values: impl Iterator<Item = Option<&'a str>>) -> Column {
    let cells = values.map(|value| value.map(not_a_formula));
    Column::new(name.into(), cells.collect::<Vec<_>>())
}

/// A column of numbers with four significant digits. A number that is not finite, such as the open end of an interval, is
/// absent.
pub(crate) fn numbers(name: &str, values: impl Iterator<Item = Option<f64>>) -> Column {
    let finite = values.map(|value| value.filter(|value| value.is_finite()).map(rounded));
    Column::new(name.into(), finite.collect::<Vec<_>>())
}

/// The text of `summary.csv`.
pub(crate) struct CsvTable {
    pub(crate) rows: usize,
    pub(crate) text: Vec<u8>,
}

impl CsvTable {
    /// Writes tables with the same columns one after the other.
    pub(crate) fn write(parts: impl IntoIterator<Item = Result<DataFrame>>) -> Result<CsvTable> {
        let (mut rows, mut text) = (0, Vec::new());
        for part in parts {
            let mut part = part?;
            let is_first = text.is_empty();
            if is_first || part.height() > 0 {
                let mut writer = CsvWriter::new(&mut text).include_header(is_first);
                writer.finish(&mut part)?;
                rows += part.height();
            }
        }
        Ok(CsvTable { rows, text })
    }
}

/// Writes tables with the same columns one after the other. The file is not compressed, so that readers of every kind can open
/// it. Returns None if there is no row.
pub(crate) fn parquet(
    parts: impl IntoIterator<Item = Result<DataFrame>>,
) -> Result<Option<Vec<u8>>> {
    let options = WriteOptions {
        statistics: StatisticsOptions::default(),
        compression: CompressionOptions::Uncompressed,
        version: Version::V1,
        data_page_size: None,
    };
    let level = CompatLevel::oldest();
    let mut begun = None;
    for part in parts {
        let mut part = part?;
        if part.height() == 0 {
            continue;
        }
        let schema = part.schema().to_arrow(level);
        let types = schema.iter_values().map(|field| &field.dtype);
        let encodings = types.map(get_dtype_encoding).collect();
        let file = match &mut begun {
            Some(file) => file,
            None => begun.insert(FileWriter::try_new(Vec::new(), schema.clone(), options)?),
        };
        part.rechunk_mut();
        let chunks = part.iter_chunks(level, false).map(Ok);
        for group in RowGroupIterator::try_new(chunks, &schema, options, encodings)? {
            file.write(u64::try_from(part.height())?, group?)?;
        }
    }
    let Some(mut file) = begun else {
        return Ok(None);
    };
    file.end(None)?;
    Ok(Some(file.into_inner()))
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use polars_parquet::read::read_metadata;

    use super::*;

    #[test]
    fn parts_follow_each_other_below_one_header() {
        let table = |values: &[Option<f64>]| {
            let texts = texts("name", values.iter().map(|_| Some("a")));
            let columns = vec![texts, numbers("value", values.iter().copied())];
            Ok(DataFrame::new_infer_height(columns)?)
        };
        let parts = || [&[][..], &[Some(1.0), None], &[], &[Some(3.0)]].map(table);
        let csv = CsvTable::write(parts()).expect("a table");
        assert_eq!(csv.text, b"name,value\na,1.0\na,\na,3.0\n");
        let file = parquet(parts()).expect("a table").expect("rows");
        let about = read_metadata(&mut Cursor::new(&file)).expect("a table");
        assert_eq!((csv.rows, about.num_rows), (3, 3));
        assert_eq!(parquet([table(&[])]).expect("a table"), None);
    }
}
