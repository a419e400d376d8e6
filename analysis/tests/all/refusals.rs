//! A folder that is not a run as it was written is refused in one line that names the file and the reason, and nothing is
//! written.

use std::fs;

use crate::fixture::evidence::{self, change, explain};
use crate::fixture::{FixtureCopy, analysis, edit, holds, path, replace, seal, set_field};
use tempfile::TempDir;

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
fn a_manifest_that_no_sweep_has_is_refused() {
    let label = "\"label\": \"muxer=1/deferred\"";
    let long = format!("\"label\": \"{}\"", "x".repeat(10_000));
    for (from, to, file, words) in [
        (
            "\"schema\": 3",
            "\"schema\": 7",
            "manifest.json",
            "schema is 7",
        ),
        (
            "\"budgets\": \"muxer=1/deferred\"",
            "\"budgets\": \"muxer=soon\"",
            "manifest.json",
            "muxer=soon",
        ),
        (
            label,
            &long,
            "manifest.json",
            "a label is longer than 90 characters",
        ),
        (
            "\"turn_ms\": 250",
            "\"turn_ms\": 100",
            "run.json",
            "its `plan` is not that of the manifest",
        ),
    ] {
        let copy = FixtureCopy::new();
        replace(&copy.dir().join("manifest.json"), from, to);
        copy.is_refused(&[file, words]);
    }
}

#[test]
fn a_file_of_a_run_that_was_changed_is_refused() {
    type Spoil = fn(String) -> String;
    let cases: [(&str, Spoil, &[&str]); 8] = [
        (
            "run.json",
            |text| text.replacen("\"schema\": 3", "\"schema\": 2", 1),
            &["run.json", "schema is 2"],
        ),
        (
            "run.json",
            |text| text.replace("muxer=1/deferred", "muxer=4"),
            &["run.json", "variants"],
        ),
        (
            "run.json",
            |text| text.replace("pl065536_rtt000_n02", "pl065536_rtt000_n09"),
            &["run.json", "pl065536_rtt000_n09"],
        ),
        (
            "sites.csv",
            |text| text[..text.len() - 5].to_owned(),
            &["sites.csv", "torn"],
        ),
        (
            "histograms.hlog",
            |text| text[..text.len() / 2].to_owned(),
            &["histograms.hlog", "torn"],
        ),
        (
            "histograms.hlog",
            |text| text.replacen("Tag=connection.s", "Tag=nobody.s", 1),
            &["histograms.hlog", "nobody.s"],
        ),
        // A number that was edited by hand.
        (
            "sites.csv",
            |text| set_field(&text, "2,connection,", 2, "7"),
            &["sites.csv", "7 polls of connection"],
        ),
        // A block without its last slice.
        (
            "slices.csv",
            |text| {
                let last = text.lines().rfind(|line| line.contains(",compare,"));
                text.replace(&format!("{}\n", last.expect("a slice")), "")
            },
            &["sites.csv: slice 18 has a row here, but none in slices.csv"],
        ),
    ];
    for (name, spoil, words) in cases {
        let copy = FixtureCopy::new();
        copy.edit(name, spoil);
        copy.is_refused(words);
    }
}

#[test]
fn a_cell_that_the_manifest_does_not_know_is_refused() {
    let copy = FixtureCopy::new();
    fs::create_dir(copy.dir().join("cells/pl000001_rtt000_n01")).expect("a folder");
    copy.is_refused(&["pl000001_rtt000_n01", "manifest"]);
}

#[test]
fn a_missing_table_is_named() {
    let copy = FixtureCopy::new();
    fs::remove_file(copy.run_file("bands.csv")).expect("it is there");
    copy.is_refused(&["bands.csv"]);
}

#[test]
fn a_folder_that_is_no_report_is_not_overwritten() {
    let copy = FixtureCopy::new();
    let precious = copy.beside("precious");
    fs::create_dir(&precious).expect("a folder");
    fs::write(precious.join("thesis.tex"), "all of it").expect("a file");
    copy.report(&["--out", path(&precious)])
        .refuses(&["--out", "precious"]);
    assert_eq!(fs::read_dir(&precious).expect("a folder").count(), 1);
}

#[test]
fn wrong_options_are_refused_by_name() {
    let copy = FixtureCopy::new();
    for (option, value, known) in [
        ("--threshold", "fast", "50us"),
        ("--threshold", "0us", "50us"),
        ("--site", "moon", "connection"),
        ("--metric", "beauty", "slow_percent"),
        ("--format", "gif", "png"),
        ("--margin", "throughput", "QUANTITY=VALUE"),
        ("--margin", "beauty=1%", "wake-up"),
        ("--margin", "throughput=1pp", "2%"),
        ("--margin", "late=-1pp", "0.5pp"),
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
    let (copy, other) = (FixtureCopy::new(), FixtureCopy::new());
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
    seal(&other.dir());
    analysis(["compare", path(&copy.dir()), path(&other.dir())]).refuses(&["share no cell"]);
}

#[test]
fn a_folder_that_is_no_explanation_is_refused() {
    let copy = FixtureCopy::new();
    fs::create_dir(copy.dir().join("explain")).expect("a folder");
    copy.is_refused(&["explain", "no explain.json"]);
    explain(&copy);
    let about = copy.dir().join("explain/explain.json");
    replace(&about, "\"schema\": 3", "\"schema\": 9");
    copy.is_refused(&["explain.json", "schema is 9"]);
}

#[test]
fn tables_that_are_torn_or_foreign_are_refused() {
    type Spoil = fn(String) -> String;
    let cases: [(&str, Spoil, &[&str]); 5] = [
        (
            "stacks.csv",
            |text| text[..text.len() - 3].to_owned(),
            &["stacks.csv", "torn"],
        ),
        (
            "activity.csv",
            |text| text + "999,,,,dials,3,\n",
            &["activity.csv", "slice 999"],
        ),
        (
            "slices.csv",
            |text| text.replacen(",stacks,", ",guesses,", 1),
            &["slices.csv", "line 2", "guesses"],
        ),
        (
            "run.json",
            |text| text.replace("pl065536", "pl065537"),
            &["run.json", "pl065537"],
        ),
        (
            "evidence.json",
            |text| text[..20].to_owned(),
            &["evidence.json"],
        ),
    ];
    for (name, spoil, words) in cases {
        let copy = FixtureCopy::explained();
        change(&copy, name, spoil);
        copy.is_refused(words);
    }
    let copy = FixtureCopy::explained();
    fs::remove_file(evidence::dir(&copy).join("timeline.csv")).expect("it was there");
    copy.is_refused(&["timeline.csv"]);
}

#[test]
fn one_variant_alone_is_explained_without_a_difference() {
    let copy = FixtureCopy::explained();
    let about = copy.dir().join("explain/explain.json");
    replace(&about, "[0, 2]", "[0]");
    copy.is_refused(&["slices.csv", "variant 2"]);
    for entry in fs::read_dir(evidence::dir(&copy)).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.extension().is_some_and(|extension| extension == "csv") {
            let text = fs::read_to_string(&path).expect("a table");
            fs::write(&path, evidence::rows_of(0, &text)).expect("a table");
        }
    }
    let text = copy.reported();
    holds(&text, &["| `[kernel] sendto` | 40.0 |\n"]);
    assert!(!text.contains("difference.svg") && !text.contains("budget-"));
}
