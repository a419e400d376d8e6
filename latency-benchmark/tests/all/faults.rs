//! Faults injected into central for tests: with each of them a cell runs to its end, and shows its effect.

use std::process::Output;

use crate::bench::{
    Bench, can_run, complaint, holds, json, node_program, number, table, text, words, write_program,
};

/// Runs a cell with that fault.
fn run(bench: &Bench, fault: &str) -> Output {
    let mut sweep = bench.sweep(&words(
        "--peers 2 --rtt 0 --payload 4KiB --budget none --no-aa --max-cell-seconds 1 --turn 200",
    ));
    sweep
        .arg("--node")
        .arg(node_program("examples/faulty_node"));
    sweep.env("FAULT", fault).output().unwrap()
}

#[test]
fn a_handler_that_computes_makes_polls_that_take_as_long_in_the_handler() {
    if !can_run(false) {
        return;
    }
    const LONG_NS: u64 = 200_000;
    let bench = Bench::new();
    let output = run(&bench, "computing-handler");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let run = bench.only("run-1");
    // That every peer has answered is what a run begins with.
    assert_eq!(json(&run.join("run.json"))["status"], "ok");
    let children = table(&run.join("children.csv"));
    let long = children.iter().filter(|row| {
        (row["site"].as_str(), row["child"].as_str()) == ("connection", "handler.poll")
            && number(row, "from_ns") >= LONG_NS
    });
    let (polls, ns) = long.fold((0, 0), |(polls, ns), row| {
        (polls + number(row, "polls"), ns + number(row, "ns"))
    });
    // In each of these polls of a connection the handler has computed at least once, if it was not
    // something else that took so long.
    assert!(polls > 0 && ns > LONG_NS, "{polls} polls, {ns} ns");
}

#[test]
#[ignore = "exhaustive: waits for seconds until a program is given up"]
fn exhaustive_a_poll_that_never_ends_is_given_up_and_named() {
    let Some(bench) = Bench::near() else { return };
    let output = run(&bench, "endless-poll");
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    // Which is noticed first depends on when the poll begins.
    let says = "FAILED while measuring: central ended with exit code 1: ";
    let after = said.split_once(says).map(|(_, after)| after);
    let reasons = ["no peer has answered", "central's worker did not poll"];
    let is_known = |after: &str| reasons.iter().any(|reason| after.starts_with(reason));
    assert!(after.is_some_and(is_known), "{said}");
    bench.assert_nothing_left();
}

/// A program that is asked what it is may be any program.
#[test]
fn a_node_program_that_describes_itself_without_end_is_refused_and_killed() {
    let bench = Bench::new();
    let node = bench.dir.path().join("node");
    write_program(&node, "#!/bin/sh\nexec yes\n");
    let mut sweep = bench.sweep(&["--peers", "1", "--rtt", "0"]);
    let said = complaint(&sweep.arg("--node").arg(&node).output().unwrap());
    holds(&said, &["does not answer the verb `describe`"]);
    assert!(said.contains("it prints more than 1024 KiB"), "{said}");
    bench.assert_nothing_left();
    assert!(!bench.run_dir().exists());
}
