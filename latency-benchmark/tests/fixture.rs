//! The committed sweep in `tests/fixture`, and the run of `rr` in `tests/fixture-rr`, are what this program
//! writes: same files, same columns, same fields of the same kinds, same histograms. The analysis is tested
//! with them, so that the two cannot drift apart. Their figures are their own; how they were made is in their
//! manifests.
#![allow(clippy::unwrap_used, missing_docs)]

mod bench;

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use bench::{Bench, can_run, json, text};
use serde_json::Value;

fn fixture() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixture")
}

/// As in the fixture's manifest, but shorter.
const ARGUMENTS: [&str; 12] = [
    "--peers",
    "2",
    "--rtt",
    "0",
    "--payload",
    "4KiB,64KiB",
    "--budget",
    "none",
    "--budget",
    "muxer=1/deferred",
    "--max-cell-seconds",
    "3",
];

#[test]
fn the_fixture_is_as_this_program_writes() {
    if !can_run(false) {
        return;
    }
    let bench = Bench::new();
    let output = bench.sweep(&ARGUMENTS).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let (old, new) = (fixture(), bench.run_dir());
    assert_eq!(files(&old, &old), files(&new, &new));
    assert_eq!(
        shape(&json(&old.join("manifest.json"))),
        shape(&json(&new.join("manifest.json")))
    );
    for run in [
        "cells/pl004096_rtt000_n02/run-1",
        "cells/pl065536_rtt000_n02/run-1",
    ] {
        let (old, new) = (old.join(run), new.join(run));
        assert_eq!(
            shape(&json(&old.join("run.json"))),
            shape(&json(&new.join("run.json")))
        );
        for table in [
            "slices.csv",
            "sites.csv",
            "bands.csv",
            "children.csv",
            "peers.csv",
        ] {
            assert_eq!(
                header(&old.join(table)),
                header(&new.join(table)),
                "{table}"
            );
        }
        assert_eq!(tags(&old), tags(&new));
    }
}

#[test]
fn the_fixture_of_rr_is_as_this_program_writes() {
    if !can_run(false) {
        return;
    }
    let bench = Bench::new();
    let mut command = bench.command(&["rr", "--payload", "64B", "--seconds", "2"]);
    command
        .arg("--out")
        .arg(bench.out())
        .args(["--name", "run"]);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let old = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixture-rr");
    let new = bench.run_dir();
    assert_eq!(files(&old, &old), files(&new, &new));
    for name in ["rr.json", "cells/pl000064_rtt000_n01/run-1/run.json"] {
        assert_eq!(
            shape(&json(&old.join(name))),
            shape(&json(&new.join(name))),
            "{name}"
        );
    }
    let [old, new] = [old, new].map(|dir| dir.join("cells/pl000064_rtt000_n01/run-1"));
    assert_eq!(header(&old.join("rr.csv")), header(&new.join("rr.csv")));
    assert_eq!(tags(&old), tags(&new));
}

/// Every file's path below `root`, but for the lines inserted into upstream's sources, which show some of
/// those around them.
fn files(root: &Path, dir: &Path) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(root, &path));
        } else if !path.ends_with(".lock") && !path.ends_with("edits.diff") {
            found.insert(path.strip_prefix(root).unwrap().to_owned());
        }
    }
    found
}

/// The paths of all fields, with the kind of each.
fn shape(value: &Value) -> BTreeSet<String> {
    let mut shape = BTreeSet::new();
    add_shape(value, "", &mut shape);
    shape
}

fn add_shape(value: &Value, at: &str, shape: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                add_shape(field, &format!("{at}.{name}"), shape);
            }
        }
        Value::Array(items) => {
            for item in items {
                add_shape(item, &format!("{at}[]"), shape);
            }
        }
        // What a machine cannot tell is null.
        Value::Null => {}
        _ if MACHINE.iter().any(|field| at.starts_with(field)) => {}
        Value::Bool(_) => drop(shape.insert(format!("{at}: bool"))),
        Value::Number(_) => drop(shape.insert(format!("{at}: number"))),
        Value::String(_) => drop(shape.insert(format!("{at}: string"))),
    }
}

/// Known on some machines only.
const MACHINE: [&str; 4] = [
    ".machine",
    ".tool.commit",
    ".network.counters",
    ".network.lab",
];

fn header(table: &Path) -> String {
    let text = fs::read_to_string(table).unwrap();
    text.lines().next().unwrap_or_default().to_owned()
}

fn tags(run: &Path) -> BTreeSet<String> {
    let text = fs::read_to_string(run.join("histograms.hlog")).unwrap();
    let tags = text.lines().filter_map(|line| line.strip_prefix("Tag="));
    tags.filter_map(|line| Some(line.split(',').next()?.to_owned()))
        .collect()
}
