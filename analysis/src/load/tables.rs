//! The CSV tables of a run. A table that is not just what `RESULTS.md` says is refused.

use std::{io::Cursor, path::Path, sync::Arc};

use anyhow::{Context, Result, anyhow, bail};
use polars::prelude::*;
use polars_io::{SerReader, csv::read::CsvReadOptions};

use super::lines;
use crate::site::Site;

/// The columns of a table; a `true` is one whose fields may be empty.
pub(crate) type Columns = &'static [(&'static str, Kind, bool)];

#[derive(Clone, Copy)]
pub(crate) enum Kind {
    Count,
    Real,
    Text,
}
use Kind::{Count, Real, Text};

pub(crate) const SLICES: Columns = &[
    ("slice", Count, false),
    ("pass", Text, false),
    ("block", Count, false),
    ("variant", Count, false),
    ("start_ms", Real, false),
    ("duration_ms", Real, false),
    ("sampled_ms", Real, false),
    ("requests", Count, false),
    ("requests_begun_before", Count, false),
    ("bytes", Count, false),
    ("lost_entries", Count, false),
    ("central_cpu_ns", Count, true),
    ("central_runqueue_ns", Count, true),
    ("central_user_ms", Real, true),
    ("central_system_ms", Real, true),
    ("central_voluntary_switches", Count, true),
    ("central_involuntary_switches", Count, true),
    ("helpers_cpu_ns", Count, true),
    ("observers_cpu_ns", Count, true),
    ("peers_user_ms", Real, true),
    ("peers_system_ms", Real, true),
    ("peers_voluntary_switches", Count, true),
    ("peers_involuntary_switches", Count, true),
    ("delay_line_user_ms", Real, true),
    ("delay_line_system_ms", Real, true),
    ("steal_ms", Real, true),
    ("central_tcp_retransmits", Count, true),
    ("peers_tcp_retransmits", Count, true),
    ("central_queue_drops", Count, true),
    ("peers_queue_drops", Count, true),
    ("central_received_bytes", Count, true),
    ("central_sent_bytes", Count, true),
    ("monitor_task_polls", Count, false),
    ("monitor_task_ns", Count, false),
    ("monitor_slow_task_polls", Count, false),
    ("monitor_scheduled_ns", Count, false),
    ("runtime_busy_ns", Count, false),
    ("runtime_parks", Count, false),
];

pub(crate) const SITES: Columns = &[
    ("slice", Count, false),
    ("site", Text, false),
    ("polls", Count, false),
    ("ready", Count, false),
    ("pending", Count, false),
    ("yielded", Count, false),
    ("iterations", Count, false),
    ("total_ns", Count, false),
    ("lost", Count, false),
    ("children_lost", Count, false),
];

pub(crate) const BANDS: Columns = &[
    ("slice", Count, false),
    ("site", Text, false),
    ("from_ns", Count, false),
    ("iterations", Count, false),
    ("polls", Count, false),
    ("ns", Count, false),
];

pub(crate) const CHILDREN: Columns = &[
    ("slice", Count, false),
    ("site", Text, false),
    ("from_ns", Count, false),
    ("child", Text, false),
    ("polls", Count, false),
    ("ns", Count, false),
];

pub(crate) const RR: Columns = &[
    ("slice", Count, false),
    ("block", Count, false),
    ("variant", Count, false),
    ("way", Text, false),
    ("start_ms", Real, false),
    ("duration_ms", Real, false),
    ("sampled_ms", Real, false),
    ("transactions", Count, false),
    ("other_way_transactions", Count, false),
    ("lost_entries", Count, false),
    ("central_cpu_ns", Count, true),
    ("central_runqueue_ns", Count, true),
    ("central_user_ms", Real, true),
    ("central_system_ms", Real, true),
    ("central_voluntary_switches", Count, true),
    ("central_involuntary_switches", Count, true),
    ("helpers_cpu_ns", Count, true),
    ("peers_user_ms", Real, true),
    ("peers_system_ms", Real, true),
    ("steal_ms", Real, true),
    ("central_tcp_retransmits", Count, true),
    ("peers_tcp_retransmits", Count, true),
    ("central_received_bytes", Count, true),
    ("central_sent_bytes", Count, true),
    ("libp2p_polls", Count, false),
];

/// Reads a table. The last line may be `torn` if whoever wrote it did not come to an end.
pub(crate) fn read(path: &Path, columns: Columns, torn: bool) -> Result<DataFrame> {
    let at = || path.display().to_string();
    let text = lines::whole(path, torn)?;
    let schema = schema(columns);
    if text.is_empty() {
        return Ok(DataFrame::empty_with_schema(&schema));
    }
    check_header(&text, columns).with_context(at)?;
    let frame = CsvReadOptions::default()
        .with_has_header(true)
        .with_schema(Some(Arc::new(schema)))
        .with_n_threads(Some(1))
        .into_reader_with_file_handle(Cursor::new(text))
        .finish()
        .map_err(|error| {
            let reason = error.to_string();
            let reason = reason.lines().next().unwrap_or_default().to_owned();
            anyhow!("{}: {reason}", at())
        })?;
    check_fields(&frame, columns).with_context(at)?;
    Ok(frame)
}

fn schema(columns: Columns) -> Schema {
    let fields = columns.iter().map(|(name, kind, _)| {
        let kind = match kind {
            Count => DataType::Int64,
            Real => DataType::Float64,
            Text => DataType::String,
        };
        Field::new((*name).into(), kind)
    });
    Schema::from_iter(fields)
}

fn check_header(text: &[u8], columns: Columns) -> Result<()> {
    let line = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let line = String::from_utf8_lossy(line);
    let found: Vec<&str> = line.trim_end().split(',').collect();
    let expected: Vec<&str> = columns.iter().map(|(name, ..)| *name).collect();
    if let Some(missing) = expected.iter().find(|name| !found.contains(name)) {
        bail!("column {missing} is missing");
    }
    if found != expected {
        bail!(
            "the columns are not those of schema {}",
            super::manifest::SCHEMA
        );
    }
    Ok(())
}

fn check_fields(frame: &DataFrame, columns: Columns) -> Result<()> {
    for (name, kind, may_be_empty) in columns {
        let column = frame.column(name)?;
        if !may_be_empty && column.null_count() > 0 {
            let row = (0..column.len()).find(|row| column.get(*row).is_ok_and(|it| it.is_null()));
            bail!("line {}: {name} is empty", row.map_or(0, |row| row + 2));
        }
        let negative = match kind {
            Count => column
                .i64()?
                .iter()
                .position(|value| value.is_some_and(|it| it < 0)),
            Real => column
                .f64()?
                .iter()
                .position(|value| value.is_some_and(|it| it < 0.0)),
            Text => None,
        };
        if let Some(row) = negative {
            bail!("line {}: {name} is negative", row + 2);
        }
    }
    Ok(())
}

/// A column of counts.
pub(crate) fn counts(frame: &DataFrame, name: &str) -> Result<Vec<u64>> {
    Ok(maybe_counts(frame, name)?.into_iter().flatten().collect())
}

/// A column of counts, some of which may be absent.
pub(crate) fn maybe_counts(frame: &DataFrame, name: &str) -> Result<Vec<Option<u64>>> {
    let column = frame.column(name)?.i64()?;
    Ok(column
        .iter()
        .map(|value| value.and_then(|it| u64::try_from(it).ok()))
        .collect())
}

/// A column of numbers.
pub(crate) fn reals(frame: &DataFrame, name: &str) -> Result<Vec<f64>> {
    Ok(maybe_reals(frame, name)?.into_iter().flatten().collect())
}

/// A column of numbers, some of which may be absent.
pub(crate) fn maybe_reals(frame: &DataFrame, name: &str) -> Result<Vec<Option<f64>>> {
    Ok(frame.column(name)?.f64()?.iter().collect())
}

/// A column of words, some of which may be absent.
pub(crate) fn maybe_words(frame: &DataFrame, name: &str) -> Result<Vec<Option<String>>> {
    let column = frame.column(name)?.str()?;
    let word = |it: Option<&str>| it.filter(|it| !it.is_empty()).map(str::to_owned);
    Ok(column.iter().map(word).collect())
}

/// A column of words.
pub(crate) fn words(frame: &DataFrame, name: &str) -> Result<Vec<String>> {
    let column = frame.column(name)?.str()?;
    Ok(column.iter().flatten().map(str::to_owned).collect())
}

/// The column of sites.
pub(crate) fn sites(frame: &DataFrame) -> Result<Vec<Site>> {
    let names = frame.column("site")?.str()?.iter().flatten().enumerate();
    names
        .map(|(at, name)| {
            let parsed = name.parse();
            parsed.map_err(|error| anyhow!("line {}: {error}", at + 2))
        })
        .collect()
}
