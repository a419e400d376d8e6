//! A copy of the fixture, and the program to try on it.

pub(crate) mod evidence;
pub(crate) mod soak;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use run_format::checksums::{checksums_of_folder, sealed};
use run_format::files::{RUN as RUN_JSON, read_json, write_json};
use serde_json::{Value, json, to_value};
use tempfile::TempDir;

/// The committed sweep. Tests of the tool check that it is as the tool writes it today.
pub(crate) fn fixture() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../latency-benchmark/tests/fixture")
}

/// A copy that a test may spoil.
pub(crate) struct Copy {
    folder: TempDir,
}

/// A cell of the fixture and its only run.
pub(crate) const RUN: &str = "cells/pl065536_rtt000_n02/run-1";

/// All cells of the fixture, and their runs.
pub(crate) const CELLS: [&str; 2] = ["pl065536_rtt000_n02", "pl004096_rtt000_n02"];
pub(crate) const RUNS: [&str; 2] = [RUN, "cells/pl004096_rtt000_n02/run-1"];

impl Copy {
    pub(crate) fn new() -> Copy {
        let folder = TempDir::new().expect("a temporary folder");
        copy(&fixture(), &folder.path().join("sweep"));
        Copy { folder }
    }

    pub(crate) fn dir(&self) -> PathBuf {
        self.folder.path().join("sweep")
    }

    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn run_file(&self, name: &str) -> PathBuf {
        self.dir().join(RUN).join(name)
    }

    /// Changes a file of the run.
    pub(crate) fn edit(&self, name: &str, change: impl FnOnce(String) -> String) {
        edit(&self.run_file(name), change);
    }

    /// Replaces a text in a file of the run, where it is first.
    pub(crate) fn replace(&self, name: &str, from: &str, to: &str) {
        replace(&self.run_file(name), from, to);
    }

    /// Makes one run look as if it was killed, and removes the other cell. Returns the folder of the run.
    pub(crate) fn cut_short(&self) -> PathBuf {
        let run = self.dir().join(RUN);
        let partial = run.with_file_name("run-1.partial");
        fs::rename(&run, &partial).expect("a new name");
        fs::remove_file(partial.join(RUN_JSON)).expect("it is there");
        fs::remove_dir_all(self.dir().join("cells").join(CELLS[1])).expect("it is there");
        partial
    }

    /// Makes a report with the least work. Returns it.
    #[track_caller]
    pub(crate) fn reported(&self) -> String {
        self.report(&["--format", "svg"]).succeeds();
        self.text("report.md")
    }

    /// A file of the report.
    pub(crate) fn text(&self, name: &str) -> String {
        fs::read_to_string(self.dir().join("report").join(name)).expect("a file of the report")
    }

    /// A copy with evidence of one cell.
    pub(crate) fn explained() -> Copy {
        let copy = Copy::new();
        evidence::explain(&copy);
        copy
    }

    /// A file about the explained cells.
    pub(crate) fn explain_file(&self, name: &str) -> String {
        self.text(&format!("explain/{name}"))
    }

    /// Asserts that `report` refuses the copy in one line that has these words, and that it writes nothing.
    #[track_caller]
    pub(crate) fn is_refused(&self, words: &[&str]) {
        self.report(&[]).refuses(words);
        assert!(!self.dir().join("report").exists());
    }

    /// Reports on the copy, after its files got the checksums that they would have if they had been measured so.
    pub(crate) fn report(&self, options: &[&str]) -> ApplicationOutcome {
        let dir = self.dir();
        seal(&dir);
        analysis([&["report", path(&dir)], options].concat())
    }
}

pub(crate) fn edit(file: &Path, change: impl FnOnce(String) -> String) {
    let text = fs::read_to_string(file).expect("a file of the fixture");
    let changed = change(text.clone());
    assert!(text != changed, "the edit must change {}", file.display());
    fs::write(file, changed).expect("a copy can be written");
}

/// Replaces a text in a file, where it is first.
#[track_caller]
pub(crate) fn replace(file: &Path, from: &str, to: &str) {
    edit(file, |text| text.replacen(from, to, 1));
}

/// Makes a search of the sweep in the folder `round-1`.
pub(crate) fn search_of(dir: &Path) {
    let manifest: Value = read_json(&dir.join("round-1/manifest.json")).expect("a manifest");
    let search = json!({
        "schema": 3, "config": manifest["config"], "chooses_cells": false, "time_ms": 60_000,
    });
    write_json(&dir.join("search.json"), &search).expect("a file");
}

pub(crate) type Row = BTreeMap<String, String>;

/// The rows of a table by column.
pub(crate) fn rows(table: &str) -> Vec<Row> {
    let reader = csv::Reader::from_reader(table.as_bytes());
    let rows = reader.into_deserialize();
    rows.map(|row| row.expect("a row")).collect()
}

/// The number in a column of the row with these values.
pub(crate) fn number_of(table: &str, key: &[(&str, &str)], column: &str) -> f64 {
    let is_it = |row: &Row| key.iter().all(|(column, value)| row[*column] == *value);
    let row = rows(table).into_iter().find(is_it);
    let row = row.unwrap_or_else(|| panic!("no {key:?} in {table}"));
    row[column].parse().expect("a number")
}

/// Sets a column of each row for which there is a value.
pub(crate) fn set_column(file: &Path, column: &str, value: impl Fn(&Row) -> Option<String>) {
    edit(file, |text| {
        let header = text.lines().next().expect("a header");
        let at = header.split(',').position(|name| name == column);
        let set = |(line, row): (&str, Row)| {
            let mut fields: Vec<&str> = line.split(',').collect();
            let value = value(&row);
            if let Some(value) = &value {
                fields[at.expect("a column")] = value;
            }
            fields.join(",") + "\n"
        };
        let lines = text.lines().skip(1).zip(rows(&text)).map(set);
        format!("{header}\n{}", lines.collect::<String>())
    });
}

/// Sets a field of the first row that begins with `start`.
pub(crate) fn set_field(text: &str, start: &str, field: usize, value: &str) -> String {
    let mut rows = text.lines();
    let row = rows.find(|line| line.starts_with(start)).expect("a row");
    let mut fields: Vec<&str> = row.split(',').collect();
    fields[field] = value;
    text.replacen(row, &fields.join(","), 1)
}

/// Writes the checksums of the files of every run into its `run.json`, unless that is spoilt.
pub(crate) fn seal(dir: &Path) {
    for entry in fs::read_dir(dir).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            seal(&path);
        } else if path.ends_with(RUN_JSON)
            && let Ok(Value::Object(mut row)) = read_json(&path)
            && let Ok(files) = checksums_of_folder(dir)
        {
            row.insert("files".to_owned(), to_value(files).expect("names"));
            fs::write(&path, sealed(&row).expect("a value")).expect("a copy can be written");
        }
    }
}

pub(crate) fn path(path: &Path) -> &str {
    path.to_str().expect("paths of tests are text")
}

pub(crate) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("the fixture is committed") {
        let entry = entry.expect("an entry");
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).expect("a copy");
        }
    }
}

/// The addresses of the links in a text.
pub(crate) fn links(text: &str) -> impl Iterator<Item = &str> {
    let after = text.split("](").skip(1);
    after.filter_map(|rest| rest.split(')').next())
}

/// Asserts that a text has all of these parts.
#[track_caller]
pub(crate) fn holds(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part:?} is not in\n{text}");
    }
}

/// How the program ended.
pub(crate) struct ApplicationOutcome {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

pub(crate) fn analysis<'a>(arguments: impl IntoIterator<Item = &'a str>) -> ApplicationOutcome {
    let Output {
        status,
        stdout,
        stderr,
    } = Command::new(env!("CARGO_BIN_EXE_analysis"))
        .args(arguments)
        .output()
        .expect("the program runs");
    ApplicationOutcome {
        code: status.code().expect("it was not killed"),
        out: String::from_utf8(stdout).expect("text"),
        err: String::from_utf8(stderr).expect("text"),
    }
}

/// Compares two folders. Returns the report in `out`.
pub(crate) fn compared(one: &Path, other: &Path, out: &Path) -> String {
    analysis([
        "compare",
        path(one),
        path(other),
        "--format",
        "svg",
        "--out",
        path(out),
    ])
    .succeeds();
    fs::read_to_string(out.join("report.md")).expect("a report")
}

impl ApplicationOutcome {
    /// Asserts exit code 2 and a single line that has all of these words.
    #[track_caller]
    pub(crate) fn refuses(&self, words: &[&str]) {
        assert_eq!(self.code, 2, "{}{}", self.out, self.err);
        assert_eq!(self.err.lines().count(), 1, "{}", self.err);
        holds(&self.err, words);
        assert_eq!(self.out, "");
    }

    #[track_caller]
    pub(crate) fn succeeds(&self) {
        assert_eq!(self.code, 0, "{}{}", self.out, self.err);
    }
}

/// Checks that a run can have the figures of a report: they are finite numbers, and shares and the ends of their intervals
/// are at most 100 %.
pub(crate) fn possible(report: &Path) -> Result<(), String> {
    let figures = fs::read(report.join("summary.csv")).expect("a table");
    let mut reader = csv::Reader::from_reader(&figures[..]);
    let headers = reader.headers().expect("a header").clone();
    let column = |name| headers.iter().position(|header| header == name);
    let metric = column("metric");
    for row in reader.records() {
        let row = row.expect("a row");
        let mut numbers = row.iter().filter_map(|field| field.parse::<f64>().ok());
        let is_share = metric.is_some_and(|at| row[at].ends_with("_percent"));
        let levels = ["value", "low", "high"].map(|name| row[column(name)?].parse::<f64>().ok());
        let most = if is_share { 100.0 } else { f64::MAX };
        if numbers.any(|number| !number.is_finite())
            || (metric.is_some()
                && levels
                    .into_iter()
                    .flatten()
                    .any(|level| !(0.0..=most).contains(&level)))
        {
            return Err(format!("a figure that no run can have: {row:?}"));
        }
    }
    let mut text = fs::read_to_string(report.join("report.md")).expect("a report");
    // Not every kind of report has a comment.
    text += &fs::read_to_string(report.join("comment.md")).unwrap_or_default();
    let mut header = "";
    for line in text.lines() {
        if !line.starts_with('|') {
            header = "";
        } else if header.is_empty() {
            header = line;
        }
        let is_odd = |word: &str| matches!(word.trim_matches(['(', ')', ',']), "NaN" | "inf");
        // A change (which has a sign), a comparison and the time of several cores can be more than 100 %.
        let may_be_more = ["comparison", "compared", "other processes", "of a core"];
        let has = |words: &&str| line.contains(words) || header.contains(words);
        let words: Vec<&str> = line.split_whitespace().collect();
        let mut shares = words
            .windows(2)
            .filter(|pair| pair[1].starts_with('%') && !pair[0].starts_with('+'))
            .filter_map(|pair| pair[0].parse::<f64>().ok());
        let is_share = !may_be_more.iter().any(has);
        if words.iter().any(|word| is_odd(word)) || (is_share && shares.any(|share| share > 100.0))
        {
            return Err(format!("a figure that no run can have: {line}"));
        }
    }
    Ok(())
}
