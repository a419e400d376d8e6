//! A reader that goes away, or a full device, ends nothing.

use std::fs::File;
use std::io::pipe;
use std::process::Stdio;

use crate::bench::{self, Bench, SMALL, can_run, text};

/// A pipe that nobody reads any more.
fn unread() -> Stdio {
    pipe().unwrap().1.into()
}

fn full() -> Stdio {
    File::options()
        .write(true)
        .open("/dev/full")
        .unwrap()
        .into()
}

#[test]
fn a_reader_that_has_read_enough_is_no_failure_and_output_that_is_lost_is_said() {
    let bench = Bench::new();
    let no_failure = (unread as fn() -> Stdio, 0, 0);
    for (nobody, code, lines) in [no_failure, (full, 1, 1)] {
        for mut command in [
            bench.sweep(&["--dry-run"]),
            bench.command(&["rr", "--dry-run"]),
            bench.command(&["--help"]),
            bench.command(&["preflight"]),
        ] {
            let output = command.stdout(nobody()).output().unwrap();
            assert_eq!(output.status.code(), Some(code), "{command:?}: {output:?}");
            let said = text(&output.stderr);
            let is_said = |line: &str| line.starts_with("error: standard output: ");
            assert_eq!(said.lines().count(), lines, "{said}");
            assert!(said.lines().all(is_said), "{said}");
        }
    }
}

#[test]
fn the_exit_code_is_the_same_if_nobody_reads_the_errors() {
    let bench = Bench::new();
    for nobody in [unread, full] {
        let mut command = bench.sweep(&["--peers", "0"]);
        let status = command.stderr(nobody()).status().unwrap();
        assert_eq!(status.code(), Some(2));
    }
}

/// The sweep that has something to say at its end: every cell fails.
#[test]
fn a_sweep_goes_on_when_nobody_reads() {
    if !can_run(false) {
        return;
    }
    for nobody in [unread, full] {
        let bench = Bench::new();
        let mut command = bench.sweep(&SMALL);
        command.args(["--rtt", "0", "--no-aa", "--budget", "none"]);
        command
            .arg("--node")
            .arg(bench::node_program("examples/faulty_node"));
        command
            .env("FAULT", "unknown")
            .stdout(nobody())
            .stderr(nobody());
        let code = command.status().unwrap().code();
        assert_eq!(code, Some(1));
        assert_eq!(bench.runs("run-1").len(), 1);
        bench.assert_nothing_left();
    }
}
