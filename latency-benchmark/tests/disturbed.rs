//! Blocks in which a process stood still are marked, and the report leaves them out and says so.
#![allow(clippy::unwrap_used)]

mod bench;

use std::{fs, process::Command, thread::sleep, time::Duration};

use bench::{Bench, Row, analysis, can_run, json, signal, table, text, words};
use nix::sys::signal::Signal::{SIGCONT, SIGSTOP};

/// Stops the process of that verb for a while in the middle of a cell. Returns the blocks, and the report.
fn stop(verb: &str, bench: &Bench) -> (Vec<Row>, String) {
    let mut sweep = bench.sweep(&words("--peers 2 --rtt 0 --payload 4KiB"));
    sweep.args(["--budget", "none", "--max-cell-seconds", "6"]);
    sweep.args(["--precision", "0.0001pp,0.0001%"]);
    let sweep = sweep.spawn().unwrap();
    let process = bench.wait_for(verb, 0);
    bench.wait_for_rows("blocks.csv");
    signal(process, SIGSTOP);
    sleep(Duration::from_secs(1));
    signal(process, SIGCONT);
    let output = sweep.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let run = bench.only("run-1");
    let mut report = Command::new(analysis());
    report.arg("report").arg(bench.run_dir());
    let output = report.args(["--format", "svg"]).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let report = fs::read_to_string(bench.run_dir().join("report/report.md")).unwrap();
    (table(&run.join("blocks.csv")), report)
}

fn value(row: &Row, column: &str) -> f64 {
    row[column].parse().unwrap()
}

#[test]
fn the_block_in_which_central_stood_still_is_left_out() {
    if !can_run(false) {
        return;
    }
    let bench = Bench::new();
    let (blocks, report) = stop("central", &bench);
    let late = |row: &&Row| value(row, "latest_ms") > 900.0;
    let [late] = blocks.iter().filter(late).collect::<Vec<_>>()[..] else {
        panic!("one block: {blocks:?}");
    };
    assert!(value(late, "duration_ms") > value(late, "latest_ms"));
    let said = "of them central stood still.";
    assert!(report.contains(said), "{report}");
    assert!(report.contains("disturbed and set aside. In"), "{report}");
}

#[test]
fn blocks_in_which_a_peer_was_stopped_are_left_out() {
    if !can_run(false) {
        return;
    }
    let bench = Bench::new();
    let (blocks, report) = stop("peer", &bench);
    let stops: f64 = blocks.iter().map(|row| value(row, "stops_found")).sum();
    assert!(stops > 0.0, "{blocks:?}");
    assert_eq!(value(&blocks[0], "stops_found"), 0.0);
    let said = "of them a peer or the delay line was stopped.";
    assert!(report.contains(said), "{report}");
}

#[test]
fn a_run_beside_another_sweep_says_so_and_the_report_too() {
    if !can_run(false) {
        return;
    }
    let (first, second) = (Bench::new(), Bench::new());
    let mut command = first.sweep(&words("--peers 1 --rtt 0 --payload 4KiB"));
    let running = command.args(["--turn", "600000"]).spawn().unwrap();
    first.wait_for("central", 0);
    let output = second.sweep(&bench::SMALL).arg("--rtt=0").output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    bench::kill(bench::pid(&running));
    running.wait_with_output().unwrap();
    let run = second.only("run-1");
    assert_eq!(json(&run.join("run.json"))["beside"], "sweep");
    let mut report = Command::new(analysis());
    report.arg("report").arg(second.run_dir());
    assert!(report.args(["--format", "svg"]).status().unwrap().success());
    let report = fs::read_to_string(second.run_dir().join("report/report.md")).unwrap();
    let said = "During 1 run something else measured on this machine, too.";
    assert!(report.contains(said), "{report}");
}
