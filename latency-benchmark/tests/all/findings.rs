//! `explain` finds the faults injected into central, and finds none in a central without faults.

use std::path::PathBuf;
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use crate::bench::{Bench, PROGRAM, can_run, node_program, table, text, words};

/// The program that reads what this one writes lies beside it where everything is tested together.
fn analysis() -> Option<PathBuf> {
    let beside = PathBuf::from(PROGRAM).with_file_name("analysis");
    if beside.is_file() {
        return Some(beside);
    }
    let missing = format!(
        "missing: {} (cargo test --workspace builds it)",
        beside.display()
    );
    assert_ne!(std::env::var("CI").as_deref(), Ok("true"), "{missing}");
    println!("skipped, {missing}");
    None
}

/// Two sweeps at once share their cores, and what is found in one may then be the other's doing.
static ALONE: Mutex<()> = Mutex::new(());

/// The kinds of findings about a sweep with such a fault, the worst first, from so many blocks.
fn findings(fault: Option<&str>, blocks: &str) -> Option<Vec<String>> {
    let analysis = analysis()?;
    if !can_run(false) {
        return None;
    }
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    // On a busy machine central may stand still in every block of so short a sweep, and then there is nothing to explain.
    for _ in 0..5 {
        let bench = Bench::new();
        let run = bench.run_dir();
        let mut sweep = bench.sweep(&words(
            "--peers 2 --rtt 0 --payload 4KiB --budget none --budget connection=8 --max-cell-seconds 1 --turn 100",
        ));
        let node = node_program("examples/faulty_node");
        let with_fault = |command: &mut Command| {
            command.arg("--node").arg(&node);
            command.envs(fault.map(|fault| ("FAULT", fault)));
            command.output().unwrap()
        };
        let output = with_fault(&mut sweep);
        assert!(output.status.success(), "{}", text(&output.stderr));
        let run_text = run.display().to_string();
        let output = with_fault(
            bench
                .command(&["explain", &run_text, "--cells", "1", "--blocks", blocks])
                .args(["--max-cell-seconds", "1"]),
        );
        let said = text(&output.stderr);
        if said.contains("it has no measured cell") {
            continue;
        }
        assert!(output.status.success(), "{said}");
        let output = Command::new(&analysis)
            .arg("report")
            .arg(&run)
            .args(["--picture", "time"])
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
        let rows = table(&run.join("report/explain/findings.csv"));
        bench.assert_nothing_left();
        return Some(rows.into_iter().map(|row| row["kind"].clone()).collect());
    }
    panic!("no sweep of five had a measured cell");
}

/// Where the machine is busy with something else, there may be too few polls in so many blocks to say
/// anything of.
const BLOCKS: &str = "4";
const MORE_BLOCKS: &str = "16";

/// On a machine that is busy with something else, a thread that lost its core may look like one that
/// waits. What is seen in one of two runs is allowed to be that, and no more.
fn finds(fault: &str, kind: &str) {
    let is_first = |findings: &Vec<String>| findings.first().is_some_and(|first| first == kind);
    let Some(once) = findings(Some(fault), BLOCKS) else {
        return;
    };
    if !is_first(&once) {
        let again = findings(Some(fault), MORE_BLOCKS).unwrap();
        assert!(is_first(&again), "{once:?}, then {again:?}");
    }
}

#[test]
fn a_clean_run_raises_no_finding() {
    let Some(once) = findings(None, BLOCKS) else {
        return;
    };
    if !once.is_empty() {
        let again = findings(None, BLOCKS).unwrap();
        let kinds_of_both: Vec<&String> = again.iter().filter(|kind| once.contains(kind)).collect();
        assert!(kinds_of_both.is_empty(), "{once:?}, then {again:?}");
    }
}

#[test]
#[ignore = "exhaustive: another fault"]
fn exhaustive_a_handler_that_sleeps_is_found() {
    finds("sleeping-handler", "sleeping-poll");
}

#[test]
#[ignore = "exhaustive: another fault"]
fn exhaustive_a_handler_that_allocates_is_found() {
    finds("allocating-handler", "allocating-poll");
}

#[test]
#[ignore = "exhaustive: another fault"]
fn exhaustive_a_behaviour_that_wakes_itself_is_found() {
    finds("self-waking-behaviour", "self-waking");
}

#[test]
#[ignore = "exhaustive: another fault"]
fn exhaustive_a_behaviour_that_dials_who_is_connected_is_found() {
    finds("dialling-behaviour", "redundant-dials");
}

#[test]
#[ignore = "exhaustive: another fault"]
fn exhaustive_tasks_that_never_end_are_found() {
    finds("leaking-tasks", "growing-tasks");
}
