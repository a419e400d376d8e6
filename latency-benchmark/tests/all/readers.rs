//! A reader that goes away, or a full device, ends nothing.

use std::fs::File;
use std::io::pipe;
use std::process::{Command, Stdio};

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

fn printing(bench: &Bench) -> [Command; 4] {
    [
        bench.sweep(&["--dry-run"]),
        bench.command(&["rr", "--dry-run"]),
        bench.command(&["--help"]),
        bench.command(&["preflight"]),
    ]
}

#[test]
fn a_reader_that_has_read_enough_is_no_failure() {
    let bench = Bench::new();
    for mut command in printing(&bench) {
        let output = command.stdout(unread()).output().unwrap();
        assert!(output.status.success(), "{command:?}: {output:?}");
        assert_eq!(text(&output.stderr), "");
    }
}

#[test]
fn output_that_is_lost_is_said() {
    let bench = Bench::new();
    for mut command in printing(&bench) {
        let output = command.stdout(full()).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{command:?}: {output:?}");
        let said = text(&output.stderr);
        assert!(
            said.starts_with("error: standard output: ") && said.lines().count() == 1,
            "{said}"
        );
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
