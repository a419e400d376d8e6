//! The report of a soak says what drifts. A folder that is not a soak is refused.

use std::fs;
use std::path::Path;

use crate::fixture::soak::soak;
use crate::fixture::{ApplicationOutcome, analysis, edit, holds, links, path};

fn report(folder: &Path, options: &[&str]) -> ApplicationOutcome {
    analysis([&["report", path(folder)], options].concat())
}

fn text(folder: &Path, name: &str) -> String {
    fs::read_to_string(folder.join("report").join(name)).expect("a file of the report")
}

#[test]
fn rows_of_another_soak_are_refused() {
    let soak = soak(0);
    edit(&soak.path().join("soak.csv"), |text| {
        let rows: Vec<&str> = text.lines().take(360).collect();
        rows.join("\n") + "\n"
    });
    report(soak.path(), &[]).refuses(&["soak.csv", "359 rows, but soak.json says 360"]);
    edit(&soak.path().join("soak.json"), |text| {
        text.replace("\"rows\": 360", "\"rows\": 359, \"sha256\": \"0\"")
    });
    report(soak.path(), &[]).refuses(&["soak.csv", "its checksum is not that in soak.json"]);
}

#[test]
fn a_leak_is_the_verdict_and_has_the_first_picture() {
    let soak = soak(1);
    let ended = report(soak.path(), &[]);
    ended.succeeds();
    holds(&ended.out, &["Drift of tasks alive: +60"]);
    let report = text(soak.path(), "report.md");
    holds(
        &report,
        &[
            "**Verdict.** **Drift of tasks alive**: +60",
            "other 13 series",
            "(charts/drift.png)",
            "restarts: 60",
        ],
    );
    for link in links(&report) {
        assert!(soak.path().join("report").join(link).is_file(), "{link}");
    }
    let table = text(soak.path(), "summary.csv");
    let mut drifting = table.lines().filter(|line| line.ends_with(",yes"));
    assert!(
        drifting
            .next()
            .is_some_and(|line| line.starts_with("tasks,")),
        "{table}"
    );
    assert_eq!(drifting.next(), None);
    assert_eq!(table.matches(",no\n").count(), 13, "{table}");
}

#[test]
fn a_clean_soak_has_no_drift() {
    let soak = soak(0);
    report(soak.path(), &["--format", "svg"]).succeeds();
    let table = text(soak.path(), "summary.csv");
    assert_eq!(table.matches(",no\n").count(), 14, "{table}");
}

#[test]
fn a_soak_that_was_killed_is_reported_without_its_torn_line() {
    let soak = soak(0);
    edit(&soak.path().join("soak.json"), |text| {
        let end = text.find("\"end\"").expect("it ended");
        format!("{}\"end\": null}}", &text[..end])
    });
    edit(&soak.path().join("soak.csv"), |text| {
        let lines: Vec<&str> = text.lines().take(41).collect();
        format!("{}\n410.0,9.9", lines.join("\n"))
    });
    report(soak.path(), &["--format", "svg"]).succeeds();
    let report = text(soak.path(), "report.md");
    holds(
        &report,
        &["was killed", "Of 40 rows, 36 are judged", "only 7 minutes"],
    );
}

#[test]
fn a_few_rows_are_too_short_for_a_test() {
    let soak = soak(0);
    edit(&soak.path().join("soak.csv"), |text| {
        text.lines()
            .take(4)
            .map(|line| format!("{line}\n"))
            .collect()
    });
    edit(&soak.path().join("soak.json"), |text| {
        text.replace("\"rows\": 360", "\"rows\": 3")
    });
    report(soak.path(), &["--format", "svg"]).succeeds();
    holds(
        &text(soak.path(), "report.md"),
        &["**Verdict.** The soak is too short"],
    );
}

#[test]
fn a_folder_that_is_not_a_soak_is_refused() {
    let refused = |name: &str, change: &dyn Fn(String) -> String, words: &[&str]| {
        let soak = soak(0);
        edit(&soak.path().join(name), change);
        report(soak.path(), &[]).refuses(words);
        assert!(!soak.path().join("report").exists());
    };
    refused(
        "soak.json",
        &|text| text.replace("\"schema\": 3", "\"schema\": 7"),
        &["soak.json", "schema is 7"],
    );
    refused(
        "soak.csv",
        &|text| text.replace("\n20.0,", "\n5.0,"),
        &["soak.csv", "line 3", "at_s does not go up"],
    );
    refused(
        "soak.csv",
        &|text| text.replace(",9.99,1000,", ",9.99,10,"),
        &[
            "soak.csv",
            "connection_slow_polls is ",
            "(possible: 0 to 10)",
        ],
    );
    refused(
        "soak.csv",
        &|text| {
            text.lines()
                .take(1)
                .map(|line| format!("{line}\n"))
                .collect()
        },
        &["soak.csv", "not a row"],
    );
    refused(
        "soak.csv",
        &|text| text[..text.len() - 4].to_owned(),
        &["soak.csv", "torn"],
    );
}

#[test]
fn options_of_sweeps_are_refused() {
    let soak = soak(0);
    for options in [
        ["--threshold", "100us"],
        ["--site", "muxer"],
        ["--budget", "none"],
    ] {
        report(soak.path(), &options).refuses(&[options[0], "accepted: --format"]);
    }
}
