//! A sweep is continued from runs that are as they were written, and from nothing else.

use std::fs;
use std::path::Path;

use crate::bench::{Bench, SMALL, complaint, holds, json, text};
use run_format::files::read_versioned;
use run_format::{Pace, RunRow};
use serde_json::{Value, json};

#[test]
fn a_run_that_was_changed_is_measured_again() {
    let Some(bench) = Bench::near() else { return };
    let mut sweep = bench.sweep(&SMALL);
    sweep.args(["--rtt", "0", "--no-aa", "--budget", "none"]);
    assert!(sweep.output().unwrap().status.success());
    let run = bench.only("run-1");
    let sums = json(&run.join("run.json"))["files"].clone();
    let files = fs::read_dir(&run).unwrap().count();
    assert_eq!(sums.as_object().unwrap().len(), files, "{sums}");

    let table = run.join("peers.csv");
    let changed = fs::read_to_string(&table).unwrap().replacen('1', "2", 1);
    fs::write(&table, changed).unwrap();
    let output = bench.resume().output().unwrap();
    let said = text(&output.stderr);
    assert!(output.status.success(), "{said}");
    holds(&said, &["peers.csv: its checksum is not that in run.json"]);
    assert_eq!(
        bench.runs("run-1.failed-1").len(),
        1,
        "what was there is kept"
    );
    assert_eq!(bench.runs("run-1").len(), 1);
    let again = text(&bench.resume().output().unwrap().stderr);
    assert!(again.contains("0 runs measured, 0 invalid"), "{again}");

    // As a run of another sweep, whose files are as they were written.
    let mut row: RunRow = read_versioned(&run.join("run.json")).unwrap();
    row.config.load.pace = Pace::Outstanding(3);
    row.rewrite(&run).unwrap();
    let said = text(&bench.resume().output().unwrap().stderr);
    let expected = "its load is not that of this sweep; the run is measured again";
    assert!(said.contains(expected), "{said}");
    assert_eq!(bench.runs("run-1.failed-2").len(), 1);
}

/// With any of them, planning the sweep would not come to an end.
#[test]
fn a_manifest_with_numbers_that_no_sweep_has_is_neither_continued_nor_explained() {
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixture/manifest.json");
    let manifest = json(&fixture);
    for (field, value, words) in [
        ("repeat", json!(1_000_000), "repeat is 1000000"),
        (
            "axes",
            json!({"peers": vec![2; 400], "rtt_ms": vec![0.0; 400], "payload_bytes": [1]}),
            "axes have 160000 cells",
        ),
    ] {
        let bench = Bench::new();
        let dir = bench.run_dir();
        let mut manifest = manifest.clone();
        manifest["config"][field] = value;
        let write = |name: &str, value: &Value| {
            fs::create_dir_all(&dir).unwrap();
            fs::write(dir.join(name), value.to_string()).unwrap();
        };
        write("manifest.json", &manifest);
        let said = complaint(&bench.resume().output().unwrap());
        assert!(said.contains(words), "{said}");
        let mut explain = bench.command(&["explain", "--dry-run"]);
        let said = complaint(&explain.arg(&dir).output().unwrap());
        assert!(said.contains(words), "{said}");
        let search = json!({
            "schema": 3, "config": manifest["config"], "chooses_cells": false, "time_ms": 15_000,
        });
        write("search.json", &search);
        let said = complaint(&bench.resume().output().unwrap());
        assert!(said.contains(words), "{said}");
    }
}
