//! A run that was changed, mixed up or made up is refused, and `verify` looks at everything that it vouches for.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::bench::{Copy, RUN, analysis, edit, path, seal};
use tempfile::TempDir;

const OTHER_RUN: &str = "cells/pl004096_rtt000_n02/run-1";

fn files(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).expect("a folder");
    entries
        .map(|entry| entry.expect("an entry").path())
        .collect()
}

fn name(path: &Path) -> &str {
    path.file_name().and_then(|it| it.to_str()).expect("a name")
}

fn pipe_at(path: &Path) {
    let _ = fs::remove_file(path);
    let made = Command::new("mkfifo").arg(path).status();
    assert!(made.expect("coreutils are there").success());
}

#[test]
fn any_change_of_any_file_of_a_run_is_refused() {
    for file in files(&Copy::new().dir().join(RUN)) {
        if name(&file) == "run.json" {
            continue;
        }
        let copy = Copy::new();
        let file = copy.run_file(name(&file));
        let mut bytes = fs::read(&file).expect("a file");
        match bytes.last_mut() {
            Some(last) => *last ^= 1,
            None => bytes.push(b'\n'),
        }
        fs::write(&file, bytes).expect("a copy can be written");
        let ended = analysis(["report", path(&copy.dir())]);
        ended.refuses(&[name(&file), "its checksum is not that in run.json"]);
    }
    let copy = Copy::new();
    copy.edit("run.json", |text| {
        text.replace("\"took_ms\": 5462", "\"took_ms\": 5463")
    });
    let ended = analysis(["report", path(&copy.dir())]);
    ended.refuses(&["run.json", "its checksum is not that in run.json"]);
}

#[test]
fn tables_of_another_cell_are_refused() {
    for table in ["children.csv", "bands.csv", "peers.csv"] {
        let copy = Copy::new();
        fs::copy(copy.dir().join(OTHER_RUN).join(table), copy.run_file(table)).expect("a copy");
        let ended = analysis(["report", path(&copy.dir())]);
        ended.refuses(&[RUN, table, "is of another run"]);
    }
}

#[test]
fn runs_without_checksums_are_declared() {
    let copy = Copy::new();
    for run in [RUN, OTHER_RUN] {
        edit(&copy.dir().join(run).join("run.json"), |text| {
            let mut row: serde_json::Value = serde_json::from_str(&text).expect("JSON");
            row.as_object_mut().expect("fields").remove("files");
            row.to_string()
        });
    }
    analysis(["report", path(&copy.dir())]).succeeds();
    assert!(
        copy.text("report.md")
            .contains("Without checksums: 2 runs.")
    );
}

/// Sets a field in the first row that begins so.
fn set(text: &str, start: &str, field: usize, value: &str) -> String {
    let row = text.lines().find(|line| line.starts_with(start));
    let row = row.expect("a row");
    let mut fields: Vec<&str> = row.split(',').collect();
    fields[field] = value;
    text.replacen(row, &fields.join(","), 1)
}

#[test]
fn figures_that_no_run_can_have_are_refused() {
    let cases = [
        ("slices.csv", "1,", 5, "0", "slice 1: its duration is 0 ms"),
        ("slices.csv", "1,", 5, "200", "200 ms, of 250 ms planned"),
        ("slices.csv", "1,", 7, "2", "2 turns, of 1 planned"),
        ("slices.csv", "2,", 8, "966", "966 requests, but 965 in"),
        (
            "slices.csv",
            "1,",
            5,
            "9e9",
            "slice 1: its duration is 9000000000 ms",
        ),
        ("slices.csv", "1,", 5, "1e300", "line 2: duration_ms"),
        (
            "slices.csv",
            "1,",
            12,
            "2500000000",
            "slice 1: CPU time is 2500 ms",
        ),
        (
            "slices.csv",
            "1,",
            8,
            "18446744073709551615",
            "line 2: requests: 18446744073709551615 is negative or not",
        ),
        (
            "sites.csv",
            "1,connection,",
            3,
            "1",
            "are not ready, pending and yielded",
        ),
        (
            "sites.csv",
            "1,connection,",
            7,
            "1",
            "bands.csv: slice 1: ns of connection",
        ),
        (
            "bands.csv",
            "1,connection,",
            4,
            "999",
            "bands.csv: slice 1: polls of connection",
        ),
        (
            "children.csv",
            "1,",
            5,
            "999999999999",
            "children.csv: slice 1: the children",
        ),
        ("blocks.csv", "1,", 1, "inf", "line 2: duration_ms"),
    ];
    for (table, row, field, value, words) in cases {
        let copy = Copy::new();
        copy.edit(table, |text| set(&text, row, field, value));
        copy.is_refused(&[words]);
    }
}

#[test]
fn what_is_no_regular_file_or_has_no_end_is_refused() {
    for file in ["run.json", "sites.csv", "histograms.hlog", "peers.csv"] {
        let copy = Copy::new();
        pipe_at(&copy.run_file(file));
        let ended = analysis(["report", path(&copy.dir())]);
        ended.refuses(&[file, "it is no regular file"]);
        let copy = Copy::new();
        let sparse = File::create(copy.run_file(file)).expect("a file");
        sparse.set_len(3 << 30).expect("a sparse file");
        let ended = analysis(["report", path(&copy.dir())]);
        ended.refuses(&[file, "it is longer than 256 MiB"]);
    }
    let folder = TempDir::new().expect("a folder");
    let table = folder.path().join("per_run.csv");
    pipe_at(&table);
    analysis(["published", path(&table)]).refuses(&["per_run.csv", "no regular file"]);
    let copy = Copy::new();
    copy.report(&[]).succeeds();
    for file in ["report.md", "report.json", "summary.csv"] {
        let path_of_file = copy.dir().join("report").join(file);
        let kept = fs::read(&path_of_file).expect("a file");
        pipe_at(&path_of_file);
        analysis(["verify", path(&copy.dir())]).refuses(&[file, "it is no regular file"]);
        fs::remove_file(&path_of_file).expect("it is there");
        fs::write(path_of_file, kept).expect("a file");
    }
}

#[test]
fn verify_looks_at_everything() {
    let copy = Copy::new();
    copy.report(&["--format", "png,svg"]).succeeds();
    let report = copy.dir().join("report");
    let verify = |words: &str| {
        let ended = analysis(["verify", path(&copy.dir())]);
        assert_eq!(ended.code, 1, "{}{}", ended.out, ended.err);
        assert!(ended.err.contains(words), "{}", ended.err);
    };
    analysis(["verify", path(&copy.dir())]).succeeds();
    for extension in ["svg", "png"] {
        let is_one = |path: &PathBuf| path.extension().is_some_and(|it| it == extension);
        let picture = files(&report.join("charts")).into_iter().find(is_one);
        let picture = picture.expect("a picture");
        let kept = fs::read(&picture).expect("a picture");
        fs::write(&picture, "<svg/>").expect("a picture");
        verify(&format!("{}: it is not what the run gives", name(&picture)));
        fs::write(&picture, kept).expect("a picture");
    }
    for folder in [report.join("charts"), report.clone(), copy.dir().join(RUN)] {
        let stray = folder.join("stray.svg");
        fs::write(&stray, "<svg/>").expect("a file");
        verify("stray.svg: it does not belong to the r");
        fs::remove_file(stray).expect("it is there");
    }
    edit(&report.join("report.json"), |text| {
        text.replace("\"analysis\": \"", "\"analysis\": \"9")
    });
    verify("report.json: analysis 9");
    edit(&report.join("report.json"), |text| {
        text.replace("\"9", "\"")
    });
    for file in ["report.json", "report.md", "summary.csv", "predicted.csv"] {
        let (file, name) = (report.join(file), file);
        let kept = fs::read(&file).expect("a file of the report");
        fs::write(&file, [&kept[..], b"\n"].concat()).expect("a file");
        verify(name);
        fs::write(&file, kept).expect("a file");
    }
}

/// The checksums hold whatever order the fields have.
#[test]
fn a_run_that_was_sealed_again_is_accepted() {
    let copy = Copy::new();
    seal(&copy.dir());
    analysis(["report", path(&copy.dir())]).succeeds();
}
