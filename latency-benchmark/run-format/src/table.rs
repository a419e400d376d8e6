//! Tables on disk: CSV files whose columns are the fields of a row type.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_aux::serde_introspection::serde_introspect;

use crate::files::{SCHEMA, read};

/// Writes the tables of a folder. Rows are on disk after [`flush`](TableWriters::flush).
pub struct TableWriters {
    dir: PathBuf,
    by_name: BTreeMap<&'static str, csv::Writer<File>>,
}

impl TableWriters {
    pub fn create(dir: &Path, names: &[&'static str]) -> Result<TableWriters> {
        let create = |&name: &&'static str| {
            let path = dir.join(name);
            let file = File::create(&path);
            let file = file.with_context(|| format!("cannot create {}", path.display()))?;
            Ok((name, csv::Writer::from_writer(file)))
        };
        let tables = names.iter().map(create);
        Ok(TableWriters {
            dir: dir.to_owned(),
            by_name: tables.collect::<Result<_>>()?,
        })
    }

    /// Writes a row into one of the tables that were created.
    pub fn row(&mut self, name: &'static str, row: &impl Serialize) -> Result<()> {
        let table = self.by_name.get_mut(name);
        let written = table.expect("it was created").serialize(row);
        written.with_context(|| cannot_write(&self.dir, name))
    }

    pub fn rows<R: Serialize>(
        &mut self,
        name: &'static str,
        rows: impl IntoIterator<Item = R>,
    ) -> Result<()> {
        rows.into_iter().try_for_each(|row| self.row(name, &row))
    }

    pub fn flush(&mut self) -> Result<()> {
        for (name, table) in &mut self.by_name {
            let flushed = table.flush();
            flushed.with_context(|| cannot_write(&self.dir, name))?;
        }
        Ok(())
    }

    /// Waits until the disk has everything.
    pub fn finish(self) -> Result<()> {
        for (name, table) in self.by_name {
            let file = table.into_inner().map_err(|error| error.into_error());
            file.and_then(|file| file.sync_all())
                .with_context(|| cannot_write(&self.dir, name))?;
        }
        Ok(())
    }
}

fn cannot_write(dir: &Path, name: &str) -> String {
    format!("cannot write {}", dir.join(name).display())
}

/// Reads a table without checking its numbers. Its columns must be the fields of `T`. The last line may be torn if the run
/// that wrote it did not come to an end.
pub fn read_table<T: DeserializeOwned>(path: &Path, may_be_torn: bool) -> Result<Vec<T>> {
    let text = whole_lines(path, may_be_torn)?;
    rows(&text).with_context(|| path.display().to_string())
}

fn rows<T: DeserializeOwned>(text: &[u8]) -> Result<Vec<T>> {
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let mut reader = csv::Reader::from_reader(text);
    let expected = serde_introspect::<T>();
    let found = reader.headers()?.clone();
    let is_missing = |name: &&&str| !found.iter().any(|column| column == **name);
    if let Some(missing) = expected.iter().find(is_missing) {
        bail!("column {missing} is missing");
    }
    if found != *expected {
        bail!("the columns are not those of schema {SCHEMA}");
    }
    let mut rows = Vec::new();
    let mut record = csv::ByteRecord::new();
    let headers = reader.byte_headers()?.clone();
    while reader.read_byte_record(&mut record)? {
        let line = record.position().map_or(0, csv::Position::line);
        if let Some(index) = record.iter().position(has_forbidden_character) {
            let column = expected[index];
            bail!("line {line}: {column}: it contains a control character, U+FFFE or U+FFFF");
        }
        let row = record.deserialize(Some(&headers));
        rows.push(row.map_err(|error| anyhow!("line {line}: {}", problem(&error, expected)))?);
    }
    Ok(rows)
}

/// Whether a field has a control character, or one that XML does not allow.
fn has_forbidden_character(field: &[u8]) -> bool {
    let is_plain = |byte: &u8| (b' '..=b'~').contains(byte);
    let characters = || str::from_utf8(field).unwrap_or_default().chars();
    !field.iter().all(is_plain)
        && characters().any(|character| character.is_control() || is_xml_noncharacter(character))
}

/// Whether it is one of the two noncharacters of Unicode that XML refuses.
pub fn is_xml_noncharacter(character: char) -> bool {
    matches!(character, '\u{fffe}' | '\u{ffff}')
}

fn problem(error: &csv::Error, columns: &[&str]) -> String {
    let csv::ErrorKind::Deserialize { err, .. } = error.kind() else {
        return error.to_string();
    };
    match err.field().and_then(|index| columns.get(index as usize)) {
        Some(column) => format!("{column}: {}", err.kind()),
        None => err.kind().to_string(),
    }
}

/// Reads all whole lines of a file. A torn last line is left out if it may be torn, and is otherwise an error.
pub fn whole_lines(path: &Path, may_be_torn: bool) -> Result<Vec<u8>> {
    let mut text = read(path)?;
    let last_break = text.iter().rposition(|byte| *byte == b'\n');
    let end = last_break.map_or(0, |index| index + 1);
    if end < text.len() && !may_be_torn {
        bail!("{}: the last line is torn", path.display());
    }
    text.truncate(end);
    Ok(text)
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Row {
        slice: u32,
        ms: f64,
        steal_ms: Option<f64>,
        child: Option<String>,
    }

    #[test]
    fn rows_are_read_as_they_were_written() {
        let dir = tempfile::tempdir().expect("a folder");
        let rows = [
            Row {
                slice: 1,
                ms: 0.5,
                steal_ms: None,
                child: Some("a,b".to_owned()),
            },
            Row {
                slice: 2,
                ms: 3.0,
                steal_ms: Some(0.0),
                child: None,
            },
        ];
        let mut tables = TableWriters::create(dir.path(), &["table.csv"]).expect("it is new");
        for row in &rows {
            tables.row("table.csv", row).expect("written");
        }
        tables.finish().expect("on disk");
        let path = dir.path().join("table.csv");
        assert_eq!(read_table::<Row>(&path, false).expect("whole"), rows);
    }

    #[test]
    fn errors_name_the_line_and_the_column() {
        for (text, expected) in [
            ("slice,ms,steal_ms\n", "column child is missing"),
            (
                "slice,ms,steal_ms,child,more\n",
                "the columns are not those of schema 3",
            ),
            (
                "slice,ms,steal_ms,child\n1,2,,\n-1,2,,\n",
                "line 3: slice: ",
            ),
            ("slice,ms,steal_ms,child\n1,,,\n", "line 2: ms: "),
            (
                "slice,ms,steal_ms,child\n1,1,2,a\u{1b}b\n",
                "line 2: child: it contains a control character",
            ),
        ] {
            let error = rows::<Row>(text.as_bytes()).expect_err(text).to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
