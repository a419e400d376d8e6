//! Blocks in which a process stood still are disturbed, and the report says so.

use std::process::Child;
use std::thread::sleep;
use std::time::Duration;

use crate::bench::{self, Bench, Row, signal, table, text, value, words};
use nix::sys::signal::Signal::{SIGCONT, SIGSTOP};

/// Stops the process of that verb for a while in the middle of a cell. Returns the blocks, and the report.
fn stop(verb: &str, bench: &Bench) -> (Vec<Row>, String) {
    let mut sweep = bench.sweep(&words("--peers 2 --rtt 0 --payload 4KiB"));
    sweep.args(["--budget", "none", "--max-cell-seconds", "6"]);
    sweep.args(["--precision", "0.0001ms,0.0001%"]);
    stop_in(sweep.spawn().unwrap(), verb, bench);
    let run = bench.only("run-1");
    (table(&run.join("blocks.csv")), bench.report())
}

/// Stops the process of that verb twice after two blocks, and waits for the end.
fn stop_in(running: Child, verb: &str, bench: &Bench) {
    let process = bench.wait_for(verb, 0);
    bench::rows_of(|| {
        let partial = bench.runs("run-1.partial");
        // A soak has no cells.
        let folder = partial.into_iter().next().unwrap_or(bench.run_dir());
        Some(folder.join("blocks.csv"))
    });
    // Not only between two blocks, when nothing is measured.
    for _ in 0..2 {
        sleep(Duration::from_millis(130));
        signal(process, SIGSTOP);
        sleep(Duration::from_secs(1));
        signal(process, SIGCONT);
    }
    let output = bench::finish(running);
    assert!(output.status.success(), "{}", text(&output.stderr));
}

#[test]
fn the_block_in_which_central_stood_still_is_disturbed() {
    let Some(bench) = Bench::near() else { return };
    let (blocks, report) = stop("central", &bench);
    let late = |row: &&Row| value(row, "latest_ms") > 900.0;
    let late = blocks.iter().find(late).expect("a block with the stop");
    assert!(value(late, "duration_ms") > value(late, "latest_ms"));
    let said = "of them central stood still";
    assert!(report.contains(said), "{report}");
}

#[test]
#[ignore = "exhaustive: another process"]
fn exhaustive_blocks_in_which_a_peer_was_stopped_are_disturbed() {
    let Some(bench) = Bench::near() else { return };
    let (blocks, report) = stop("peer", &bench);
    let stops: f64 = blocks.iter().map(|row| value(row, "stops_found")).sum();
    assert!(stops > 0.0, "{blocks:?}");
    assert_eq!(value(&blocks[0], "stops_found"), 0.0);
    let said = "of them a peer or the delay line was stopped";
    assert!(report.contains(said), "{report}");
}

#[test]
#[ignore = "exhaustive: another verb"]
fn exhaustive_blocks_of_rr_are_disturbed_by_the_same_rule() {
    let rr = ["rr", "--payload", "64B", "--seconds", "6"];
    disturbed_when_stopped(&rr, "central", "central stood still");
}

#[rustfmt::skip]
const SOAK: [&str; 7] = [
    "soak", "--peers", "1", "--hours", "0.0025", "--interval", "1",
];

#[test]
#[ignore = "exhaustive: another verb"]
fn exhaustive_rows_of_a_soak_are_disturbed_by_the_same_rule() {
    for (verb, said) in [
        ("peer", "a peer or the delay line was stopped"),
        ("central", "central stood still"),
    ] {
        disturbed_when_stopped(&SOAK, verb, said);
    }
}

/// Stops a process of that verb for a while.
fn disturbed_when_stopped(arguments: &[&str], verb: &str, said: &str) {
    let Some(bench) = Bench::near() else { return };
    let mut command = bench.command(arguments);
    command
        .arg("--out")
        .arg(bench.out())
        .args(["--name", "run"]);
    stop_in(command.spawn().unwrap(), verb, &bench);
    let report = bench.report();
    assert!(
        report.contains(" disturbed and set aside"),
        "{verb}: {report}"
    );
    assert!(
        report.contains(&format!(" of them {said}")),
        "{verb}: {report}"
    );
}
