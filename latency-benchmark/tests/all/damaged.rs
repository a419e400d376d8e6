//! A sweep is continued from runs that are as they were written, and from nothing else.

use std::{fs, process::Command};

use crate::bench::{Bench, SMALL, can_run, complaint, json, text};

#[test]
fn a_run_that_was_changed_is_measured_again() {
    if !can_run(false) {
        return;
    }
    let bench = Bench::new();
    let mut sweep = bench.sweep(&SMALL);
    sweep.args(["--rtt", "0", "--no-aa", "--budget", "none"]);
    assert!(sweep.output().unwrap().status.success());
    let [run] = &bench.runs("run-1")[..] else {
        panic!("one cell")
    };
    let sums = json(&run.join("run.json"))["files"].clone();
    let files = fs::read_dir(run).unwrap().count();
    assert_eq!(sums.as_object().unwrap().len(), files, "{sums}");

    let table = run.join("peers.csv");
    let changed = fs::read_to_string(&table).unwrap().replacen('1', "2", 1);
    fs::write(&table, changed).unwrap();
    let output = bench.resume().output().unwrap();
    let said = text(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(
        said.contains("peers.csv: its checksum is not that in run.json"),
        "{said}"
    );
    assert_eq!(
        bench.runs("run-1.failed-1").len(),
        1,
        "what was there is kept"
    );
    assert_eq!(bench.runs("run-1").len(), 1);
    let again = text(&bench.resume().output().unwrap().stderr);
    assert!(again.contains("0 runs measured, 0 invalid"), "{again}");
}

#[test]
fn a_manifest_that_is_a_pipe_is_refused() {
    let bench = Bench::new();
    fs::create_dir_all(bench.run_dir()).unwrap();
    let mut mkfifo = Command::new("mkfifo");
    mkfifo.arg(bench.run_dir().join("manifest.json"));
    assert!(mkfifo.status().unwrap().success());
    let said = complaint(&bench.resume().output().unwrap());
    assert!(said.contains("it is no regular file"), "{said}");
}
