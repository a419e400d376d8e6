//! Whatever dies, and whenever: nothing is left behind, what was measured stays, and the sweep can
//! be finished.

use std::process::Command;

use crate::bench::{self, Bench, can_run, holds, json, kill, pid, signal, succeeds, text, words};
use crate::lab_verb::Tools;
use nix::sys::signal::Signal::SIGSTOP;

/// Two cells of a few seconds each.
const LONG: &str = "--peers 2 --rtt 5 --payload 4KiB,16KiB --max-cell-seconds 3 --turn 100 \
    --precision 0.0001ms,0.0001% --budget none --no-aa";

/// Kills the process of that verb (`nth` of its kind) as soon as it is there, or, with `measuring`,
/// once slices are being cut.
fn kill_one(bench: &Bench, verb: &str, nth: usize, measuring: bool) {
    let victim = bench.wait_for(verb, nth);
    if measuring {
        bench.wait_for_rows("slices.csv");
    }
    kill(victim);
}

#[test]
fn a_node_or_the_delay_line_that_dies_is_a_row_with_its_reason_and_the_sweep_goes_on() {
    nodes_die(&[
        ("central", 0, true, "central was killed by signal 9"),
        ("peer", 1, true, "peer 2 was killed by signal 9"),
        (
            "delay-line",
            0,
            true,
            "the delay line was killed by signal 9, so no packet",
        ),
    ]);
}

#[test]
#[ignore = "exhaustive: before the cell measures"]
fn exhaustive_a_node_or_the_delay_line_that_dies_is_a_row_with_its_reason_and_the_sweep_goes_on() {
    nodes_die(&[
        ("central", 0, false, "central was killed by signal 9"),
        ("peer", 0, false, ""),
        ("delay-line", 0, false, "the delay line "),
    ]);
}

/// Kills one of the processes with a verb, while the cell is measuring or before. The reason says so.
fn nodes_die(processes: &[(&str, usize, bool, &str)]) {
    if !can_run(true) {
        return;
    }
    for &(verb, nth, measuring, says) in processes {
        let bench = Bench::new();
        let sweep = bench.sweep(&words(LONG)).spawn().unwrap();
        kill_one(&bench, verb, nth, measuring);
        let output = bench::finish(sweep);
        let (errors, what) = (
            text(&output.stderr),
            format!("{verb} {nth}, measuring: {measuring}"),
        );
        assert_eq!(output.status.code(), Some(1), "{what}: {errors}");
        assert!(
            errors.contains("1 runs measured, 0 invalid, 1 failed"),
            "{what}: {errors}"
        );
        bench.assert_nothing_left();
        let rows: Vec<_> = bench
            .runs("run-1")
            .iter()
            .map(|run| json(&run.join("run.json")))
            .collect();
        assert_eq!(rows.len(), 2, "{what}");
        let failed = rows.iter().find(|row| row["status"] == "failed").unwrap();
        let reason = failed["reason"].as_str().unwrap();
        assert!(reason.contains(says), "{what}: {reason}");
        assert_eq!(reason.lines().count(), 1);
        let deaths = reason.matches("was killed by signal 9").count();
        assert!(deaths <= 1, "{what}: said {deaths} times: {reason}");
        if measuring {
            assert_eq!(failed["stage"], "measuring", "{what}: {reason}");
        }
    }
}

#[test]
fn a_process_that_is_stopped_is_named_and_the_sweep_goes_on() {
    if !can_run(true) {
        return;
    }
    for (verb, nth, says) in [
        ("central", 0, "central has been stopped for "),
        ("delay-line", 0, "the delay line has been stopped for "),
        // The one inside the namespaces.
        ("cell", 2, "the process of the cell has been stopped for "),
    ] {
        let bench = Bench::new();
        let sweep = bench.sweep(&words(LONG)).spawn().unwrap();
        let stopped = bench.wait_for(verb, nth);
        bench.wait_for_rows("slices.csv");
        signal(stopped, SIGSTOP);
        let output = bench::finish(sweep);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{verb}: {said}");
        assert!(said.contains(says), "{verb}: {said}");
        let summary = "1 runs measured, 0 invalid, 1 failed";
        assert!(said.contains(summary), "{verb}: {said}");
        bench.assert_nothing_left();
    }
}

#[test]
fn a_sweep_or_a_cell_that_dies_leaves_nothing_running_and_can_be_finished() {
    dies(&[("sweep", 0, true), ("cell", 1, true)]);
}

#[test]
#[ignore = "exhaustive: each process, and before it measures"]
fn exhaustive_a_sweep_or_a_cell_that_dies_leaves_nothing_running_and_can_be_finished() {
    dies(&[
        ("sweep", 0, false),
        ("cell", 0, false),
        // The process of a cell, and the second one inside its namespaces.
        ("cell", 0, true),
        ("cell", 2, true),
    ]);
}

/// Kills one of the processes with a verb, while the cell is measuring or before.
fn dies(processes: &[(&str, usize, bool)]) {
    if !can_run(true) {
        return;
    }
    for &(verb, nth, measuring) in processes {
        let bench = Bench::new();
        let sweep = bench.sweep(&words(LONG)).spawn().unwrap();
        let what = format!("{verb} {nth}, measuring: {measuring}");
        if verb == "sweep" {
            bench.wait_for("cell", 0);
            if measuring {
                kill_one(&bench, "sweep", 0, true);
            } else {
                kill(pid(&sweep));
            }
        } else {
            kill_one(&bench, verb, nth, measuring);
        }
        let output = bench::finish(sweep);
        bench.assert_nothing_left();
        if verb == "cell" {
            assert_eq!(
                output.status.code(),
                Some(1),
                "{what}: {}",
                text(&output.stderr)
            );
            assert_eq!(bench.runs("run-1").len(), 2, "{what}");
            continue;
        }
        let partial = bench.only("run-1.partial");
        if measuring {
            let slices = csv::Reader::from_path(partial.join("slices.csv"))
                .unwrap()
                .into_records()
                .count();
            assert!(slices > 0, "{what}");
        }
        succeeds(&mut bench.resume());
        assert_eq!(bench.runs("run-1").len(), 2, "{what}");
        assert_eq!(
            bench.runs("run-1.killed-1").len(),
            1,
            "{what}: what was there is kept"
        );
    }
}

#[test]
fn without_iptables_delayed_cells_fail_with_the_remedy_and_others_run() {
    let Some(bench) = Bench::far() else { return };
    let tools = Tools::new().with("ip").with("tc");
    let mut command = bench.sweep(&words(
        "--peers 1 --rtt 0,5 --payload 4KiB --max-cell-seconds 1 --turn 100",
    ));
    command.args(words("--delay nfqueue --no-aa --budget none"));
    let output = tools.used_by(command).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let rows: Vec<_> = bench
        .runs("run-1")
        .iter()
        .map(|run| json(&run.join("run.json")))
        .collect();
    let failed: Vec<_> = rows
        .iter()
        .filter(|row| row["status"] == "failed")
        .collect();
    assert_eq!((rows.len(), failed.len()), (2, 1));
    assert!(
        failed[0]["reason"].as_str().unwrap().contains("iptables"),
        "{}",
        failed[0]["reason"]
    );
    assert_eq!(failed[0]["stage"], "wiring the lab");
}

#[test]
fn without_user_namespaces_every_cell_says_which_setting_forbids_them() {
    let Some(bench) = Bench::near() else { return };
    // Inside a user namespace of its own the setting is nobody else's, and a root without
    // capabilities needs what an ordinary user needs.
    let script = format!(
        "echo 0 > /proc/sys/user/max_user_namespaces && \
         exec setpriv --bounding-set=-all --inh-caps=-all {} sweep --measure-only --out {} --name run --peers 1 --rtt 0 --payload 4KiB",
        bench::PROGRAM,
        bench.out().display()
    );
    let mut command = Command::new("unshare");
    command.args(["-Ur", "sh", "-c", &script]);
    bench.prepare(&mut command);
    let output = command.output().unwrap();
    let errors = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{errors}");
    let run = bench.only("run-1");
    let row = json(&run.join("run.json"));
    let reason = row["reason"].as_str().unwrap();
    holds(reason, &["user.max_user_namespaces = 0", "sudo"]);
}
