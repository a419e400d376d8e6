//! A search over budgets: its rounds, its report, and going on after an interruption.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::bench::{self, Bench, analysis, holds, json, node_program, pid, signal, succeeds, text};
use nix::sys::signal::Signal;

fn search(bench: &Bench, arguments: &[&str]) -> Command {
    analysis();
    let mut command = bench.command(&["sweep"]);
    command
        .arg("--node")
        .arg(node_program("libp2p-node"))
        .args(arguments);
    command
}

#[rustfmt::skip]
const ARGUMENTS: [&str; 23] = [
    "--search", "--budget", "none", "--budget", "muxer=1", "--budget", "muxer=1/deferred", "--candidate",
    "connection=1000", "--peers", "1", "--rtt", "0", "--payload", "4KiB", "--time", "15s", "--turn", "20", "--settle",
    "2", "--name", "run",
];

fn labels(round: &Path) -> Vec<String> {
    let manifest = json(&round.join("manifest.json"));
    let variants = manifest["config"]["variants"].as_array().unwrap().clone();
    variants
        .iter()
        .map(|variant| variant["label"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
#[ignore = "exhaustive: a whole search"]
fn exhaustive_what_never_fires_leaves_after_the_first_round_and_the_report_says_so() {
    let Some(bench) = Bench::near() else { return };
    succeeds(search(&bench, &ARGUMENTS).arg("--out").arg(bench.out()));
    let dir = bench.run_dir();
    assert_eq!(
        labels(&dir.join("round-1")),
        [
            "none",
            "none (A/A)",
            "muxer=1",
            "muxer=1/deferred",
            "connection=1000"
        ]
    );
    assert!(!labels(&dir.join("round-2")).contains(&"connection=1000".to_owned()));
    assert!(!dir.join("first-look").exists(), "the cell was asked for");
    let report = fs::read_to_string(dir.join("report/report.md")).unwrap();
    holds(&report, &["| `connection=1000` | it never ended a poll |"]);
    let patch = fs::read_to_string(dir.join("yamux.diff")).unwrap();
    assert!(patch.contains("+++ b/yamux/src/connection.rs"), "{patch}");
    let comment = fs::read_to_string(dir.join("report/comment.md")).unwrap();
    let beside_table = comment.lines().filter(|line| !line.starts_with('|'));
    let words = beside_table.flat_map(str::split_whitespace);
    assert!(words.count() <= 150, "{comment}");

    // What is there is not measured again.
    fs::remove_dir_all(dir.join("round-3")).unwrap();
    let before = json(&dir.join("round-2/manifest.json"));
    succeeds(search(&bench, &["--resume"]).arg(&dir));
    assert_eq!(before, json(&dir.join("round-2/manifest.json")));
    assert!(dir.join("round-3/manifest.json").exists());
    succeeds(Command::new(analysis()).arg("verify").arg(&dir));
    bench.assert_nothing_left();
}

#[test]
fn an_interrupt_in_a_round_is_no_success_and_says_how_to_go_on() {
    let Some(bench) = Bench::near() else { return };
    let mut command = search(&bench, &ARGUMENTS);
    let running = command.arg("--out").arg(bench.out()).spawn().unwrap();
    let dir = bench.run_dir();
    bench::rows_of(|| {
        let cell = fs::read_dir(dir.join("round-1/cells")).ok()?;
        let cell = cell.flatten().next()?.path();
        Some(cell.join("run-1.partial/blocks.csv"))
    });
    signal(pid(&running), Signal::SIGHUP);
    let output = bench::finish(running);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{said}");
    let hint = format!("to measure the rest: --resume {}\n", dir.display());
    assert!(said.contains(&hint), "{said}");
    assert!(!dir.join("round-2").exists());
    bench.assert_nothing_left();
}
