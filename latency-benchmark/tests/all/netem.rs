//! Cells delayed by the kernel's own netem, and what becomes of them where the kernel has none. Any
//! kernel skips one half of this; `.ci/netem-in-qemu` runs both.

use crate::bench::{Bench, can_run, has_netem, json, text};
use serde_json::Value;

/// Returns `run.json` after a sweep over one small cell, and the exit code.
fn swept(arguments: &[&str]) -> (Value, Option<i32>) {
    let bench = Bench::new();
    let mut command = bench.sweep(&["--peers", "2", "--payload", "4KiB", "--seed", "1"]);
    command.args(["--max-cell-seconds", "3", "--no-aa", "--budget", "none"]);
    let output = command.args(arguments).output().unwrap();
    bench.assert_nothing_left();
    let [run] = &bench.runs("run-1")[..] else {
        panic!("one cell, one row: {}", text(&output.stderr))
    };
    (json(&run.join("run.json")), output.status.code())
}

/// The cell was measured, over links that netem made as long as asked.
fn assert_measured(row: &Value, tolerance_ms: f64) {
    assert_eq!(row["status"], "ok", "{}: {}", row["stage"], row["reason"]);
    assert_eq!(row["network"]["lab"]["backend"], "netem");
    let asked = row["config"]["cell"]["rtt_ms"].as_f64().unwrap();
    let links = row["network"]["rtt"]["links"].as_array().unwrap();
    assert_eq!(links.len(), 2);
    for (link, peer) in links.iter().zip(1..) {
        let least = least_connect(link);
        println!("link to peer {peer}: asked for {asked} ms, measured {least:.3} ms");
        assert!((least - asked).abs() <= tolerance_ms);
    }
    assert!(row["blocks"].as_u64().unwrap() > 0);
}

fn least_connect(link: &Value) -> f64 {
    let connects = link["connects_ms"].as_array().unwrap().iter();
    let connects = connects.map(|connect| connect.as_f64().unwrap());
    connects.reduce(f64::min).unwrap()
}

#[test]
fn a_cell_delayed_by_netem_is_as_far_away_as_asked() {
    if !has_netem() {
        return println!("skipped: missing netem in this kernel");
    }
    let (row, code) = swept(&["--delay", "netem", "--rtt", "100"]);
    assert_measured(&row, 3.0);
    assert_eq!(code, Some(0));
    assert_eq!(dropped(&row), 0);
}

#[test]
fn a_cell_runs_over_links_with_loss_and_jitter() {
    if !has_netem() {
        return println!("skipped: missing netem in this kernel");
    }
    let (row, code) = swept(&["--rtt", "100", "--loss", "1%", "--jitter", "1ms"]);
    assert_measured(&row, 3.0 + 2.0);
    assert_eq!(code, Some(0));
    assert!(dropped(&row) > 0, "thousands of packets, one in a hundred");
}

/// The cell and `ping` measure the same distance, within the tolerance by which the tool itself judges links.
#[test]
fn a_cell_is_as_far_away_as_ping_says() {
    if !has_netem() {
        return println!("skipped: missing netem in this kernel");
    }
    if !program::system_tool_or_usr_bin("ping").exists() {
        return println!("skipped: missing ping (apt-get install -y iputils-ping)");
    }
    let (row, _) = swept(&["--delay", "netem", "--rtt", "100"]);
    assert_eq!(row["status"], "ok", "{}: {}", row["stage"], row["reason"]);
    let bench = Bench::new();
    let lab = ["lab", "--delay", "netem", "--rtt", "100", "--"];
    let ping = ["ping", "-c", "20", "-i", "0.2", "10.53.1.2"];
    let output = bench.command(&[&lab[..], &ping].concat()).output().unwrap();
    let said = text(&output.stdout);
    // "rtt min/avg/max/mdev = 20.1/20.4/20.9/0.2 ms"
    let least = said
        .rsplit_once(" = ")
        .and_then(|(_, it)| it.split_once('/'));
    let (pinged, _) = least.unwrap_or_else(|| panic!("{said}{}", text(&output.stderr)));
    let pinged: f64 = pinged.parse().unwrap();
    let least = least_connect(&row["network"]["rtt"]["links"][0]);
    println!("link to peer 1: measured {least:.3} ms, by ping {pinged} ms");
    assert!((least - pinged).abs() <= 0.03 * 100.0 + 0.3);
}

#[test]
fn without_netem_a_cell_that_asks_for_it_fails_and_says_what_to_do() {
    assert_refused(&["--delay", "netem", "--rtt", "5"]);
}

#[test]
fn without_netem_a_cell_with_loss_fails_and_says_what_to_do() {
    assert_refused(&["--rtt", "5", "--loss", "0.1%"]);
}

fn assert_refused(arguments: &[&str]) {
    if has_netem() {
        return println!("skipped: this kernel has netem");
    }
    if !can_run(false) {
        return;
    }
    let (row, code) = swept(arguments);
    assert_eq!(code, Some(1));
    assert_eq!(row["status"], "failed");
    assert_eq!(row["stage"], "wiring the lab");
    let reason = row["reason"].as_str().unwrap();
    println!("{reason}");
    assert!(reason.contains("no working netem"), "{reason}");
    assert!(reason.contains("CONFIG_NET_SCH_NETEM"), "{reason}");
}

/// Packets that the queueing disciplines of all namespaces dropped.
fn dropped(row: &Value) -> u64 {
    let counters = &row["network"]["counters"];
    let peers = counters["peers"].as_array().unwrap().iter();
    let all = peers.chain([&counters["central"]]);
    all.map(|one| one["qdisc_dropped"].as_u64().unwrap()).sum()
}
