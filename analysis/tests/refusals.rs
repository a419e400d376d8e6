//! What is not a run as it was written is refused in one line that names the file and the reason, and
//! nothing is written.
#![allow(missing_docs)]

mod bench;

use std::fs;

use bench::{Copy, analysis, edit, path};
use tempfile::TempDir;

/// Refused, and no report.
#[track_caller]
fn refused(copy: &Copy, words: &[&str]) {
    copy.report(&[]).refuses(words);
    assert!(!copy.dir().join("report").exists());
}

#[test]
fn an_empty_folder_is_not_a_sweep() {
    let folder = TempDir::new().expect("a folder");
    let ended = analysis(["report", path(folder.path())]);
    ended.refuses(&["manifest.json", path(folder.path())]);
    assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 0);
}

#[test]
fn a_folder_that_is_not_there_is_named() {
    analysis(["report", "/nowhere/at-all"]).refuses(&["/nowhere/at-all"]);
}

#[test]
fn a_foreign_folder_is_refused() {
    let folder = TempDir::new().expect("a folder");
    fs::write(
        folder.path().join("manifest.json"),
        r#"{"name": "something else"}"#,
    )
    .expect("a file");
    analysis(["report", path(folder.path())]).refuses(&["manifest.json", "schema"]);
}

#[test]
fn another_schema_is_refused() {
    let copy = Copy::new();
    edit(&copy.dir().join("manifest.json"), |text| {
        text.replacen("\"schema\": 1", "\"schema\": 7", 1)
    });
    refused(&copy, &["manifest.json", "schema 7"]);
}

#[test]
fn a_run_of_another_schema_among_others_is_refused() {
    let copy = Copy::new();
    copy.edit("run.json", |text| {
        text.replacen("\"schema\": 1", "\"schema\": 2", 1)
    });
    refused(&copy, &["run.json", "schema 2"]);
}

#[test]
fn a_run_of_other_variants_is_refused() {
    let copy = Copy::new();
    copy.edit("run.json", |text| {
        text.replace("muxer=1/deferred", "muxer=4")
    });
    refused(&copy, &["run.json", "variants"]);
}

#[test]
fn a_run_of_another_cell_is_refused() {
    let copy = Copy::new();
    copy.edit("run.json", |text| {
        text.replace("pl065536_rtt000_n02", "pl065536_rtt000_n09")
    });
    refused(&copy, &["run.json", "pl065536_rtt000_n09"]);
}

#[test]
fn a_cell_that_the_manifest_does_not_know_is_refused() {
    let copy = Copy::new();
    fs::create_dir(copy.dir().join("cells/pl000001_rtt000_n01")).expect("a folder");
    refused(&copy, &["pl000001_rtt000_n01", "manifest"]);
}

#[test]
fn a_truncated_table_is_refused() {
    let copy = Copy::new();
    copy.edit("sites.csv", |text| text[..text.len() - 5].to_owned());
    refused(&copy, &["sites.csv", "torn"]);
}

#[test]
fn a_truncated_log_is_refused() {
    let copy = Copy::new();
    copy.edit("histograms.hlog", |text| text[..text.len() / 2].to_owned());
    refused(&copy, &["histograms.hlog", "torn"]);
}

#[test]
fn a_log_that_lost_lines_is_noticed() {
    let copy = Copy::new();
    copy.edit("histograms.hlog", |text| {
        let lost = text
            .lines()
            .position(|line| line.contains("Tag=connection.v0,"));
        let kept = text.lines().enumerate().filter(|(at, _)| Some(*at) != lost);
        kept.map(|(_, line)| format!("{line}\n")).collect()
    });
    refused(&copy, &["sites.csv", "connection", "histograms.hlog"]);
}

#[test]
fn a_number_that_was_edited_by_hand_is_noticed() {
    let copy = Copy::new();
    copy.edit("sites.csv", |text| {
        let row = text
            .lines()
            .find(|line| line.starts_with("1,connection,"))
            .expect("a row");
        let mut fields: Vec<&str> = row.split(',').collect();
        fields[2] = "7";
        text.replace(row, &fields.join(","))
    });
    refused(&copy, &["sites.csv", "7 polls of connection"]);
}

#[test]
fn a_word_where_a_number_belongs_is_refused() {
    let copy = Copy::new();
    copy.edit("sites.csv", |text| {
        text.replacen("1,connection,", "one,connection,", 1)
    });
    refused(&copy, &["sites.csv", "one"]);
}

#[test]
fn a_missing_column_is_named() {
    let copy = Copy::new();
    copy.edit("slices.csv", |text| {
        text.replacen("steal_ms", "stolen_ms", 1)
    });
    refused(&copy, &["slices.csv", "steal_ms"]);
}

#[test]
fn a_missing_table_is_named() {
    let copy = Copy::new();
    fs::remove_file(copy.run_file("bands.csv")).expect("it is there");
    refused(&copy, &["bands.csv"]);
}

#[test]
fn blocks_that_are_gone_are_noticed() {
    let copy = Copy::new();
    copy.edit("slices.csv", |text| {
        let last = text
            .lines()
            .rfind(|line| line.contains(",compare,"))
            .expect("a slice");
        text.replace(&format!("{last}\n"), "")
    });
    refused(&copy, &["slices.csv", "blocks"]);
}

#[test]
fn a_folder_that_is_no_report_is_not_overwritten() {
    let copy = Copy::new();
    let precious = copy.beside("precious");
    fs::create_dir(&precious).expect("a folder");
    fs::write(precious.join("thesis.tex"), "all of it").expect("a file");
    copy.report(&["--out", path(&precious)])
        .refuses(&["--out", "precious"]);
    assert_eq!(fs::read_dir(&precious).expect("a folder").count(), 1);
}

#[test]
fn wrong_options_are_refused_by_name() {
    let copy = Copy::new();
    for (option, value, known) in [
        ("--threshold", "fast", "50us"),
        ("--threshold", "0us", "50us"),
        ("--site", "moon", "connection"),
        ("--metric", "beauty", "slow_percent"),
        ("--format", "gif", "png"),
    ] {
        let ended = copy.report(&[option, value]);
        assert_eq!(ended.code, 2, "{option}");
        assert!(
            ended.err.contains(option) && ended.err.contains(known),
            "{}",
            ended.err
        );
    }
    copy.report(&["--budget", "muxer=99"])
        .refuses(&["--budget", "muxer=99", "muxer=1/deferred"]);
    assert!(!copy.dir().join("report").exists());
}

#[test]
fn sweeps_without_a_common_cell_are_not_compared() {
    let (copy, other) = (Copy::new(), Copy::new());
    let moved = |text: String| text.replace("65536", "65537").replace("4096", "4097");
    edit(&other.dir().join("manifest.json"), moved);
    let cells = other.dir().join("cells");
    for entry in fs::read_dir(&cells).expect("cells") {
        let from = entry.expect("a cell").path();
        edit(&from.join("run-1/run.json"), moved);
        let name = moved(
            from.file_name()
                .expect("a name")
                .to_string_lossy()
                .into_owned(),
        );
        fs::rename(&from, cells.join(name)).expect("a new name");
    }
    analysis(["compare", path(&copy.dir()), path(&other.dir())]).refuses(&["share no cell"]);
}
