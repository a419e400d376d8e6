//! `explain`: evidence of every kind from cells of a real sweep, and what is said where there is none.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use crate::bench::{self, Bench, complaint, json, number, succeeds, table, text, words};
use nix::sys::signal::Signal;

/// A sweep of two cells that takes a moment.
fn swept(bench: &Bench) {
    let cells = "--peers 2 --rtt 0 --payload 4KiB,64KiB --budget none --budget muxer=1/deferred \
                 --max-cell-seconds 1 --turn 100";
    succeeds(&mut bench.sweep(&words(cells)));
}

fn explain(bench: &Bench, arguments: &str) -> Command {
    let mut explain = bench.command(&["explain"]);
    explain.arg(bench.run_dir()).args(words(arguments));
    explain
}

#[test]
fn the_worst_cell_is_explained_with_all_evidence_there_is() {
    let Some(bench) = Bench::near() else { return };
    swept(&bench);
    let short = "--blocks 2 --max-cell-seconds 1 --cells 1";
    succeeds(&mut explain(&bench, short));
    let dir = bench.run_dir().join("explain");
    let about = json(&dir.join("explain.json"));
    assert_eq!(about["variants"], serde_json::json!([0, 2]));
    let cell = about["cells"][0]["id"].as_str().unwrap().to_owned();
    assert_eq!(about["cells"][0]["why"], "beyond-time");
    let cell = dir.join(cell);

    let slices = table(&cell.join("slices.csv"));
    let evidence = json(&cell.join("evidence.json"));
    let missing: Vec<&str> = evidence["unavailable"]
        .as_array()
        .unwrap()
        .iter()
        .map(|missing| missing["evidence"].as_str().unwrap())
        .collect();
    for pass in [
        "stacks",
        "allocations",
        "counters",
        "system-calls",
        "timeline",
        "activity",
    ] {
        let matching: Vec<_> = slices
            .iter()
            .filter(|slice| slice["pass"] == pass)
            .collect();
        if matching.is_empty() {
            assert!(missing.contains(&pass), "{pass}: neither there nor missing");
            continue;
        }
        // Two blocks of two variants.
        assert_eq!(matching.len(), 4, "{pass}");
    }
    let pass_of: BTreeMap<u64, &str> = slices
        .iter()
        .map(|slice| (number(slice, "slice"), &*slice["pass"]))
        .collect();
    for (name, pass, counted) in [
        ("stacks.csv", "stacks", "count"),
        ("allocations.csv", "allocations", "count"),
        ("allocation_stacks.csv", "allocations", "count"),
        ("counters.csv", "counters", "count"),
        ("timeline.csv", "timeline", "duration_ns"),
    ] {
        if missing.contains(&pass) && pass != "counters" {
            continue;
        }
        let rows = table(&cell.join(name));
        assert!(
            rows.iter()
                .all(|row| pass_of[&number(row, "slice")] == pass),
            "{name}"
        );
        assert!(rows.iter().any(|row| number(row, counted) > 0), "{name}");
        assert!(rows.iter().any(|row| row["site"] == "connection"), "{name}");
    }
    let calls = table(&cell.join("system_calls.csv"));
    let is_send = |row: &bench::Row| row["what"].starts_with("send") && number(row, "amount") > 0;
    let has_sent = |slice: u64| {
        let mut slice_calls = calls.iter().filter(|row| number(row, "slice") == slice);
        slice_calls.any(is_send)
    };
    let mut traced = pass_of.iter().filter(|(_, pass)| **pass == "system-calls");
    assert!(traced.all(|(slice, _)| has_sent(*slice)), "{calls:?}");
    let activity = table(&cell.join("activity.csv"));
    let gauge = |name: &str| {
        let matching = activity.iter().filter(move |row| row["what"] == name);
        matching.map(|row| number(row, "count")).collect::<Vec<_>>()
    };
    assert_eq!(gauge("connections"), vec![2; slices.len()]);
    assert_eq!(gauge("peers"), vec![2; slices.len()]);
    assert!(gauge("connection_polls").iter().all(|polls| *polls > 0));
    bench.assert_nothing_left();

    // Once more: what was there stays.
    let other = "--cell pl004096_rtt000_n02 --blocks 1 --max-cell-seconds 1";
    succeeds(&mut explain(&bench, other));
    assert!(
        bench
            .run_dir()
            .join("explain.earlier-1/explain.json")
            .exists()
    );
    let about = json(&dir.join("explain.json"));
    assert_eq!(about["cells"][0]["id"], "pl004096_rtt000_n02");
}

#[test]
#[ignore = "exhaustive: takes its time"]
fn exhaustive_stacks_are_sampled_until_there_are_enough_and_no_more_often_than_asked() {
    let Some(bench) = Bench::near() else { return };
    swept(&bench);
    let long = "--cell pl065536_rtt000_n02 --blocks 1 --max-cell-seconds 20";
    succeeds(&mut explain(&bench, long));
    let cell = bench.run_dir().join("explain/pl065536_rtt000_n02");
    let evidence = json(&cell.join("evidence.json"));
    let interval = evidence["stack_interval_ns"].as_u64().unwrap();
    let slices = table(&cell.join("slices.csv"));
    let with_stacks: Vec<u64> = slices
        .iter()
        .filter(|slice| slice["pass"] == "stacks")
        .map(|slice| number(slice, "slice"))
        .collect();
    // The first block has all evidence, further ones what is missing for flamegraphs.
    let further = slices.iter().filter(|slice| number(slice, "block") > 1);
    assert!(further.clone().all(|slice| slice["pass"] == "stacks"));
    let slow: u64 = table(&cell.join("stacks.csv"))
        .iter()
        .filter(|row| row["site"] == "connection" && number(row, "from_ns") >= 50_000)
        .map(|row| number(row, "count"))
        .sum();
    let stop = json(&cell.join("run.json"))["stop"].clone();
    assert!(
        stop == "cap" || slow >= 300 || further.count() == 0,
        "{stop}: {slow} samples"
    );
    let bands = table(&cell.join("bands.csv"));
    let in_polls: u64 = bands
        .iter()
        .filter(|row| row["site"] == "task" && with_stacks.contains(&number(row, "slice")))
        .map(|row| number(row, "ns"))
        .sum();
    let sampled: u64 = table(&cell.join("stacks.csv"))
        .iter()
        .filter(|row| row["site"] == "task")
        .map(|row| number(row, "count"))
        .sum();
    // A busy machine gives fewer, which the report says.
    let expected = in_polls / interval;
    assert!(
        sampled > 0 && sampled < expected * 4 + 20,
        "{sampled} samples in {in_polls} ns of polls, one every {interval} ns"
    );
}

#[test]
fn what_cannot_be_explained_is_refused_in_a_line() {
    let bench = Bench::new();
    let mut no_sweep = bench.command(&["explain"]);
    let complaint = complaint(&no_sweep.arg(bench.dir.path()).output().unwrap());
    assert!(complaint.contains("SWEEP") && complaint.contains("manifest.json"));
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixture");
    let explain = || {
        let mut explain = bench.command(&["explain"]);
        explain.arg(&fixture);
        explain
    };
    bench.refuses(
        explain,
        "
--cell pl1 => --cell pl1: no such cell was measured (accepted: pl004096_rtt000_n02
--budget task=3 => --budget task=3: the sweep does not have it (accepted: muxer=1/deferred)
--blocks 0 => --blocks
",
    );
    assert!(!fixture.join("explain").exists());
}

#[test]
fn it_says_which_cells_it_would_be() {
    let bench = Bench::new();
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixture");
    let mut explain = bench.command(&["explain", "--cells", "1", "--dry-run"]);
    let listed = text(&succeeds(explain.arg(&fixture)).stdout);
    assert!(listed.starts_with("pl065536_rtt000_n02"), "{listed}");
    assert_eq!(listed.lines().count(), 2, "{listed}");
    assert!(
        fs::read_dir(&fixture)
            .unwrap()
            .flatten()
            .all(|entry| entry.file_name() != "explain")
    );
}

/// Begins to explain a cell of a sweep without an end, and waits until there is a slice.
fn begin(bench: &Bench) -> (Child, PathBuf) {
    let cell = bench.run_dir().join("explain/pl065536_rtt000_n02");
    let endless = "--cell pl065536_rtt000_n02 --blocks 1000";
    let child = explain(bench, endless).spawn().unwrap();
    let slices = cell.with_extension("partial").join("slices.csv");
    bench::rows_of(|| Some(slices.clone()));
    (child, cell)
}

#[test]
fn an_interrupt_in_the_only_cell_is_no_success_and_keeps_what_there_is() {
    let Some(bench) = Bench::near() else { return };
    swept(&bench);
    let (child, cell) = begin(&bench);
    bench::signal(bench::pid(&child), Signal::SIGTERM);
    let output = bench::finish(child);
    assert_eq!(output.status.code(), Some(130), "{}", text(&output.stderr));
    let row = json(&cell.join("run.json"));
    assert_eq!(
        (&row["status"], &row["stop"]),
        (&"ok".into(), &"interrupted".into())
    );
    assert!(!table(&cell.join("slices.csv")).is_empty());
    // On a busy machine central may need longer to write its evidence than a cell gets to end.
    let ended_by_itself = row["blocks"].is_number();
    assert_eq!(cell.join("evidence.json").exists(), ended_by_itself);
    bench.assert_nothing_left();
}

#[test]
#[ignore = "exhaustive: another way to end"]
fn exhaustive_what_dies_keeps_what_there_is_and_leaves_nothing_running() {
    let Some(bench) = Bench::near() else { return };
    swept(&bench);
    let (child, cell) = begin(&bench);
    bench::kill(bench.wait_for("central", 0));
    let output = bench::finish(child);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("central was killed by signal 9"), "{said}");
    let row = json(&cell.join("run.json"));
    assert_eq!(row["status"], "failed");
    assert!(table(&cell.join("slices.csv")).len() > 1);
    bench.assert_nothing_left();
}
