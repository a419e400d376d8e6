//! Short soaks: rows on disk as they come, peers that come and go, and nothing left behind.

use std::process::Command;

use crate::bench::{self, Bench, Row, can_run, json, kill, number, pid, signal, table, text};
use nix::sys::signal::Signal;

fn soak(bench: &Bench, arguments: &[&str]) -> Command {
    let mut command = bench.command(&["soak"]);
    command
        .arg("--out")
        .arg(bench.out())
        .args(["--name", "run", "--interval", "1", "--payload", "4KiB"])
        .args(arguments);
    command
}

fn rows(bench: &Bench) -> Vec<Row> {
    table(&bench.run_dir().join("soak.csv"))
}

fn sum(rows: &[Row], column: &str) -> u64 {
    rows.iter().map(|row| number(row, column)).sum()
}

/// Waits until the soak has written a few rows.
fn wait_for_rows(bench: &Bench) {
    bench::rows_of(|| Some(bench.run_dir().join("soak.csv")));
}

#[test]
fn peers_that_come_and_go_are_linked_again_and_worked_again() {
    come_and_go(&["request-response"], "0.004", 14);
}

#[test]
#[ignore = "exhaustive: every workload"]
fn exhaustive_peers_that_come_and_go_are_linked_again_and_worked_again() {
    come_and_go(&["request-response"], "0.01", 36);
    come_and_go(&["stream", "gossipsub", "idle"], "0.004", 14);
}

/// Expects so many rows.
fn come_and_go(workloads: &[&str], hours: &str, length: usize) {
    if !can_run(false) {
        return;
    }
    for &workload in workloads {
        let bench = Bench::new();
        let mut command = soak(&bench, &["--hours", hours, "--peers", "2"]);
        let output = command
            .args(["--churn", "12/min", "--workload", workload])
            .output()
            .unwrap();
        bench.assert_nothing_left();
        let errors = text(&output.stderr);
        assert!(output.status.success(), "{workload}: {errors}");
        let rows = rows(&bench);
        assert_eq!(rows.len(), length, "{workload}: {errors}");

        // Each restart closes the connection and opens it again; nothing else does.
        let last = rows.last().unwrap();
        let restarts = number(last, "restarts");
        assert!(restarts > 0, "{workload}: {restarts}");
        let (closed, opened) = (
            sum(&rows, "connections_closed"),
            sum(&rows, "connections_opened"),
        );
        assert!(closed <= restarts && closed + 1 >= restarts, "{workload}");
        assert!(opened <= closed && opened + 1 >= closed, "{workload}");
        assert_eq!(2 + opened - closed, number(last, "connections"));
        assert!(sum(&rows, "dials") >= opened, "{workload}");
        for (before, row) in rows.iter().zip(&rows[1..]) {
            assert!(number(row, "restarts") >= number(before, "restarts"));
        }
        // Whoever was away is back.
        let mut after_a_restart = rows.iter().filter(|row| row["restarts"] != "0");
        assert!(
            after_a_restart.any(|row| row["connections"] == "2"),
            "{workload}: {rows:?}"
        );
        if workload != "idle" {
            // On a busy machine a second can pass without any.
            let mut after_a_restart = rows.iter().filter(|row| row["restarts"] != "0").skip(1);
            assert!(
                after_a_restart.any(|row| row["requests"] != "0"),
                "{workload}: work goes on"
            );
        }
        for row in &rows {
            if number(row, "wakes") > 0 {
                assert!(number(row, "wake_p90_ns") > 0, "{row:?}");
                assert!(number(row, "wake_p50_ns") <= number(row, "wake_p99_ns"));
            }
            assert!(number(row, "resident_bytes") > 1 << 20);
            assert!(number(row, "tasks") > 0);
            assert!(number(row, "connection_slow_polls") <= number(row, "connection_polls"));
            assert_eq!(number(row, "lost_records"), 0);
            assert_eq!(row["latency_p50_ns"].is_empty(), row["requests"] == "0");
        }
        assert!(sum(&rows, "wakes") > 0, "{workload}: {rows:?}");
        let file = json(&bench.run_dir().join("soak.json"));
        assert_eq!(file["end"]["status"], "ok");
        assert_eq!(file["end"]["stop"], "cap");
        assert_eq!(file["end"]["rows"], length);
        let sum = run_format::checksums::sha256_of_file(&bench.run_dir().join("soak.csv"));
        assert_eq!(file["end"]["sha256"], sum.unwrap());
        assert_eq!(file["end"]["restarts"], restarts);
        assert_eq!(file["config"]["churn"], "12/min");
    }
}

#[test]
fn an_interrupt_keeps_all_rows_and_says_where() {
    let Some(bench) = Bench::near() else { return };
    let child = soak(&bench, &["--hours", "8", "--peers", "1"])
        .spawn()
        .unwrap();
    wait_for_rows(&bench);
    signal(pid(&child), Signal::SIGINT);
    let output = bench::finish(child);
    let errors = text(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{errors}");
    assert_eq!(
        text(&output.stdout).trim(),
        bench.run_dir().display().to_string()
    );
    bench.assert_nothing_left();
    let file = json(&bench.run_dir().join("soak.json"));
    assert_eq!(file["end"]["stop"], "interrupted");
    assert!(errors.contains("interrupted"), "{errors}");
    let rows = rows(&bench);
    assert_eq!(file["end"]["rows"], rows.len());
    assert!(rows.len() >= 2);
}

#[test]
#[ignore = "exhaustive: each process"]
fn exhaustive_what_dies_leaves_its_rows_and_its_reason_and_nothing_running() {
    if !can_run(false) {
        return;
    }
    for (verb, says) in [
        ("central", "central was killed by signal 9"),
        ("peer", "peer 1 was killed by signal 9"),
        ("soak", ""),
    ] {
        let bench = Bench::new();
        let child = soak(&bench, &["--hours", "8", "--peers", "2"])
            .spawn()
            .unwrap();
        wait_for_rows(&bench);
        kill(bench.wait_for(verb, 0));
        let output = bench::finish(child);
        bench.assert_nothing_left();
        assert!(!rows(&bench).is_empty(), "{verb}");
        let end = &json(&bench.run_dir().join("soak.json"))["end"];
        if verb == "soak" {
            assert!(end.is_null(), "{end}");
            continue;
        }
        assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
        assert_eq!(
            (&end["status"], &end["stage"]),
            (&"failed".into(), &"measuring".into())
        );
        let reason = end["reason"].as_str().unwrap();
        assert!(reason.contains(says), "{reason}");
    }
}

const WRONG: &str = r#"
--hours 0 => "0" is zero
--hours -1 => "-1" is negative
--hours nan => "nan" is not a number
--hours 1000 => at most 744 hours
--hours 0.001 --interval 10 => --interval 10: a soak of 3.6 s has no row of that length
--interval 0 => 0 is not in 1..=3600
--peers 0 => --peers 0: a cell has from 1 to 250
--churn often => accepted: none, or restarts per
--churn 0/min => "0/min" is zero
--churn -1/min => "-1/min" is negative
"#;

#[test]
fn wrong_arguments_are_one_line_and_nothing_is_written() {
    let bench = Bench::new();
    let soak = || {
        let mut command = bench.command(&["soak", "--out"]);
        command.arg(bench.out());
        command
    };
    bench.refuses(soak, WRONG);
}
