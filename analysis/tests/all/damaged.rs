//! Runs that were changed or mixed up are refused, and `verify` notices a change of any file.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::fixture::{self, FixtureCopy, RUN, RUNS, analysis, edit, path, replace, set_field};

fn files(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).expect("a folder");
    entries
        .map(|entry| entry.expect("an entry").path())
        .collect()
}

fn name(path: &Path) -> &str {
    path.file_name()
        .and_then(|name| name.to_str())
        .expect("a name")
}

fn pipe_at(path: &Path) {
    let _ = fs::remove_file(path);
    let made = Command::new("mkfifo").arg(path).status();
    assert!(made.expect("coreutils are there").success());
}

#[test]
fn any_change_of_any_file_of_a_run_is_refused() {
    for file in files(&FixtureCopy::new().dir().join(RUN)) {
        if name(&file) == "run.json" {
            continue;
        }
        let copy = FixtureCopy::new();
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
    let copy = FixtureCopy::new();
    copy.edit("run.json", |text| {
        text.replace("\"took_ms\": 5462", "\"took_ms\": 5463")
    });
    let ended = analysis(["report", path(&copy.dir())]);
    ended.refuses(&["run.json", "its checksum is not that in run.json"]);
}

#[test]
fn tables_of_another_cell_are_refused() {
    for table in ["children.csv", "bands.csv", "peers.csv"] {
        let copy = FixtureCopy::new();
        fs::copy(copy.dir().join(RUNS[1]).join(table), copy.run_file(table)).expect("a copy");
        let ended = analysis(["report", path(&copy.dir())]);
        ended.refuses(&[RUN, table, "is of another run"]);
    }
}

#[test]
fn runs_without_checksums_are_declared() {
    let copy = FixtureCopy::new();
    for run in RUNS {
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

#[test]
fn figures_that_no_run_can_have_are_refused() {
    let cases = [
        (
            "slices.csv",
            "1,",
            5,
            "0",
            "slice 1: duration_ms is 0 (possible: ",
        ),
        ("slices.csv", "1,", 5, "200", "200 ms, of 250 ms planned"),
        ("slices.csv", "1,", 7, "2", "2 turns, of 1 planned"),
        ("slices.csv", "2,", 8, "966", "966 requests, but 965 in"),
        (
            "slices.csv",
            "1,",
            5,
            "9e9",
            "slice 1: duration_ms is 9000000000 (possible: ",
        ),
        ("slices.csv", "1,", 5, "1e300", "slice 1: duration_ms is 1"),
        (
            "slices.csv",
            "1,",
            12,
            "2500000000",
            "slice 1: central_cpu_ns is 2500000000 (possible: 0 to ",
        ),
        (
            "slices.csv",
            "1,",
            8,
            "18446744073709551615",
            "slice 1: requests is 18446744073709552000 (possible: ",
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
            "bands.csv: slice 1: ns is 11055472 (possible: 0 to 9990000)",
        ),
        (
            "children.csv",
            "1,",
            5,
            "999999999999",
            "children.csv: slice 1: ns is 999999999999 (possible: 0 to ",
        ),
        (
            "blocks.csv",
            "1,",
            1,
            "inf",
            "block 1: duration_ms is inf (possible: ",
        ),
    ];
    for (table, row, field, value, words) in cases {
        let copy = FixtureCopy::new();
        copy.edit(table, |text| set_field(&text, row, field, value));
        copy.is_refused(&[words]);
    }
}

/// A copy with two launches of each cell.
fn twice() -> FixtureCopy {
    let copy = FixtureCopy::new();
    let manifest = copy.dir().join("manifest.json");
    replace(&manifest, "\"repeat\": 1", "\"repeat\": 2");
    for run in RUNS {
        let (first, second) = (
            copy.dir().join(run),
            copy.dir().join(run).with_file_name("run-2"),
        );
        fixture::copy(&first, &second);
        replace(&second.join("run.json"), "\"run\": 1", "\"run\": 2");
    }
    copy
}

#[test]
fn missing_rows_that_other_tables_imply_are_refused() {
    twice().report(&["--format", "svg"]).succeeds();
    let without = |tables: &[(&str, &str)]| {
        let copy = twice();
        for (table, start) in tables {
            edit(
                &copy.dir().join(RUN).with_file_name("run-2").join(table),
                |text| {
                    let kept = text
                        .lines()
                        .enumerate()
                        .filter(|(at, line)| *at == 0 || !line.contains(start));
                    kept.map(|(_, line)| format!("{line}\n")).collect()
                },
            );
        }
        copy
    };
    without(&[("sites.csv", "")]).is_refused(&[
        "run-2/bands.csv: connection of slice 1 has a row here, but none in sites.csv",
    ]);
    let of_polls = ["sites.csv", "bands.csv", "children.csv", "bounds.csv"];
    let without_polls = without(&of_polls.map(|table| (table, "")));
    without_polls.is_refused(&["run-2: slice 1: turns.csv counts more polls than sites.csv"]);
    let tables = ["sites.csv", "bands.csv", "children.csv"];
    let of_swarm = tables.map(|table| (table, ",swarm,"));
    let all = [&of_swarm[..], &[("histograms.hlog", "Tag=swarm")]].concat();
    without(&all).is_refused(&[
        "run-2/sites.csv: its sites are connection, muxer, task, but those in ",
        "run-1/sites.csv are connection, swarm, muxer, task",
    ]);
}

/// Runs the program under a limit. Returns its exit code and what it said.
fn limited(limit: &str, arguments: &[&str]) -> (Option<i32>, String) {
    let mut command = Command::new("prlimit");
    command.arg(limit).arg(env!("CARGO_BIN_EXE_analysis"));
    let output = command
        .args(arguments)
        .output()
        .expect("util-linux is there");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code(), said)
}

#[test]
fn a_file_that_becomes_too_large_is_one_line() {
    let copy = FixtureCopy::new();
    let (code, said) = limited("--fsize=100000", &["report", path(&copy.dir())]);
    assert_eq!((code, said.lines().count()), (Some(1), 1), "{said}");
    assert!(said.contains("File too large"), "{said}");
    let files = files(&copy.dir());
    assert!(!files.iter().any(|file| name(file).starts_with(".report-")));
}

/// The test tries many limits, because how much memory is enough depends on the machine.
#[test]
fn too_little_memory_is_one_line() {
    const MIB: u64 = 1 << 20;
    let mut refused = 0;
    for size in (40..300).step_by(20) {
        let limit = format!("--as={}", size * MIB);
        // With less memory the program does not even start.
        if limited(&limit, &["--version"]).0 != Some(0) {
            continue;
        }
        let copy = FixtureCopy::new();
        let (code, said) = limited(&limit, &["report", path(&copy.dir()), "--format", "svg"]);
        let lines = said.lines().count();
        let is_right = matches!((code, lines), (Some(0), 0) | (Some(1), 1));
        assert!(is_right, "{size} MiB: {code:?}: {said}");
        refused += lines;
        let left = || {
            let entries = fs::read_dir(copy.dir()).expect("a folder").flatten();
            let names = entries.map(|entry| entry.file_name().into_string().expect("text"));
            names.filter(|name| name.starts_with(".report-")).count()
        };
        // The folder stays until a report has the memory that it needs.
        if left() > 0 {
            copy.report(&["--format", "svg"]).succeeds();
            assert_eq!(left(), 0);
        }
    }
    assert!(refused > 0, "it needs no memory");
}

#[test]
fn a_page_is_written_over_no_other_file() {
    let copy = FixtureCopy::new();
    let out = copy.beside("out");
    fs::create_dir(&out).expect("a folder");
    let page = out.join("index.html");
    let refused = || {
        let dir = copy.dir();
        let ended = analysis(["page", path(&dir), "--out", path(&out)]);
        ended.refuses(&["index.html: this file exists and is not a page"]);
    };
    pipe_at(&page);
    refused();
    fs::remove_file(&page).expect("it is there");
    File::create(&page)
        .and_then(|file| file.set_len(4 << 30))
        .expect("a sparse file");
    refused();
}

#[test]
fn characters_that_are_no_letters_are_refused_in_tables() {
    for letter in ["\u{1b}", "\u{ffff}"] {
        let copy = FixtureCopy::new();
        copy.edit("children.csv", |text| {
            set_field(&text, "1,connection,", 3, letter)
        });
        copy.is_refused(&[
            "children.csv",
            "line 2: child: it contains a control character",
        ]);
    }
}

#[test]
fn pipes_and_endless_files_are_refused() {
    for file in ["run.json", "sites.csv", "histograms.hlog", "peers.csv"] {
        let copy = FixtureCopy::new();
        pipe_at(&copy.run_file(file));
        let ended = analysis(["report", path(&copy.dir())]);
        ended.refuses(&[file, "it is no regular file"]);
        let copy = FixtureCopy::new();
        let sparse = File::create(copy.run_file(file)).expect("a file");
        sparse.set_len(3 << 30).expect("a sparse file");
        let ended = analysis(["report", path(&copy.dir())]);
        ended.refuses(&[file, "it is longer than 256 MiB"]);
    }
    let copy = FixtureCopy::new();
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
    let copy = FixtureCopy::new();
    copy.report(&["--format", "png,svg"]).succeeds();
    let report = copy.dir().join("report");
    let verify = |words: &str| {
        let ended = analysis(["verify", path(&copy.dir())]);
        assert_eq!(ended.code, 1, "{}{}", ended.out, ended.err);
        assert!(ended.err.contains(words), "{}", ended.err);
    };
    analysis(["verify", path(&copy.dir())]).succeeds();
    for format in ["svg", "png"] {
        let is_one = |path: &PathBuf| {
            path.extension()
                .is_some_and(|extension| extension == format)
        };
        let picture = files(&report.join("charts"))
            .into_iter()
            .find(is_one)
            .expect("a picture");
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
    let table = report.join("summary.csv");
    let kept = fs::read(&table).expect("a table");
    edit(&table, |text| {
        let row = text.lines().nth(3).expect("a row").to_owned();
        text.replace(&row, &set_field(&row, "", 6, "123.4"))
    });
    for words in ["summary.csv: line 4: ", ",123.4,", "but the run gives"] {
        verify(words);
    }
    fs::write(&table, kept).expect("a table");
    replace(&report.join("report.md"), "Verdict", "Opinion");
    verify("report.md: line 3");
    replace(&report.join("report.md"), "Opinion", "Verdict");
    for file in ["report.json", "report.md", "summary.csv", "predicted.csv"] {
        let (file, name) = (report.join(file), file);
        let kept = fs::read(&file).expect("a file of the report");
        fs::write(&file, [&kept[..], b"\n"].concat()).expect("a file");
        verify(name);
        fs::write(&file, kept).expect("a file");
    }
}
