//! Every column of every table has limits: whatever number is put into it, the run is refused, or the figures are such as a
//! run can have.

use std::fs;
use std::path::{Path, PathBuf};

use run_format::checksums::sha256_of_file;

use crate::cores::with_workers;
use crate::fixture::soak::soak;
use crate::fixture::{FixtureCopy, RUN, analysis, copy, evidence, fixture, path, possible, seal};
use run_format::files::{read_json, write_json};
use serde_json::{Value, json};
use tempfile::TempDir;

/// No column of a measurement can have the last value.
const VALUES: [&str; 3] = ["0", "1", "1000000000000000"];

/// Changes each column of the first row of these tables, and reports.
fn set_each_column(dir: &Path, tables: &[PathBuf], options: &[&str]) {
    let mut wrong = Vec::new();
    for file in tables {
        let whole = fs::read_to_string(file).expect("a table");
        let mut lines = whole.lines();
        // Some kinds of runs have no rows of a table.
        let (Some(header), Some(first)) = (lines.next(), lines.next()) else {
            continue;
        };
        let header: Vec<&str> = header.split(',').collect();
        for (at, column) in header.iter().enumerate() {
            for value in VALUES {
                let mut fields: Vec<&str> = first.split(',').collect();
                fields[at] = value;
                fs::write(file, whole.replacen(first, &fields.join(","), 1)).expect("a table");
                if let Err(why) = judge(dir, options) {
                    let file = file.display();
                    wrong.push(format!("{file}: {column} is {value}: {why}"));
                }
            }
        }
        fs::write(file, whole).expect("a table");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Sets each number of these documents, of a list the first.
fn set_each_number(dir: &Path, documents: &[PathBuf], options: &[&str]) {
    let mut wrong = Vec::new();
    for file in documents {
        let whole: Value = read_json(file).expect("JSON");
        let mut places = Vec::new();
        numbers(&whole, "", &mut places);
        for place in places {
            for value in VALUES {
                let mut changed = whole.clone();
                let number: f64 = value.parse().expect("a number");
                *changed.pointer_mut(&place).expect("a number") = json!(number as u64);
                write_json(file, &changed).expect("a file");
                if let Err(why) = judge(dir, options) {
                    let file = file.display();
                    wrong.push(format!("{file}: {place} is {value}: {why}"));
                }
            }
        }
        write_json(file, &whole).expect("a file");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Where the numbers of a document are, as JSON pointers.
fn numbers(value: &Value, place: &str, found: &mut Vec<String>) {
    match value {
        Value::Number(_) => found.push(place.to_owned()),
        Value::Array(values) => {
            let first = values.first().into_iter();
            first.for_each(|first| numbers(first, &format!("{place}/0"), found));
        }
        Value::Object(fields) => fields
            .iter()
            .for_each(|(name, value)| numbers(value, &format!("{place}/{name}"), found)),
        _ => {}
    }
}

/// Whether a folder whose checksums are right is refused, or has a report with figures that can be.
fn judge(dir: &Path, options: &[&str]) -> Result<(), String> {
    seal(dir);
    seal_soak(dir);
    let ended = analysis([&["report", path(dir)], options].concat());
    match ended.code {
        2 if ended.err.lines().count() == 1 => Ok(()),
        0 => possible(&dir.join("report")),
        code => Err(format!("exit code {code}: {}", ended.err)),
    }
}

fn seal_soak(dir: &Path) {
    let file = dir.join("soak.json");
    let Ok(text) = fs::read_to_string(&file) else {
        return;
    };
    let mut soak: Value = serde_json::from_str(&text).expect("JSON");
    soak["end"]["sha256"] = sha256_of_file(&dir.join("soak.csv"))
        .expect("a table")
        .into();
    fs::write(file, soak.to_string()).expect("a file");
}

fn tables(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).expect("a folder");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let mut tables: Vec<PathBuf> = paths
        .filter(|path| path.extension().is_some_and(|extension| extension == "csv"))
        .collect();
    tables.sort();
    assert!(!tables.is_empty(), "{}", dir.display());
    tables
}

const FAST: [&str; 2] = ["--format", "svg"];

/// A table of QUIC with one datagram in each call.
pub(crate) const QUIC: &str = "slice,rtt_ns,packets_sent,packets_lost,congestion_events,acks_sent,acks_received,datagrams_sent,\
datagrams_received,send_calls,receive_calls\n4,1000000,1000,1,1,100,100,1000,1000,1000,1000\n";

#[test]
fn no_column_of_a_sweep_gives_an_impossible_figure() {
    let copy = FixtureCopy::new();
    fs::write(copy.run_file("quic.csv"), QUIC).expect("a table");
    with_workers(&copy);
    set_each_column(&copy.dir(), &tables(&copy.dir().join(RUN)), &FAST);
}

#[test]
fn no_number_of_a_document_gives_an_impossible_figure() {
    let copy = FixtureCopy::new();
    let documents = [copy.dir().join("manifest.json"), copy.run_file("run.json")];
    set_each_number(&copy.dir(), &documents, &FAST);
}

#[test]
fn no_column_of_evidence_gives_an_impossible_figure() {
    let copy = FixtureCopy::explained();
    set_each_column(&copy.dir(), &tables(&evidence::dir(&copy)), &FAST);
}

#[test]
fn no_column_of_a_soak_gives_an_impossible_figure() {
    let folder = soak(1);
    set_each_column(folder.path(), &tables(folder.path()), &FAST[..2]);
}

#[test]
fn no_column_of_rr_gives_an_impossible_figure() {
    let folder = TempDir::new().expect("a folder");
    let dir = folder.path().join("run");
    copy(&fixture().with_file_name("fixture-rr"), &dir);
    let cells = fs::read_dir(dir.join("cells")).expect("cells");
    let run = cells
        .map(|cell| cell.expect("a cell").path().join("run-1"))
        .next();
    set_each_column(&dir, &tables(&run.expect("a cell")), &FAST[..2]);
}
